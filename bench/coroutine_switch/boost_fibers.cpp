// Boost.Fiber: two fibers of one thread that yield.
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>

#include "../support/boost_version.hpp"
#include "workload.hpp"

namespace {

void take_half(bench::Turns& turns, int who) {
  for (std::uint64_t i = 0; i < turns.each(); ++i) {
    turns.take(who);
    boost::this_fiber::yield();
  }
}

class FiberSwitching {
 public:
  void take_turns(bench::Turns& turns) {
    boost::fibers::fiber first{[&] { take_half(turns, 0); }};
    boost::fibers::fiber second{[&] { take_half(turns, 1); }};
    first.join();
    second.join();
  }

  static std::string version() { return bench::boost_version(); }
};

}  // namespace

int main(int argc, char** argv) { return bench::coroutine_switch<FiberSwitching>(argc, argv); }
