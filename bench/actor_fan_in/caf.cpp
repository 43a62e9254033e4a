// CAF, whose mailboxes have no bound.
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

struct Taken {
  std::uint64_t messages = 0;
  std::uint64_t sum = 0;
};

caf::behavior receiver(caf::stateful_actor<Taken>* self, std::uint64_t messages,
                       bench::Tally* tally) {
  return {[=](std::uint64_t number) {
    Taken& taken = self->state;
    taken.sum += number;
    if (++taken.messages == messages) tally->report(taken.messages, taken.sum);
  }};
}

caf::behavior sender(caf::event_based_actor* self, const caf::actor& receiver, std::uint64_t first,
                     std::uint64_t step, std::uint64_t last) {
  return {[=](Start) {
    for (std::uint64_t number = first; number <= last; number += step) {
      self->send(receiver, number);
    }
    self->quit();
  }};
}

class CafFanIn {
 public:
  explicit CafFanIn(const bench::FanInShape& shape)
      : tally_{1}, config_{shape.workers}, system_{config_} {
    const caf::actor to = system_.spawn(receiver, shape.messages, &tally_);
    for (std::uint64_t first = 1; first <= shape.senders; ++first) {
      senders_.push_back(system_.spawn(sender, to, first, shape.senders, shape.messages));
    }
  }

  bench::JobTotals run() {
    for (const caf::actor& each : senders_) caf::anon_send(each, Start::value);
    return tally_.wait();
  }

  static std::string version() { return bench::caf_version(); }

 private:
  bench::Tally tally_;
  bench::CafConfig config_;
  caf::actor_system system_;
  std::vector<caf::actor> senders_;
};

}  // namespace

int main(int argc, char** argv) { return bench::actor_fan_in<CafFanIn>(argc, argv); }
