// handoff::Scope and, for skynet, handoff::when_all: a child's number is its result.
#include <handoff/when.hpp>
#include <vector>

#include "handoff_coroutines.hpp"
#include "workload.hpp"

namespace {

handoff::Lazy<std::uint64_t> node(std::uint64_t first, std::uint64_t leaves) {
  if (leaves == 1) co_return first;
  const std::uint64_t each = leaves / bench::skynet_children;
  std::vector<handoff::Lazy<std::uint64_t>> children;
  children.reserve(bench::skynet_children);
  for (std::uint64_t i = 0; i < bench::skynet_children; ++i) {
    children.push_back(node(first + i * each, each));
  }
  auto all = handoff::when_all(std::move(children));
  std::uint64_t sum = 0;
  for (const std::uint64_t each_sum : co_await std::move(all)) sum += each_sum;
  co_return sum;
}

class WithResults : public bench::HandoffCoroutines {
 public:
  using HandoffCoroutines::HandoffCoroutines;
  std::uint64_t skynet(std::uint64_t leaves) { return run(node(0, leaves)); }
};

}  // namespace

int main(int argc, char** argv) { return bench::spawn_join<WithResults>(argc, argv); }
