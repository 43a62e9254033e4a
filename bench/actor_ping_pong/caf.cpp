// CAF: what the ponger's handler returns goes back to the sender.
#include "../support/actors/caf.hpp"

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <vector>

#include "../support/actors/tally.hpp"
#include "workload.hpp"

namespace {

using Start = caf::atom_constant<caf::atom("start")>;

struct Pings {
  std::uint64_t sent = 0;
  std::uint64_t sum = 0;
};

caf::behavior ponger() {
  return {[](std::uint64_t number) { return 2 * number; }};
}

caf::behavior pinger(caf::stateful_actor<Pings>* self, const caf::actor& other,
                     std::uint64_t round_trips, bench::Tally* tally) {
  return {[=](Start) { self->send(other, ++self->state.sent); },
          [=](std::uint64_t answer) {
            Pings& pings = self->state;
            pings.sum += answer;
            if (pings.sent < round_trips) {
              self->send(other, ++pings.sent);
            } else {
              tally->report(pings.sent, pings.sum);
              self->quit();  // Nobody knows the ponger then, which ends it.
            }
          }};
}

class CafPairs {
 public:
  explicit CafPairs(const bench::PingPongShape& shape)
      : tally_{shape.pairs}, config_{shape.workers}, system_{config_} {
    for (std::uint64_t i = 0; i < shape.pairs; ++i) {
      pingers_.push_back(system_.spawn(pinger, system_.spawn(ponger), shape.round_trips, &tally_));
    }
  }

  bench::JobTotals run() {
    for (const caf::actor& each : pingers_) caf::anon_send(each, Start::value);
    return tally_.wait();
  }

  static std::string version() { return bench::caf_version(); }

 private:
  bench::Tally tally_;
  bench::CafConfig config_;
  caf::actor_system system_;
  std::vector<caf::actor> pingers_;
};

}  // namespace

int main(int argc, char** argv) { return bench::actor_ping_pong<CafPairs>(argc, argv); }
