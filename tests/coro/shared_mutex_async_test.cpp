// What coroutines see of a SharedMutex; tests/sync has what threads see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>

#include "coro/sync_calls.hpp"
#include "handoff/shared_mutex.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "sync/now_hook.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using namespace handoff::tests;
using handoff::testing::eventually;
using handoff::testing::ManualClock;
using ::testing::StartsWith;

TEST(AsyncSharedMutex, ReadersShareItAndAWriterIsAlone) {
  ManualExecutor executor;
  SharedMutex mutex;
  Event read;
  Event written;
  Call first(executor, lock_shared(mutex, read));
  Call second(executor, lock_shared(mutex, read));
  EXPECT_EQ(mutex.stats().size, 2u);
  Call writer(executor, lock(mutex, written));
  Call third(executor, lock_shared(mutex, read));
  EXPECT_EQ(waiting(mutex), 2u) << "a reader lines up behind a writer";
  EXPECT_FALSE(mutex.try_lock_shared());
  read.set();
  executor.run();
  EXPECT_EQ(first.result(), done);
  EXPECT_EQ(second.result(), done);
  EXPECT_THAT(detail::thread_name(mutex.holder()), StartsWith("coroutine #"));
  EXPECT_FALSE(third.is_done());
  written.set();
  executor.run();
  EXPECT_EQ(writer.result(), done);
  EXPECT_EQ(third.result(), done);
  EXPECT_EQ(mutex.stats().size, 0u);
}

TEST(AsyncSharedMutex, TheGuardsMayBeGivenBackOnAnotherThread) {
  ManualExecutor executor;
  SharedMutex mutex;
  Event until;
  std::optional<Call> reader;
  std::jthread([&] { reader.emplace(executor, lock_shared(mutex, until)); }).join();
  EXPECT_FALSE(mutex.try_lock());
  until.set();
  executor.run();
  until.reset();
  std::optional<Call> writer;
  std::jthread([&] { writer.emplace(executor, lock(mutex, until)); }).join();
  EXPECT_FALSE(mutex.try_lock_shared());
  until.set();
  executor.run();
  EXPECT_EQ(reader->result(), done);
  EXPECT_EQ(writer->result(), done);
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

Lazy<> write_then_read(SharedMutex& mutex) {
  auto writing = co_await mutex.async_lock();
  auto reading = co_await mutex.async_lock_shared();
}

TEST(AsyncSharedMutex, AWriterThatWantsToReadGetsAnError) {
  ManualExecutor executor;
  SharedMutex mutex;
  Begun<void> call(executor, write_then_read(mutex));
  ASSERT_TRUE(call.is_done());
  EXPECT_THROW(call.result(), std::system_error);
  EXPECT_EQ(mutex.stats().size, 0u);
}

TEST(AsyncSharedMutex, AWriterThatIsStoppedLetsInTheReadersBehindIt) {
  ManualExecutor executor;
  SharedMutex mutex;
  Event until{{.is_set = true}};
  std::stop_source stop;
  auto reading = mutex.hold_shared();
  Call writer(executor, lock(mutex, until), stop.get_token());
  Call reader(executor, lock_shared(mutex, until));
  EXPECT_EQ(waiting(mutex), 2u);
  stop.request_stop();
  executor.run();
  EXPECT_EQ(writer.result(), stopped);
  EXPECT_EQ(reader.result(), done) << "while the first reader is still inside";
}

TEST(AsyncSharedMutex, AReaderThatWasLetInAndStoppedBeforeItHeardOfItIsInside) {
  ManualExecutor executor;
  SharedMutex mutex;
  Event until;
  std::stop_source stop;
  mutex.lock();
  Call granted(executor, lock_shared(mutex, until), stop.get_token());
  mutex.unlock();
  EXPECT_EQ(mutex.stats().size, 1u);
  stop.request_stop();
  executor.run();
  EXPECT_EQ(granted.result(), done);
  EXPECT_EQ(mutex.stats().size, 0u);
}

TEST(AsyncSharedMutex, AReaderThatIsLetInWhileItIsStoppedIsCountedOnce) {
  ManualExecutor executor;
  SharedMutex mutex;
  Event until{{.is_set = true}};
  std::stop_source stop;
  mutex.lock();
  Call reader(executor, lock_shared(mutex, until), stop.get_token());
  stop.request_stop();
  mutex.unlock();  // Lets in all who stand in line, also those on their way out.
  EXPECT_EQ(mutex.stats().size, 1u);
  executor.run();
  EXPECT_EQ(reader.result(), done);
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

TEST(AsyncSharedMutex, AWaitEndsByItsDeadline) {
  ManualClock clock;
  ManualExecutor executor;
  SharedMutex mutex;
  Event until{{.is_set = true}};
  mutex.lock();
  Call writer(executor, lock(mutex, until, within(1s)));
  Call reader(executor, lock_shared(mutex, until, within(1s)));
  clock.advance(1s);
  eventually([&] { return executor.ready() == 2; });
  executor.run();
  EXPECT_EQ(writer.result(), timed_out);
  EXPECT_EQ(reader.result(), timed_out);
  mutex.unlock();
  EXPECT_EQ(mutex.stats().refused, 2u);
}

TEST(AsyncSharedMutex, AStopInTheMiddleOfAHandOverDoesNotLoseTheLock) {
  ManualExecutor executor;
  NowHook clock;
  SharedMutex mutex;
  Event until{{.is_set = true}};
  std::stop_source stop;
  mutex.lock();
  Call call(executor, lock(mutex, until), stop.get_token());
  mutex.unlock();
  mutex.lock();
  executor.run();  // In vain; and once its time is up, the next unlock() makes it the owner.
  ASSERT_FALSE(call.is_done());
  clock.advance(Mutex::max_overtaking_time);
  clock.run_at_next_look([&] { stop.request_stop(); });
  mutex.unlock();
  EXPECT_TRUE(stop.stop_requested());
  executor.run();
  EXPECT_EQ(call.result(), done) << "it was made the owner, so it is";
  EXPECT_EQ(mutex.stats().size, 0u) << "and has let go";
}

}  // namespace
}  // namespace handoff
