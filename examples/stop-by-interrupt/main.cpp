// Stops workers by interrupting them: every wait is given the token of one stop_source. See README.md.
#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <stop_token>
#include <string_view>
#include <thread>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/queue.hpp"
#include "handoff/waits.hpp"

using namespace std::chrono_literals;

struct Email {
  int number;
};

// Stands for real work: sleeps this long, on the library's clock.
void work_for(std::chrono::milliseconds time) {
  handoff::Event never;
  (void)never.wait({.deadline = handoff::within(time)});
}

int main(int count, char** values) {
  const bool test = count > 1 && std::string_view(values[1]) == "--test";

  handoff::BlockingQueue<Email> emails{{.capacity = 1'000, .name = "emails"}};
  std::stop_source source;
  std::atomic<int> sent = 0;
  std::vector<std::jthread> mailers;
  for (int i = 1; i <= 3; ++i) {
    mailers.emplace_back([&, i, stop = source.get_token()] {
      handoff::name_this_thread(fmt::format("mailer {}", i));
      while (auto email = emails.take({.stop = stop})) {  // Ends with `stopped`, full or empty.
        work_for(10ms);                                   // The e-mail in hand is finished.
        ++sent;
      }
    });
  }

  int accepted = 0;
  const auto deadline = handoff::within(test ? 200ms : 2s);
  while (emails.put({accepted}, {.deadline = deadline})) ++accepted;  // The queue soon is full.

  fmt::print("Stopping with {} e-mails queued.\n", emails.size());
  source.request_stop();  // Wakes every wait that was given the token.
  mailers.clear();        // Joins: each mailer needs at most the 10 ms for the e-mail in hand.

  emails.close();
  const auto left = emails.drain();  // Nobody took them: they are ours, to store or to hand on.
  const auto handed_back = static_cast<int>(left.size());
  const bool nothing_lost = accepted == sent + handed_back;
  fmt::print("{} accepted = {} sent + {} handed back: {}\n", accepted, sent.load(), handed_back,
             nothing_lost ? "nothing was lost" : "THE COUNTS DO NOT AGREE");
  return nothing_lost && handed_back > 0 ? 0 : 1;
}
