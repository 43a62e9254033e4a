// CAF. An actor is told to stop by an ordinary message: an exit message would overtake its number.
#include "../support/actors/caf.hpp"

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <vector>

#include "workload.hpp"

namespace {

using Stop = caf::atom_constant<caf::atom("stop")>;

caf::behavior counter(caf::event_based_actor* self) {
  return {[](std::uint64_t number) { bench::JobCounts::mine().add_job(number); },
          [self](Stop) { self->quit(); }};
}

struct Sums {
  std::uint64_t received = 0;
  std::uint64_t sum = 0;
};

caf::behavior node(caf::stateful_actor<Sums>* self, const caf::actor& parent, std::uint64_t first,
                   std::uint64_t leaves) {
  if (leaves == 1) {
    self->send(parent, first);
    return {};  // Nothing to wait for: that ends it.
  }
  const std::uint64_t each = leaves / bench::skynet_children;
  for (std::uint64_t i = 0; i < bench::skynet_children; ++i) {
    self->spawn(node, caf::actor{self}, first + i * each, each);
  }
  return {[=](std::uint64_t sum) {
    Sums& sums = self->state;
    sums.sum += sum;
    if (++sums.received == bench::skynet_children) {
      self->send(parent, sums.sum);
      self->quit();
    }
  }};
}

class CafActors {
 public:
  explicit CafActors(std::size_t workers) : config_{workers}, system_{config_} {}

  void spawn_send_stop(std::uint64_t count) {
    std::vector<caf::actor> actors;
    actors.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) actors.push_back(system_.spawn(counter));
    std::uint64_t number = 0;
    for (const caf::actor& each : actors) caf::anon_send(each, ++number);
    for (const caf::actor& each : actors) caf::anon_send(each, Stop::value);
    system_.await_all_actors_done();
  }

  std::uint64_t skynet(std::uint64_t leaves) {
    caf::scoped_actor main{system_};
    main->spawn(node, caf::actor{main}, std::uint64_t{0}, leaves);
    std::uint64_t result = 0;
    main->receive([&](std::uint64_t sum) { result = sum; });
    return result;
  }

  static std::string version() { return bench::caf_version(); }

 private:
  bench::CafConfig config_;
  caf::actor_system system_;
};

}  // namespace

int main(int argc, char** argv) { return bench::actor_spawn<CafActors>(argc, argv); }
