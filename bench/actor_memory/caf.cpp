// CAF: stateful actors.
#include "../support/actors/caf.hpp"

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <vector>

#include "workload.hpp"

namespace {

struct Sum {
  std::uint64_t value = 0;
};

caf::behavior adder(caf::stateful_actor<Sum>* self) {
  bench::JobCounts::mine().add_spawned(1);
  return {[self](std::uint64_t number) {
    self->state.value += number;
    bench::JobCounts::mine().add_job(self->state.value);
  }};
}

class CafIdle {
 public:
  explicit CafIdle(std::size_t workers) : config_{workers}, system_{config_} {}

  void spawn(std::uint64_t actors) {
    actors_.reserve(actors);
    for (std::uint64_t i = 0; i < actors; ++i) actors_.push_back(system_.spawn(adder));
  }

  void send_numbers() {
    std::uint64_t number = 0;
    for (const caf::actor& each : actors_) caf::anon_send(each, ++number);
  }

  static std::string version() { return bench::caf_version(); }

 private:
  bench::CafConfig config_;
  caf::actor_system system_;
  std::vector<caf::actor> actors_;
};

}  // namespace

int main(int argc, char** argv) { return bench::actor_memory<CafIdle>(argc, argv); }
