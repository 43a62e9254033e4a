// Boost.Fiber: unbuffered_channel::pop() in fibers of one thread. A stack is 128 KiB, of which the pages that were
// touched count.
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#include <boost/fiber/unbuffered_channel.hpp>
#include <vector>

#include "../support/boost_version.hpp"
#include "workload.hpp"

namespace {

class Waiting {
 public:
  static constexpr bool is_stackless = false;

  Waiting(std::size_t /*workers*/, std::uint64_t coroutines) : coroutines_(coroutines) {
    fibers_.reserve(coroutines);
  }

  void start() {
    for (std::uint64_t i = 0; i < coroutines_; ++i) {
      fibers_.emplace_back([this] {
        bench::JobCounts::mine().add_spawned(1);
        bench::JobCounts::mine().add_job(channel_.value_pop());
      });
    }
    while (bench::JobCounts::total().spawned < coroutines_) boost::this_fiber::yield();
  }

  void finish() {
    for (std::uint64_t item = 1; item <= coroutines_; ++item) channel_.push(item);
    for (auto& fiber : fibers_) fiber.join();
  }

  static std::string version() { return bench::boost_version(); }

 private:
  const std::uint64_t coroutines_;
  boost::fibers::unbuffered_channel<std::uint64_t> channel_;
  std::vector<boost::fibers::fiber> fibers_;
};

}  // namespace

int main(int argc, char** argv) { return bench::coroutine_memory<Waiting>(argc, argv); }
