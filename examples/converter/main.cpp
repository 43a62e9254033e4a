// Photos are converted by a program that crashes on some and hangs on others. Who asked is told what happened, and nothing of
// it is left. See README.md.
#include <fmt/core.h>
#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "handoff/process_pool.hpp"
#include "support/command_line.hpp"

namespace {

using namespace std::chrono_literals;

// -- The converter, a program of its own ----------------------------------------------------------

// Every fifth photo crashes it, and of the others every seventh makes it hang.
bool crashes(std::uint64_t number) { return number % 5 == 0; }
bool hangs(std::uint64_t number) { return !crashes(number) && number % 7 == 0; }

int convert(std::uint64_t number) {
  const std::string photo{std::istreambuf_iterator<char>(std::cin), {}};
  if (crashes(number)) {
    const rlimit no_dump{};
    ::setrlimit(RLIMIT_CORE, &no_dump);
    std::abort();
  }
  if (hangs(number)) {
    ::signal(SIGTERM, SIG_IGN);        // It does not go when it is asked to,
    return std::system("sleep 1000");  // and it has started something itself.
  }
  fmt::print("{}, small", photo);
  return 0;
}

// -- Who uses it ----------------------------------------------------------------------------------

struct Outcomes {
  std::atomic<std::uint64_t> converted = 0, crashed = 0, too_slow = 0, other = 0;
};

void ask_for(handoff::ProcessPool& converters, std::uint64_t number, Outcomes& outcomes) {
  const std::string photo = fmt::format("photo {}", number);
  const auto result =
      converters.run({.arguments = {"/proc/self/exe", "--convert", std::to_string(number)},
                      .input = photo,
                      .timeout = hangs(number) ? handoff::Duration(200ms) : 60s,
                      .grace = 100ms});
  if (!result) {
    ++outcomes.other;  // It was not run: full, closed, ...
  } else if (result->succeeded()) {
    ++(result->output == photo + ", small" ? outcomes.converted : outcomes.other);
  } else if (result->end == handoff::ProcessEnd::killed && result->signal == SIGABRT) {
    ++outcomes.crashed;
  } else if (result->end == handoff::ProcessEnd::timed_out) {
    ++outcomes.too_slow;
  } else {
    ++outcomes.other;
  }
}

bool run(std::uint64_t photos) {
  Outcomes outcomes;
  {
    handoff::ProcessPool converters{{.processes = 4, .capacity = 100, .name = "converters"}};
    std::atomic<std::uint64_t> next = 1;
    std::vector<std::jthread> visitors;
    for (int i = 0; i < 8; ++i) {
      visitors.emplace_back([&] {
        for (auto number = next++; number <= photos; number = next++) {
          ask_for(converters, number, outcomes);
        }
      });
    }
  }
  const std::uint64_t crash = photos / 5;
  const std::uint64_t hang = photos / 7 - photos / 35;
  fmt::print("{:>5}  photos, by a converter that crashes on some and hangs on others\n", photos);
  fmt::print("{:>5}  converted\n", outcomes.converted.load());
  fmt::print("{:>5}  crashed it; the next one did not notice\n", outcomes.crashed.load());
  fmt::print("{:>5}  hung, and were killed with all they had started\n", outcomes.too_slow.load());
  const bool is_right = outcomes.crashed == crash && outcomes.too_slow == hang &&
                        outcomes.converted == photos - crash - hang && outcomes.other == 0;
  fmt::print("\n{}\n", is_right ? "Everybody was told what happened to his photo."
                                : "That is not what should have happened.");
  return is_right;
}

}  // namespace

int main(int count, char** values) {
  std::uint64_t photos = 100;
  std::uint64_t number = 0;
  example::CommandLine line("converter",
                            "A program that may crash or hang, used as if it could not.");
  line.add("--photos", "photos to convert", photos, 1, 100'000);
  line.add("--convert", "be the converter: read this photo from standard input", number, 0,
           UINT64_MAX);
  line.add_example("converter --photos 1000", "for longer");
  if (const auto status = line.read(count, values)) return *status;
  if (number != 0) return convert(number);
  return run(line.is_test() ? 35 : photos) ? 0 : 1;
}
