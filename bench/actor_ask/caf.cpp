// CAF: request().then(), without a timeout, which would only cost it.
#include "../support/actors/caf.hpp"

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include "../support/actors/tally.hpp"
#include "workload.hpp"

namespace {

using Start = caf::atom_constant<caf::atom("start")>;

struct Asked {
  caf::actor answerer;
  std::uint64_t asks = 0;  // In all.
  bench::Tally* tally = nullptr;
  std::uint64_t asked = 0;
  std::uint64_t sum = 0;
};
using Asker = caf::stateful_actor<Asked>;

caf::behavior answerer() {
  return {[](std::uint64_t number) { return 2 * number; }};
}

void ask_next(Asker* self) {
  self->request(self->state.answerer, caf::infinite, ++self->state.asked)
      .then([self](std::uint64_t answer) {
        Asked& state = self->state;
        state.sum += answer;
        if (state.asked < state.asks) {
          ask_next(self);
        } else {
          state.tally->report(state.asked, state.sum);
          self->quit();
        }
      });
}

caf::behavior asker(Asker* self, const caf::actor& answerer, std::uint64_t asks,
                    bench::Tally* tally) {
  self->state = {.answerer = answerer, .asks = asks, .tally = tally};
  return {[self](Start) { ask_next(self); }};
}

class CafAsk {
 public:
  explicit CafAsk(const bench::AskShape& shape)
      : tally_{1},
        config_{shape.workers},
        system_{config_},
        asker_{system_.spawn(asker, system_.spawn(answerer), shape.asks, &tally_)} {}

  bench::JobTotals run() {
    caf::anon_send(asker_, Start::value);
    return tally_.wait();
  }

  static std::string version() { return bench::caf_version(); }

 private:
  bench::Tally tally_;
  bench::CafConfig config_;
  caf::actor_system system_;
  caf::actor asker_;
};

}  // namespace

int main(int argc, char** argv) { return bench::actor_ask<CafAsk>(argc, argv); }
