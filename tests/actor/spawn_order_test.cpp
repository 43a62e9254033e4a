// In which order actors that others spawn come to their first turn.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "handoff/actor.hpp"
#include "handoff/event.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;

struct Begin {};
struct Ended {};

struct Tree {
  std::atomic<int> alive = 0;
  std::atomic<int> most_alive = 0;
  Event done;
};

// Has ten children of its own, down to the leaves, and ends after them.
class Branch : public Actor<Branch, Begin, Ended> {
 public:
  Branch(std::shared_ptr<Tree> tree, int depth, Address<Ended> parent)
      : tree_(std::move(tree)), depth_(depth), parent_(std::move(parent)) {
    const int now = ++tree_->alive;
    int most = tree_->most_alive;
    while (now > most && !tree_->most_alive.compare_exchange_weak(most, now)) {
    }
  }
  void on(Begin) {
    if (depth_ == 0) return finish();
    for (int i = 0; i < children; ++i) {
      const auto child = spawn<Branch>({}, tree_, depth_ - 1, Address<Ended>(self()));
      EXPECT_TRUE(child.send(Begin{}));
    }
  }
  void on(Ended) {
    if (++ended_ == children) finish();
  }

 private:
  static constexpr int children = 10;
  void finish() {
    --tree_->alive;
    if (!parent_.send(Ended{})) tree_->done.set();  // The root has none.
    stop();
  }

  const std::shared_ptr<Tree> tree_;
  const int depth_;
  const Address<Ended> parent_;
  int ended_ = 0;
};

// Breadth first, most of the 11,111 would be there at once.
TEST(SpawnOrder, OneBranchOfATreeIsWorkedThroughBeforeTheNext) {
  const auto tree = std::make_shared<Tree>();
  ActorSystem system{{.workers = 1}};
  ASSERT_TRUE(system.spawn<Branch>({}, tree, 4, Address<Ended>()).send(Begin{}));
  ASSERT_TRUE(tree->done.wait({.deadline = within(60s), .stop = {}}));
  EXPECT_LT(tree->most_alive, 3000);
  EXPECT_EQ(tree->alive, 0);
}

struct Note {};

class Waiting : public Actor<Waiting, Note> {
 public:
  explicit Waiting(std::shared_ptr<Event> had_turn) : had_turn_(std::move(had_turn)) {}
  void on(Note) { had_turn_->set(); }

 private:
  const std::shared_ptr<Event> had_turn_;
};

// Always has two newer ones than those it has spawned before, until the first has had its turn, or for 100,000 of its own.
class Spawner : public Actor<Spawner, Begin> {
 public:
  static constexpr int most_turns = 100'000;
  Spawner(std::shared_ptr<Event> first, std::shared_ptr<Event> others,
          std::shared_ptr<std::atomic<int>> turns)
      : first_(std::move(first)), others_(std::move(others)), turns_(std::move(turns)) {}
  void on(Begin) {
    if (first_->is_set() || ++*turns_ == most_turns) return;
    if (!std::exchange(has_begun_, true)) {
      EXPECT_TRUE(spawn<Waiting>({}, first_).send(Note{}));
    }
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(spawn<Waiting>({}, others_).send(Note{}));
    EXPECT_TRUE(self().send(Begin{}));
  }

 private:
  const std::shared_ptr<Event> first_;
  const std::shared_ptr<Event> others_;
  const std::shared_ptr<std::atomic<int>> turns_;
  bool has_begun_ = false;
};

TEST(SpawnOrder, NobodyWaitsForEverWhileNewerOnesCome) {
  const auto first = std::make_shared<Event>();
  ActorSystem system{{.workers = 1}};
  const auto turns = std::make_shared<std::atomic<int>>(0);
  const auto spawner = system.spawn<Spawner>({}, first, std::make_shared<Event>(), turns);
  ASSERT_TRUE(spawner.send(Begin{}));
  EXPECT_TRUE(first->wait({.deadline = within(60s), .stop = {}}));
  EXPECT_LT(*turns, Spawner::most_turns);
}

}  // namespace
}  // namespace handoff
