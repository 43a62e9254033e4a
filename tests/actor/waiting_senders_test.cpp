// Who sends to a full mailbox waits: threads, and coroutines without one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <expected>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "desk.hpp"
#include "handoff/actor.hpp"
#include "handoff/spawn.hpp"
#include "handoff/testing/manual_clock.hpp"

namespace handoff::tests {
namespace {

using ::testing::ElementsAre;
using Sent = std::expected<void, Refusal>;

struct WaitingSenders : ::testing::Test {
  ActorSystem system{{.workers = 2}};
  HeldDesk desk{system, {.mailbox = {.capacity = 1}}};
  WaitingSenders() { EXPECT_TRUE(desk.ref.send(Note{0})); }

  void await_line_of(std::size_t senders) {
    eventually([&] { return senders_waiting(desk.ref) == senders; });
  }
};

constexpr auto is_closed = std::unexpected(Refusal::closed);
constexpr auto has_timed_out = std::unexpected(Refusal::timed_out);
constexpr auto was_stopped = std::unexpected(Refusal::stopped);

// -- Threads --------------------------------------------------------------------------------------

// A thread that sends, and what came of it.
class Sender {
 public:
  Sender(const ActorRef<Desk>& to, int number, Wait wait = {})
      : thread_([this, to, number, wait] { sent_ = to.send(Note{number}, wait); }) {}
  Sent result() {
    thread_.join();
    return sent_;
  }

 private:
  Sent sent_;
  std::jthread thread_;
};

TEST_F(WaitingSenders, AThreadWaitsUntilThereIsRoom) {
  Sender sender(desk.ref, 1);
  await_line_of(1);
  EXPECT_EQ(system.inspect()[0].mailbox, 1u);
  desk.let_go();
  EXPECT_TRUE(sender.result());
  EXPECT_THAT(desk.handled(), ElementsAre(0, 1));
}

TEST_F(WaitingSenders, ThreadsAreLetInInTheOrderTheyCame) {
  std::vector<std::unique_ptr<Sender>> senders;
  for (int i = 1; i <= 5; ++i) {
    senders.push_back(std::make_unique<Sender>(desk.ref, i));
    await_line_of(static_cast<std::size_t>(i));
  }
  desk.let_go();
  for (auto& each : senders) EXPECT_TRUE(each->result());
  EXPECT_THAT(desk.handled(), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(WaitingSenders, AStopRequestEndsTheWait) {
  std::stop_source stop;
  Sender sender(desk.ref, 1, {.stop = stop.get_token()});
  await_line_of(1);
  stop.request_stop();
  EXPECT_EQ(sender.result(), was_stopped);
  EXPECT_THAT(desk.handled(), ElementsAre(0));
  // It comes first, also if there is room.
  EXPECT_EQ(desk.ref.send(Note{2}, {.stop = stop.get_token()}), was_stopped);
}

TEST_F(WaitingSenders, TheEndOfTheActorEndsTheWait) {
  Sender one(desk.ref, 1);
  Sender another(desk.ref, 2);
  await_line_of(2);
  desk.ref.stop();
  EXPECT_EQ(one.result(), is_closed);
  EXPECT_EQ(another.result(), is_closed);
  desk.let_go();
  await_end(system, desk.ref);
  EXPECT_EQ(system.dead_letter_count(), 1u);  // The one that was accepted.
}

TEST_F(WaitingSenders, TheShutdownOfTheSystemEndsTheWait) {
  Sender sender(desk.ref, 1);
  await_line_of(1);
  std::jthread opener([&] {
    EXPECT_EQ(sender.result(), is_closed);
    desk.let_go();
  });
  EXPECT_TRUE(system.shutdown(finish_within(long_enough)).is_complete());
  EXPECT_THAT(desk.seen->all(), ElementsAre(0));
}

TEST_F(WaitingSenders, AQuestionWaitsForRoomAndThenForItsAnswer) {
  std::expected<int, AskError> answer = 0;
  std::jthread asker([&] { answer = desk.ref.ask(Question{7}, long_enough); });
  await_line_of(1);
  desk.let_go();
  asker.join();
  EXPECT_EQ(answer, 7);
}

// Throws when it is copied, if it was told to meanwhile.
struct Fragile {
  explicit Fragile(std::shared_ptr<std::atomic<bool>> is_broken) : broken(std::move(is_broken)) {}
  Fragile(const Fragile& other) : broken(other.broken) {
    if (*broken) throw std::runtime_error("broken");
  }
  Fragile& operator=(const Fragile&) = default;
  std::shared_ptr<std::atomic<bool>> broken;
};

TEST(FragileMessages, ThatBreakWhileTheyWaitLeaveTheirRoomToTheNext) {
  ActorSystem system{{.workers = 2}};
  const auto gate = std::make_shared<Gate>();
  std::atomic<int> handled = 0;
  const auto ref = system.spawn(
      [&, gate](const Fragile&) {
        gate->pass();
        ++handled;
      },
      {.mailbox = {.capacity = 1}});
  const auto sound = std::make_shared<std::atomic<bool>>(false);
  const auto broken = std::make_shared<std::atomic<bool>>(false);
  ASSERT_TRUE(ref.send(Fragile(sound)));
  gate->await_somebody();
  ASSERT_TRUE(ref.send(Fragile(sound)));
  std::jthread first(
      [&] { EXPECT_THROW(static_cast<void>(ref.send(Fragile(broken))), std::runtime_error); });
  eventually([&] { return senders_waiting(ref) == 1; });
  std::jthread second([&] { EXPECT_TRUE(ref.send(Fragile(sound))); });
  eventually([&] { return senders_waiting(ref) == 2; });
  *broken = true;
  gate->open();
  first.join();
  second.join();
  ref.stop_when_drained();
  await_end(system, ref);
  EXPECT_EQ(handled, 3);
}

// -- Deadlines ------------------------------------------------------------------------------------

struct PatientSenders : ::testing::Test {
  testing::ManualClock clock;
  ActorSystem system{{.workers = 2}};
  HeldDesk desk{system, {.mailbox = {.capacity = 2}}};
  PatientSenders() {
    EXPECT_TRUE(desk.ref.send(Note{0}));
    EXPECT_TRUE(desk.ref.send(Note{1}));
  }
  void await_line_of(std::size_t senders) {
    eventually([&] { return senders_waiting(desk.ref) == senders; });
  }
};

TEST_F(PatientSenders, GiveUpAtTheirDeadlineAndTakeNoRoom) {
  Sender patient(desk.ref, 3);
  await_line_of(1);
  Sender sender(desk.ref, 2, {.deadline = within(1s)});
  await_line_of(2);
  clock.advance(1s);
  EXPECT_EQ(sender.result(), has_timed_out);
  await_line_of(1);
  desk.let_go();
  EXPECT_TRUE(patient.result());
  EXPECT_THAT(desk.handled(), ElementsAre(0, 1, 3));
  // There is room for two again.
  desk.hold();
  EXPECT_TRUE(desk.ref.send(Note{4}));
  EXPECT_TRUE(desk.ref.send(Note{5}, {.deadline = within(0s)}));  // It comes last: see Wait.
  EXPECT_EQ(desk.ref.send(Note{6}, {.deadline = within(0s)}), has_timed_out);
}

TEST_F(PatientSenders, AfterTheLastHasGivenUpOthersFindTheRoomThatIsFreed) {
  EXPECT_EQ(desk.ref.send(Note{2}, {.deadline = within(0s)}), has_timed_out);
  EXPECT_THAT(desk.handled(), ElementsAre(0, 1));
  desk.hold();
  EXPECT_TRUE(desk.ref.send(Note{2}, {.deadline = within(0s)}));
  EXPECT_TRUE(desk.ref.send(Note{3}, {.deadline = within(0s)}));
  EXPECT_EQ(desk.ref.send(Note{4}, {.deadline = within(0s)}), has_timed_out);
}

// -- Coroutines -----------------------------------------------------------------------------------

Lazy<Sent> send_later(ActorRef<Desk> to, int number, Deadline deadline = {}) {
  const auto sent = co_await to.async_send(Note{number}, deadline);
  co_return sent;
}

struct Coroutines : WaitingSenders {
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  Future<Sent> send(int number) {
    auto future = spawn(pool, send_later(desk.ref, number));
    EXPECT_TRUE(future);
    return std::move(*future);
  }
};

TEST_F(Coroutines, SendAtOnceIfThereIsRoom) {
  desk.let_go();
  eventually([&] { return system.inspect()[0].mailbox == 0; });
  EXPECT_EQ(send(1).get(long_enough), Sent());
  EXPECT_THAT(desk.handled(), ElementsAre(0, 1));
}

TEST_F(Coroutines, WaitForRoomWithoutAThreadAndInOrder) {
  std::vector<Future<Sent>> futures;
  for (int i = 1; i <= 5; ++i) {
    futures.push_back(send(i));
    await_line_of(static_cast<std::size_t>(i));
  }
  EXPECT_EQ(pool.submit([] { return 1; })->get(long_enough), 1);  // Its one worker is free.
  desk.let_go();
  for (auto& each : futures) EXPECT_EQ(each.get(long_enough), Sent());
  EXPECT_THAT(desk.handled(), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(Coroutines, StandInOneLineWithThreads) {
  Sender first(desk.ref, 1);
  await_line_of(1);
  auto second = send(2);
  await_line_of(2);
  Sender third(desk.ref, 3);
  await_line_of(3);
  desk.let_go();
  EXPECT_TRUE(first.result());
  EXPECT_EQ(second.get(long_enough), Sent());
  EXPECT_TRUE(third.result());
  EXPECT_THAT(desk.handled(), ElementsAre(0, 1, 2, 3));
}

TEST_F(Coroutines, AreToldThatTheActorHasStopped) {
  auto future = send(1);
  await_line_of(1);
  desk.ref.stop();
  EXPECT_EQ(future.get(long_enough), Sent(is_closed));
  desk.let_go();
  EXPECT_EQ(send(2).get(long_enough), Sent(is_closed));
  EXPECT_EQ(sync_wait(send_later(ActorRef<Desk>(), 1)), is_closed);
}

TEST_F(Coroutines, EndTheirWaitWhenTheirTaskIsStopped) {
  std::stop_source stop;
  Sent sent;
  std::jthread thread([&] { sent = sync_wait(send_later(desk.ref, 1), stop.get_token()); });
  await_line_of(1);
  stop.request_stop();
  thread.join();
  EXPECT_EQ(sent, was_stopped);
  EXPECT_THAT(desk.handled(), ElementsAre(0));
}

TEST_F(PatientSenders, CoroutinesGiveUpAtTheirDeadlineToo) {
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  auto future = spawn(pool, send_later(desk.ref, 2, within(1s)));
  await_line_of(1);
  clock.advance(1s);
  EXPECT_EQ(future->get(), Sent(has_timed_out));
  EXPECT_THAT(desk.handled(), ElementsAre(0, 1));
}

TEST(CoroutineSenders, FollowThePolicyOfTheMailbox) {
  ActorSystem system{{.workers = 2}};
  for (const auto policy : {WhenFull::reject, WhenFull::drop_newest, WhenFull::drop_oldest}) {
    HeldDesk desk(system, {.mailbox = {.capacity = 1, .when_full = policy}});
    EXPECT_TRUE(sync_wait(send_later(desk.ref, 1)));
    EXPECT_EQ(sync_wait(send_later(desk.ref, 2)),
              policy == WhenFull::drop_oldest ? Sent() : std::unexpected(Refusal::full));
  }
  EXPECT_EQ(system.dropped(), 2u);
}

}  // namespace
}  // namespace handoff::tests
