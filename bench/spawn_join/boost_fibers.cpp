// Boost.Fiber, all fibers on one thread. A million stacks do not fit into memory: it spawns and joins a thousand at a
// time, and skynet, of which it would keep whole levels alive, is left out. Stacks come from a pool: by default each is
// mapped and unmapped, and a million of them take ten seconds.
#include <algorithm>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/pooled_fixedsize_stack.hpp>
#include <memory>
#include <vector>

#include "../support/boost_version.hpp"
#include "workload.hpp"

namespace {

using boost::fibers::fiber;

class BoostFibers {
 public:
  explicit BoostFibers(std::size_t /*workers*/) {}

  void spawn_and_join(std::uint64_t count) {
    constexpr std::uint64_t at_a_time = 1000;
    std::vector<fiber> fibers;
    fibers.reserve(at_a_time);
    for (std::uint64_t left = count; left > 0; left -= fibers.size()) {
      fibers.clear();
      while (fibers.size() < std::min(left, at_a_time)) {
        fibers.emplace_back(std::allocator_arg, stacks_,
                            [] { bench::JobCounts::mine().add_job(); });
      }
      for (fiber& each : fibers) each.join();
    }
  }

  static std::string version() { return bench::boost_version(); }

 private:
  boost::fibers::pooled_fixedsize_stack stacks_;
};

}  // namespace

int main(int argc, char** argv) { return bench::spawn_join<BoostFibers>(argc, argv); }
