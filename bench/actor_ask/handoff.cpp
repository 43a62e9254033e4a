// handoff::ActorRef::async_ask() in a handler that is a coroutine.
#include "../support/actors/handoff.hpp"

#include <handoff/lazy.hpp>
#include <utility>

#include "../support/actors/tally.hpp"
#include "workload.hpp"

namespace {

struct Start {};
struct Double {
  using Reply = std::uint64_t;
  std::uint64_t number;
};

class Answerer : public handoff::Actor<Answerer, Double> {
 public:
  std::uint64_t on(Double question) { return 2 * question.number; }
};

class Asker : public handoff::Actor<Asker, Start> {
 public:
  Asker(handoff::ActorRef<Answerer> answerer, std::uint64_t asks, bench::Tally* tally)
      : answerer_(std::move(answerer)), asks_(asks), tally_(tally) {}

  handoff::Lazy<> on(Start) {
    std::uint64_t asked = 0;
    std::uint64_t sum = 0;
    while (asked < asks_) {
      const auto answer = co_await answerer_.async_ask(Double{asked + 1}, std::chrono::seconds{10});
      if (!answer) break;  // Too few answers then: the measurement fails.
      ++asked;
      sum += *answer;
    }
    tally_->report(asked, sum);
  }

 private:
  handoff::ActorRef<Answerer> answerer_;
  const std::uint64_t asks_;
  bench::Tally* const tally_;
};

class HandoffAsk {
 public:
  explicit HandoffAsk(const bench::AskShape& shape)
      : tally_{1},
        system_{{.workers = shape.workers, .name = "bench"}},
        asker_{system_.spawn<Asker>(bench::actor_options(),
                                    system_.spawn<Answerer>(bench::actor_options()), shape.asks,
                                    &tally_)} {}

  ~HandoffAsk() { bench::shut_down(system_); }

  bench::JobTotals run() {
    bench::must(asker_.send(Start{}));
    return tally_.wait();
  }

  static std::string version() { return "this commit"; }

 private:
  bench::Tally tally_;
  handoff::ActorSystem system_;
  handoff::ActorRef<Asker> asker_;
};

}  // namespace

int main(int argc, char** argv) { return bench::actor_ask<HandoffAsk>(argc, argv); }
