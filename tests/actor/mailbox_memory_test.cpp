// Mailboxes take memory only while there are messages in them.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "desk.hpp"
#include "handoff/actor.hpp"
#include "support/counted_new.hpp"
#include "support/sanitized.hpp"

namespace handoff::tests {
namespace {

// What the library keeps of freed memory, for the next who need some, is bounded: see frame_memory.hpp.
constexpr long kept_for_others = 3 << 20;

class Idle : public Actor<Idle, Note> {
 public:
  explicit Idle(std::shared_ptr<std::atomic<int>> handled) : handled_(std::move(handled)) {}
  void on(Note) { ++*handled_; }

 private:
  const std::shared_ptr<std::atomic<int>> handled_;
};

TEST(MailboxMemory, AnEmptyOneTakesNone) {
  constexpr int actors = is_sanitized ? 10'000 : 20'000;
  ActorSystem system{{.workers = 1}};
  const auto handled = std::make_shared<std::atomic<int>>(0);
  std::vector<ActorRef<Idle>> all;
  all.reserve(actors);
  const long before = allocated_now;
  for (int i = 0; i < actors; ++i) all.push_back(system.spawn<Idle>({}, handled));
  const long idle = allocated_now - before;
  EXPECT_LE(idle / actors, 300);
  // Each has had a message: no mailbox has kept anything, though each needed 128 bytes.
  for (const auto& each : all) ASSERT_TRUE(each.send(Note{1}));
  eventually([&] { return *handled == actors; }, 60s);
  EXPECT_LE(allocated_now - before, idle + actors * 20);
}

TEST(MailboxMemory, OneThatWasFullGivesItBack) {
  constexpr int messages = is_sanitized ? 200'000 : 1'000'000;
  ActorSystem system{{.workers = 1}};
  HeldDesk desk(system);  // Has the one worker.
  const auto handled = std::make_shared<std::atomic<int>>(0);
  const long before = allocated_now;
  const auto full =
      system.spawn([handled](Note) { ++*handled; }, {.mailbox = {.capacity = messages}});
  for (int i = 0; i < messages; ++i) ASSERT_TRUE(full.send(Note{i}));
  EXPECT_GT(allocated_now - before, messages * 16);
  desk.let_go();
  eventually([&] { return *handled == messages; }, 60s);
  EXPECT_LE(allocated_now - before, kept_for_others);
}

}  // namespace
}  // namespace handoff::tests
