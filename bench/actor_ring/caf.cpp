// CAF: a token is a message of two numbers.
#include "../support/actors/caf.hpp"

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <vector>

#include "../support/actors/tally.hpp"
#include "workload.hpp"

namespace {

struct Link {
  caf::actor next;
};

caf::behavior node(caf::stateful_actor<Link>* self, std::uint64_t number, std::uint64_t hops,
                   bench::Tally* tally) {
  return {[=](const caf::actor& next) { self->state.next = next; },
          [=](std::uint64_t left, std::uint64_t sum) {
            if (left == 0) {
              tally->report(hops, sum);
            } else {
              self->send(self->state.next, left - 1, sum + number);
            }
          }};
}

class CafRing {
 public:
  explicit CafRing(const bench::RingShape& shape)
      : shape_(shape), tally_{shape.tokens}, config_{shape.workers}, system_{config_} {
    for (std::uint64_t number = 0; number < shape.actors; ++number) {
      nodes_.push_back(system_.spawn(node, number, shape.hops, &tally_));
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      caf::anon_send(nodes_[i], nodes_[(i + 1) % nodes_.size()]);
    }
  }

  ~CafRing() {  // They know each other in a circle: nothing else ends them.
    for (const caf::actor& each : nodes_) {
      caf::anon_send_exit(each, caf::exit_reason::user_shutdown);
    }
  }

  bench::JobTotals run() {
    for (std::uint64_t token = 0; token < shape_.tokens; ++token) {
      caf::anon_send(nodes_[shape_.start_of(token)], shape_.hops, std::uint64_t{0});
    }
    return tally_.wait();
  }

  static std::string version() { return bench::caf_version(); }

 private:
  const bench::RingShape shape_;
  bench::Tally tally_;
  bench::CafConfig config_;
  caf::actor_system system_;
  std::vector<caf::actor> nodes_;
};

}  // namespace

int main(int argc, char** argv) { return bench::actor_ring<CafRing>(argc, argv); }
