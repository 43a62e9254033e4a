// What does a lock cost that nobody else wants?
//
// A few nanoseconds differ more between two processes, or two seconds, than between two locks. So all contenders
// run in one process, in short slices by turns, and each is judged by the median of its slices. A second thread is
// alive throughout: glibc takes shortcuts in a process of one thread, which no user of a lock has.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "../support/arguments.hpp"
#include "../support/json_line.hpp"
#include "../support/percentile.hpp"
#include "../support/report_errors.hpp"
#include "../support/start_line.hpp"

namespace bench {

constexpr std::size_t pairs_per_slice = 1000;

template <typename Pair>
double nanoseconds_per_pair(Pair& pair) {
  const auto began = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < pairs_per_slice; ++i) pair();
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - began;
  return spent.count() / static_cast<double>(pairs_per_slice);
}

template <typename Pair>
struct LockContender {
  std::string_view name;
  std::string version;
  Pair pair;  // Acquires and releases once.
  std::vector<double> slices_ns = {};

  void run_slice() { slices_ns.push_back(nanoseconds_per_pair(pair)); }

  void print() {
    JsonLine line{version};
    line.add("contender", name);
    line.add("slices", slices_ns.size());
    line.add("pair_ns_p50", percentile(slices_ns, 50));
    line.print();
  }
};

template <typename Pair>
LockContender<Pair> ours(Pair pair) {
  return {.name = "handoff", .version = "this commit", .pair = pair};
}

template <typename Pair>
LockContender<Pair> standard(Pair pair) {
  return {.name = "std", .version = "libstdc++ " + std::to_string(_GLIBCXX_RELEASE), .pair = pair};
}

template <typename... Pairs>
int uncontended_locks(int argc, char** argv, LockContender<Pairs>... contenders) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    const std::chrono::milliseconds duration{arguments.number("milliseconds", 300)};
    StartLine end{1};
    const std::jthread bystander{[&end] { end.wait(); }};
    end.gather();
    const auto deadline = std::chrono::steady_clock::now() + duration;
    while (std::chrono::steady_clock::now() < deadline) (contenders.run_slice(), ...);
    end.release();
    (contenders.print(), ...);
  });
}

}  // namespace bench
