// handoff::Channel::async_receive() and handoff::BlockingQueue::async_take() in coroutines of a handoff::Scope.
#include <handoff/channel.hpp>
#include <handoff/lazy.hpp>
#include <handoff/pool.hpp>
#include <handoff/queue.hpp>
#include <handoff/scope.hpp>
#include <stdexcept>
#include <utility>

#include "workload.hpp"

namespace {

using Channel = handoff::Channel<std::uint64_t>;
using Queue = handoff::BlockingQueue<std::uint64_t>;

handoff::Lazy<> take_one(Channel& channel) {
  bench::JobCounts::mine().add_spawned(1);
  if (const auto item = co_await channel.async_receive()) bench::JobCounts::mine().add_job(*item);
}

handoff::Lazy<> take_one(Queue& queue) {
  bench::JobCounts::mine().add_spawned(1);
  if (const auto item = co_await queue.async_take()) bench::JobCounts::mine().add_job(*item);
}

bool give(Channel& channel, std::uint64_t item) {
  return channel.send(std::move(item)).has_value();
}
bool give(Queue& queue, std::uint64_t item) { return queue.put(std::move(item)).has_value(); }

template <typename Source>
class Waiting {
 public:
  static constexpr bool is_stackless = true;

  Waiting(std::size_t workers, std::uint64_t coroutines)
      : coroutines_(coroutines),
        pool_{{.workers = workers, .capacity = 1024, .name = "bench"}},
        source_{{.capacity = 1}} {}

  void start() {
    for (std::uint64_t i = 0; i < coroutines_; ++i) {
      if (!scope_.spawn(pool_, take_one(source_))) {
        throw std::runtime_error("the pool refused a coroutine");
      }
    }
  }

  void finish() {
    for (std::uint64_t item = 1; item <= coroutines_; ++item) {
      if (!give(source_, item)) throw std::runtime_error("an item was refused");
    }
    static_cast<void>(scope_.join());
  }

  static std::string version() { return "this commit"; }

 private:
  const std::uint64_t coroutines_;
  handoff::WorkerPool pool_;
  Source source_;
  handoff::Scope scope_;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::coroutine_memory<Waiting<Channel>, Waiting<Queue>>(argc, argv);
}
