// handoff::ActorSystem::spawn() from outside; handoff::Actor::spawn() for the children of skynet.
#include "../support/actors/handoff.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "../support/actors/tally.hpp"
#include "workload.hpp"

namespace {

struct Number {
  std::uint64_t value;
};

class Counter : public handoff::Actor<Counter, Number> {
 public:
  void on(Number number) { bench::JobCounts::mine().add_job(number.value); }
};

struct Begin {};
struct Sum {
  std::uint64_t value;
};

class Node : public handoff::Actor<Node, Begin, Sum> {
 public:
  // The root has no parent.
  Node(std::optional<handoff::ActorRef<Node>> parent, std::uint64_t first, std::uint64_t leaves,
       bench::Tally* tally)
      : parent_(std::move(parent)), first_(first), leaves_(leaves), tally_(tally) {}

  void on(Begin) {
    if (leaves_ == 1) return finish(first_);
    const std::uint64_t each = leaves_ / bench::skynet_children;
    for (std::uint64_t i = 0; i < bench::skynet_children; ++i) {
      auto child = spawn<Node>(bench::actor_options(), std::optional{self()}, first_ + i * each,
                               each, tally_);
      bench::must(child.send(Begin{}));
    }
  }

  void on(Sum sum) {
    sum_ += sum.value;
    if (++received_ == bench::skynet_children) finish(sum_);
  }

 private:
  void finish(std::uint64_t sum) {
    if (parent_) {
      bench::must(parent_->send(Sum{sum}));
    } else {
      tally_->report(1, sum);
    }
    stop();
  }

  std::optional<handoff::ActorRef<Node>> parent_;
  const std::uint64_t first_;
  const std::uint64_t leaves_;
  bench::Tally* const tally_;
  std::uint64_t received_ = 0;
  std::uint64_t sum_ = 0;
};

class HandoffActors {
 public:
  explicit HandoffActors(std::size_t workers) : system_{{.workers = workers, .name = "bench"}} {}

  ~HandoffActors() { bench::shut_down(system_); }

  void spawn_send_stop(std::uint64_t count) {
    std::vector<handoff::ActorRef<Counter>> actors;
    actors.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      actors.push_back(system_.spawn<Counter>(bench::actor_options()));
    }
    std::uint64_t number = 0;
    for (auto& each : actors) bench::must(each.send(Number{++number}));
    for (auto& each : actors) each.stop_when_drained();
    bench::shut_down(system_);
  }

  std::uint64_t skynet(std::uint64_t leaves) {
    auto root =
        system_.spawn<Node>(bench::actor_options(), std::optional<handoff::ActorRef<Node>>{},
                            std::uint64_t{0}, leaves, &tally_);
    bench::must(root.send(Begin{}));
    return tally_.wait().sum;
  }

  static std::string version() { return "this commit"; }

 private:
  bench::Tally tally_{1};  // Of the root.
  handoff::ActorSystem system_;
};

}  // namespace

int main(int argc, char** argv) { return bench::actor_spawn<HandoffActors>(argc, argv); }
