// CAF, whose mailboxes have no bound.
#include "../support/actors/caf.hpp"

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include "workload.hpp"

namespace {

caf::behavior handler() {
  return {[](std::uint64_t number) { bench::handle_slowly(number); }};
}

class CafOverloaded {
 public:
  explicit CafOverloaded(std::size_t workers)
      : config_{workers}, system_{config_}, actor_{system_.spawn(handler)} {}

  bool send(std::uint64_t number) {
    caf::anon_send(actor_, number);
    return true;
  }

  static std::string version() { return bench::caf_version(); }

 private:
  bench::CafConfig config_;
  caf::actor_system system_;
  caf::actor actor_;
};

}  // namespace

int main(int argc, char** argv) { return bench::actor_overload<CafOverloaded>(argc, argv); }
