// Calls of many threads, and of those that must not wait.
#include "tasks/batcher.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <optional>

#include "handoff/clock.hpp"
#include "handoff/event.hpp"
#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;

// Whoever leads for those that must not wait may not be the one who waits for that: callbacks of users call the store.
TEST(Batcher, LetsWhatIsDoneAfterwardsCallItWhileOthersLeaveCalls) {
  sqlite::SqliteStore store({});
  std::atomic<bool> is_due = true;
  Event is_in_its_first_call;
  Event another_is_left;
  Event is_done;
  Event other_is_done;
  std::optional<Batcher> batcher;
  const auto callback = [&] {
    if (!is_due.exchange(false)) return;
    batcher->run([&](Transaction&) {
      is_in_its_first_call.set();
      EXPECT_TRUE(another_is_left.wait({.deadline = within(60s), .stop = {}}));
    });
    batcher->run([](Transaction&) {});
    is_done.set();
  };
  batcher.emplace(store, Batcher::Hooks{.committed = [](const Changes&) {},
                                        .is_wanted_afterwards = [&] { return is_due.load(); },
                                        .afterwards = callback});
  batcher->run_later([](Transaction&) {}, [](const std::exception_ptr&) {});
  ASSERT_TRUE(is_in_its_first_call.wait({.deadline = within(60s), .stop = {}}));
  batcher->run_later([](Transaction&) {}, [&](const std::exception_ptr&) { other_is_done.set(); });
  another_is_left.set();
  ASSERT_TRUE(is_done.wait({.deadline = within(60s), .stop = {}}));
  ASSERT_TRUE(other_is_done.wait({.deadline = within(60s), .stop = {}}));
  batcher->finish();
}

}  // namespace
}  // namespace handoff::tests
