// handoff::Scope and, for skynet, handoff::Channel: as Go does it, a child sends its number to its parent.
#include <handoff/channel.hpp>

#include "handoff_coroutines.hpp"
#include "workload.hpp"

namespace {

using Sums = handoff::Channel<std::uint64_t>;

handoff::Lazy<> node(Sums& parent, std::uint64_t first, std::uint64_t leaves) {
  std::uint64_t sum = 0;
  if (leaves == 1) {
    sum = first;
  } else {
    Sums sums{0};
    handoff::Scope scope;
    const std::uint64_t each = leaves / bench::skynet_children;
    for (std::uint64_t i = 0; i < bench::skynet_children; ++i) {
      bench::spawn_here(scope, node(sums, first + i * each, each));
    }
    for (std::uint64_t i = 0; i < bench::skynet_children; ++i) {
      sum += *co_await sums.async_receive();
    }
    static_cast<void>(co_await scope.async_join());
  }
  static_cast<void>(co_await parent.async_send(std::move(sum)));
}

handoff::Lazy<std::uint64_t> root(std::uint64_t leaves) {
  Sums sums{0};
  handoff::Scope scope;
  bench::spawn_here(scope, node(sums, 0, leaves));
  const auto sum = co_await sums.async_receive();
  static_cast<void>(co_await scope.async_join());
  co_return *sum;
}

class WithChannels : public bench::HandoffCoroutines {
 public:
  using HandoffCoroutines::HandoffCoroutines;
  std::uint64_t skynet(std::uint64_t leaves) { return run(root(leaves)); }
};

}  // namespace

int main(int argc, char** argv) { return bench::spawn_join<WithChannels>(argc, argv); }
