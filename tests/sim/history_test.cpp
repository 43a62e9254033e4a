// The checker of histories accepts what could have happened one call after another, and nothing else.
#include "handoff/testing/history.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <expected>
#include <stdexcept>
#include <string>
#include <vector>

#include "handoff/thread.hpp"
#include "sim/item_models.hpp"
#include "sim/lock_models.hpp"

namespace handoff::tests {
namespace {

using ::testing::HasSubstr;
using Kind = ItemCall::Kind;
using testing::simulate;
using testing::SimulationFailed;

constexpr ItemOutcome done() { return {}; }

// From begin to end with nobody else in between.
template <typename History, typename Operation, typename Result>
void call(History& history, unsigned thread, Operation operation, Result result) {
  history.end(history.begin_by(thread, operation), result);
}

template <typename History, typename Model>
bool is_linearizable(const History& history, const Model& model) {
  return history.linearize(model).is_possible;
}

// -- Queues ---------------------------------------------------------------------------------------

TEST(History, OfNothingIsLinearizable) {
  EXPECT_TRUE(is_linearizable(ItemHistory(), QueueModel()));
}

TEST(History, CallsThatOverlapMayHaveComeInEitherOrder) {
  for (const int first : {1, 2}) {
    ItemHistory history;
    const auto one = history.begin_by(1, {Kind::put, 1});
    const auto two = history.begin_by(2, {Kind::put, 2});
    history.end(one, done());
    history.end(two, done());
    call(history, 3, ItemCall{Kind::take}, first);
    call(history, 3, ItemCall{Kind::take}, 3 - first);
    EXPECT_TRUE(is_linearizable(history, QueueModel{.capacity = 2}));
  }
}

TEST(History, RefusesAQueueThatReordersPutsThatDoNotOverlap) {
  ItemHistory history;
  call(history, 1, ItemCall{Kind::put, 1}, done());
  call(history, 2, ItemCall{Kind::put, 2}, done());
  call(history, 3, ItemCall{Kind::take}, 2);
  call(history, 3, ItemCall{Kind::take}, 1);
  EXPECT_FALSE(is_linearizable(history, QueueModel{.capacity = 2}));
  EXPECT_TRUE(is_linearizable(history, QueueModel{.capacity = 2, .is_by_priority = true}));
}

TEST(History, RefusesAnItemThatWasNeverPut) {
  ItemHistory history;
  call(history, 1, ItemCall{Kind::put, 1}, done());
  call(history, 2, ItemCall{Kind::take}, 7);
  EXPECT_FALSE(is_linearizable(history, QueueModel()));
}

TEST(History, RefusesAnItemThatIsTakenTwice) {
  ItemHistory history;
  call(history, 1, ItemCall{Kind::put, 1}, done());
  const auto one = history.begin_by(2, {Kind::take});
  const auto two = history.begin_by(3, {Kind::take});
  history.end(one, 1);
  history.end(two, 1);
  EXPECT_FALSE(is_linearizable(history, QueueModel()));
}

TEST(History, RefusesAnItemThatIsTakenBeforeItIsPut) {
  ItemHistory history;
  call(history, 1, ItemCall{Kind::take}, 1);
  call(history, 2, ItemCall{Kind::put, 1}, done());
  EXPECT_FALSE(is_linearizable(history, QueueModel()));
}

TEST(History, ARefusalHasToBeRightAtSomeMomentOfItsCall) {
  for (const bool overlaps : {true, false}) {
    ItemHistory history;
    call(history, 1, ItemCall{Kind::put, 1}, done());
    const auto take = history.begin_by(2, {Kind::take});
    if (!overlaps) history.end(take, 1);
    call(history, 1, ItemCall{Kind::offer, 2}, Refusal::full);
    if (overlaps) history.end(take, 1);
    EXPECT_EQ(is_linearizable(history, QueueModel()), overlaps);
  }
}

TEST(History, RefusesAPutAfterTheClose) {
  ItemHistory history;
  call(history, 1, ItemCall{Kind::close}, done());
  call(history, 2, ItemCall{Kind::put, 1}, done());
  EXPECT_FALSE(is_linearizable(history, QueueModel()));
}

// -- Calls that never returned --------------------------------------------------------------------

TEST(History, ACallThatNeverReturnedMayHaveTakenEffect) {
  ItemHistory history;
  history.begin_by(1, {Kind::put, 1});
  call(history, 2, ItemCall{Kind::take}, 1);
  EXPECT_TRUE(is_linearizable(history, QueueModel()));
}

TEST(History, ACallThatNeverReturnedMayNotHaveTakenEffect) {
  ItemHistory history;
  history.begin_by(1, {Kind::put, 1});
  call(history, 2, ItemCall{Kind::poll}, Refusal::empty);
  call(history, 2, ItemCall{Kind::put, 2}, done());
  call(history, 2, ItemCall{Kind::take}, 2);
  EXPECT_TRUE(is_linearizable(history, QueueModel()));
}

TEST(History, ACallThatNeverReturnedMayStillBeWaiting) {
  ItemHistory history;
  history.begin_by(1, {Kind::take});
  call(history, 2, ItemCall{Kind::poll}, Refusal::empty);
  EXPECT_TRUE(is_linearizable(history, QueueModel()));
}

TEST(History, ACallThatNeverReturnedTakesEffectOnceAndNotBeforeItBegan) {
  ItemHistory twice;
  twice.begin_by(1, {Kind::put, 1});
  call(twice, 2, ItemCall{Kind::take}, 1);
  call(twice, 2, ItemCall{Kind::take}, 1);
  EXPECT_FALSE(is_linearizable(twice, QueueModel()));

  ItemHistory too_early;
  call(too_early, 2, ItemCall{Kind::take}, 1);
  too_early.begin_by(1, {Kind::put, 1});
  EXPECT_FALSE(is_linearizable(too_early, QueueModel()));
}

// -- Calls that meet ------------------------------------------------------------------------------

TEST(History, ASendAndAReceiveThatOverlapMeet) {
  ItemHistory history;
  const auto receive = history.begin_by(1, {Kind::take});
  call(history, 2, ItemCall{Kind::put, 1}, done());
  history.end(receive, 1);
  EXPECT_TRUE(is_linearizable(history, RendezvousModel()));
}

TEST(History, ASendThatHasEndedMeetsNobody) {
  ItemHistory history;
  call(history, 2, ItemCall{Kind::put, 1}, done());
  call(history, 1, ItemCall{Kind::take}, 1);
  EXPECT_FALSE(is_linearizable(history, RendezvousModel()));
  EXPECT_TRUE(is_linearizable(history, QueueModel()));
}

TEST(History, ASendMeetsOneReceive) {
  ItemHistory history;
  const auto one = history.begin_by(1, {Kind::take});
  const auto two = history.begin_by(3, {Kind::take});
  call(history, 2, ItemCall{Kind::put, 1}, done());
  history.end(one, 1);
  history.end(two, 1);
  EXPECT_FALSE(is_linearizable(history, RendezvousModel()));
}

// -- Locks ----------------------------------------------------------------------------------------

TEST(History, RefusesASemaphoreThatGivesOnePermitTwice) {
  using Permit = PermitCall::Kind;
  SemaphoreHistory history;
  const auto one = history.begin_by(1, {Permit::acquire});
  const auto two = history.begin_by(2, {Permit::acquire});
  history.end(one, {});
  history.end(two, {});
  const auto release = history.begin_by(1, {Permit::release});
  EXPECT_TRUE(is_linearizable(history, SemaphoreModel{.available = 2}));
  // It has begun after both had got theirs: too late.
  EXPECT_FALSE(is_linearizable(history, SemaphoreModel{.available = 1}));
  history.end(release, {});
  EXPECT_FALSE(is_linearizable(history, SemaphoreModel{.available = 1}));
}

TEST(History, RefusesAMutexThatIsHeldTwice) {
  using Lock = LockCall::Kind;
  for (const bool is_held_twice : {true, false}) {
    LockHistory history;
    const auto one = history.begin_by(1, {Lock::lock, 1});
    const auto two = history.begin_by(2, {Lock::lock, 2});
    history.end(one, {});
    if (is_held_twice) history.end(two, {});
    call(history, 1, LockCall{Lock::unlock, 1}, LockOutcome());
    if (!is_held_twice) history.end(two, {});
    call(history, 2, LockCall{Lock::unlock, 2}, LockOutcome());
    EXPECT_EQ(is_linearizable(history, LockModel()), !is_held_twice);
  }
}

TEST(History, ReadersMayBeInsideTogetherAndAWriterNotWithThem) {
  using Lock = LockCall::Kind;
  LockHistory history;
  call(history, 1, LockCall{Lock::lock_shared, 1}, LockOutcome());
  call(history, 2, LockCall{Lock::lock_shared, 2}, LockOutcome());
  EXPECT_TRUE(is_linearizable(history, LockModel()));
  call(history, 3, LockCall{Lock::lock, 3}, LockOutcome());
  EXPECT_FALSE(is_linearizable(history, LockModel()));
}

// -- Limit and text -------------------------------------------------------------------------------

TEST(History, HoldsSixtyFourCalls) {
  ItemHistory history;
  for (int i = 0; i < 32; ++i) {
    call(history, 1, ItemCall{Kind::put, i}, done());
    call(history, 1, ItemCall{Kind::take}, i);
  }
  EXPECT_TRUE(is_linearizable(history, QueueModel()));
  try {
    history.begin_by(1, {Kind::take});
    FAIL() << "there was room for one more";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "a history holds at most 64 calls");
  }
}

// Without the memory of states this would take until the end of days.
TEST(History, ComesToNoStateTwice) {
  ItemHistory history;
  std::vector<std::size_t> puts;
  for (unsigned i = 0; i < 15; ++i) puts.push_back(history.begin_by(i, {Kind::put, 1}));
  for (const auto put : puts) history.end(put, done());
  call(history, 1, ItemCall{Kind::take}, 2);
  EXPECT_FALSE(is_linearizable(history, QueueModel{.capacity = 15}));
}

TEST(History, SaysWhatHappenedWhenAndHowFarItGoesWell) {
  ItemHistory history;
  call(history, 1, ItemCall{Kind::put, 1}, done());
  const auto take = history.begin_by(2, {Kind::take});
  history.begin_by(3, {Kind::put, 2});
  history.end(take, 7);
  EXPECT_EQ(history.explain(history.linearize(QueueModel())),
            "not linearizable; the calls, from when to when:\n"
            "  #1   thread 1   1-2      put 1: done\n"
            "  #2   thread 2   3-5      take: 7\n"
            "  #3   thread 3   4-       put 2: never returned\n"
            "the longest order that goes well:\n"
            "  #1   thread 1   1-2      put 1: done");
}

TEST(History, ShowsWhatOurCallsReturn) {
  testing::History<std::string, std::expected<int, Refusal>> history;
  call(history, 1, "take", 3);
  call(history, 1, "take", std::unexpected(Refusal::closed));
  const auto text = history.explain({});
  EXPECT_THAT(text, HasSubstr("take: 3"));
  EXPECT_THAT(text, HasSubstr("take: closed"));
}

// -- In a simulation ------------------------------------------------------------------------------

struct CounterModel {
  int value = 0;
  bool operator==(const CounterModel&) const = default;
  bool apply(const std::string&, const int* result) {
    ++value;
    return result == nullptr || *result == value;
  }
};

template <typename Add>
void count_in_two_threads(Add add) {
  testing::History<std::string, int> history;
  detail::atomic<int> counter{0};
  {
    const auto work = [&] { history.record("add", [&] { return add(counter); }); };
    Thread one(work);
    Thread two(work);
  }
  history.check(CounterModel());
}

TEST(History, FailsTheRunThatIsNotLinearizable) {
  const auto carefully = [](auto& counter) { return counter.fetch_add(1) + 1; };
  const auto carelessly = [](auto& counter) {
    const int next = counter.load() + 1;
    counter.store(next);
    return next;
  };
  simulate({.runs = 500}, [&] { count_in_two_threads(carefully); });
  try {
    simulate({.runs = 500}, [&] { count_in_two_threads(carelessly); });
    FAIL() << "nothing was found";
  } catch (const SimulationFailed& failed) {
    EXPECT_THAT(failed.found().what, HasSubstr("not linearizable"));
    EXPECT_THAT(failed.found().what, HasSubstr("add: 1"));
  }
}

TEST(History, ACallThatThrewNeverReturned) {
  simulate({.runs = 1}, [] {
    testing::History<std::string, int> history;
    try {
      history.record("add", []() -> int { throw std::runtime_error("no"); });
    } catch (const std::runtime_error&) {
    }
    testing::check(!history.calls().at(0).has_returned(), "it returned");
  });
}

}  // namespace
}  // namespace handoff::tests
