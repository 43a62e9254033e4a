// handoff::Actor: each of a pair holds a reference to the other.
#include "../support/actors/handoff.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "../support/actors/tally.hpp"
#include "workload.hpp"

namespace {

class Pinger;

struct Start {};
struct Meet {
  handoff::ActorRef<Pinger> other;
};
struct Ping {
  std::uint64_t number;
};
struct Pong {
  std::uint64_t number;
};

class Ponger : public handoff::Actor<Ponger, Meet, Ping> {
 public:
  void on(Meet meet) { other_ = std::move(meet.other); }
  void on(Ping ping);

 private:
  std::optional<handoff::ActorRef<Pinger>> other_;
};

class Pinger : public handoff::Actor<Pinger, Start, Pong> {
 public:
  Pinger(handoff::ActorRef<Ponger> other, std::uint64_t round_trips, bench::Tally* tally)
      : other_(std::move(other)), round_trips_(round_trips), tally_(tally) {}

  void on(Start) { ping(); }

  void on(Pong pong) {
    sum_ += pong.number;
    if (sent_ < round_trips_) {
      ping();
    } else {
      tally_->report(sent_, sum_);
    }
  }

 private:
  void ping() { bench::must(other_.send(Ping{++sent_})); }

  handoff::ActorRef<Ponger> other_;
  const std::uint64_t round_trips_;
  bench::Tally* const tally_;
  std::uint64_t sent_ = 0;
  std::uint64_t sum_ = 0;
};

void Ponger::on(Ping ping) { bench::must(other_->send(Pong{2 * ping.number})); }

class HandoffPairs {
 public:
  explicit HandoffPairs(const bench::PingPongShape& shape)
      : tally_{shape.pairs}, system_{{.workers = shape.workers, .name = "bench"}} {
    for (std::uint64_t i = 0; i < shape.pairs; ++i) {
      auto ponger = system_.spawn<Ponger>(bench::actor_options());
      auto pinger =
          system_.spawn<Pinger>(bench::actor_options(), ponger, shape.round_trips, &tally_);
      bench::must(ponger.send(Meet{pinger}));
      pingers_.push_back(std::move(pinger));
    }
  }

  ~HandoffPairs() { bench::shut_down(system_); }

  bench::JobTotals run() {
    for (auto& each : pingers_) bench::must(each.send(Start{}));
    return tally_.wait();
  }

  static std::string version() { return "this commit"; }

 private:
  bench::Tally tally_;
  handoff::ActorSystem system_;
  std::vector<handoff::ActorRef<Pinger>> pingers_;
};

}  // namespace

int main(int argc, char** argv) { return bench::actor_ping_pong<HandoffPairs>(argc, argv); }
