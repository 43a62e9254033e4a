// Which request a message belongs to travels with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "desk.hpp"
#include "handoff/actor.hpp"

namespace handoff::tests {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::SizeIs;

using Traces = Seen<TraceContext>;

// Down the line; every one of them notes its trace.
struct Visit {
  std::vector<Address<Visit>> rest;
};
struct Ask {
  using Reply = int;
  std::vector<Address<Ask>> rest;
};

class Plain : public Actor<Plain, Visit, Ask> {
 public:
  explicit Plain(std::shared_ptr<Traces> traces) : traces_(std::move(traces)) {}
  void on(Visit visit) {
    traces_->add(current_trace());
    if (visit.rest.empty()) return;
    const auto next = visit.rest.back();
    visit.rest.pop_back();
    EXPECT_TRUE(next.send(std::move(visit)));
  }
  int on(Ask ask) {
    traces_->add(current_trace());
    if (ask.rest.empty()) return 0;
    const auto next = ask.rest.back();
    ask.rest.pop_back();
    return next.ask(std::move(ask), long_enough).value() + 1;
  }

 private:
  const std::shared_ptr<Traces> traces_;
};

// The same, and it has waited before it sends.
class Awaiting : public Actor<Awaiting, Visit, Ask> {
 public:
  explicit Awaiting(std::shared_ptr<Traces> traces) : traces_(std::move(traces)) {}
  Lazy<> on(Visit visit) {
    traces_->add(current_trace());
    co_await yield();
    if (visit.rest.empty()) co_return;
    const auto next = visit.rest.back();
    visit.rest.pop_back();
    const auto sent = co_await next.async_send(std::move(visit));
    EXPECT_TRUE(sent);
  }
  Lazy<int> on(Ask ask) {
    const auto before = current_trace();
    traces_->add(before);
    co_await yield();
    EXPECT_EQ(current_trace(), before);
    if (ask.rest.empty()) co_return 0;
    const auto next = ask.rest.back();
    ask.rest.pop_back();
    const auto answer = co_await next.async_ask(std::move(ask), long_enough);
    EXPECT_EQ(current_trace(), before);
    co_return answer.value() + 1;
  }

 private:
  const std::shared_ptr<Traces> traces_;
};

struct Traced : ::testing::Test {
  const std::shared_ptr<Traces> traces = std::make_shared<Traces>();
  ActorSystem system{{.workers = 1, .tracing = true}};
  const TraceContext request{.trace_id = {17, 4}, .span_id = 99};

  template <typename A, typename M>
  M line_of(int length) {
    M message;
    for (int i = 1; i < length; ++i) message.rest.push_back(system.spawn<A>({}, traces));
    return message;
  }
  // All of one trace, each a step of its own.
  void expect_steps(std::size_t count) {
    eventually([&] { return traces->size() == count; });
    EXPECT_THAT(traces->all(), Each(Field(&TraceContext::trace_id, request.trace_id)));
    std::set<std::uint64_t> spans{request.span_id};
    for (const auto& each : traces->all()) spans.insert(each.span_id);
    EXPECT_THAT(spans, SizeIs(count + 1));
  }
};

TEST(Tracing, IsOffUnlessAskedFor) {
  const auto traces = std::make_shared<Traces>();
  ActorSystem system{{.workers = 1}};
  const auto plain = system.spawn<Plain>({}, traces);
  const TraceHere here({.trace_id = {17, 4}, .span_id = 99});
  EXPECT_EQ(plain.ask(Ask{}, long_enough), 0);
  EXPECT_FALSE(traces->all()[0].is_valid());
}

TEST_F(Traced, ATraceTravelsFromActorToActor) {
  {
    const TraceHere here(request);
    EXPECT_EQ(current_trace(), request);
    const auto line = line_of<Plain, Visit>(5);
    ASSERT_TRUE(system.spawn<Plain>({}, traces).send(line));
  }
  EXPECT_FALSE(current_trace().is_valid());
  expect_steps(5);
}

TEST_F(Traced, ATraceTravelsWithQuestions) {
  const TraceHere here(request);
  const auto line = line_of<Plain, Ask>(5);
  EXPECT_EQ(system.spawn<Plain>({}, traces).ask(line, long_enough), 4);
  expect_steps(5);
  EXPECT_EQ(current_trace(), request);
}

TEST_F(Traced, ATraceStaysWithACoroutineThatWaits) {
  const TraceHere here(request);
  const auto line = line_of<Awaiting, Visit>(5);
  ASSERT_TRUE(system.spawn<Awaiting>({}, traces).send(line));
  expect_steps(5);
}

TEST_F(Traced, ATraceStaysWithACoroutineThatAsks) {
  const TraceHere here(request);
  const auto line = line_of<Awaiting, Ask>(5);
  EXPECT_EQ(system.spawn<Awaiting>({}, traces).ask(line, long_enough), 4);
  expect_steps(5);
}

TEST_F(Traced, WhatNobodyHasAskedForBeginsATraceOfItsOwn) {
  const auto plain = system.spawn<Plain>({}, traces);
  ASSERT_TRUE(plain.send(Visit{}));
  ASSERT_TRUE(plain.send(Visit{}));
  eventually([&] { return traces->size() == 2; });
  const auto all = traces->all();
  EXPECT_TRUE(all[0].is_valid());
  EXPECT_TRUE(all[1].is_valid());
  EXPECT_NE(all[0].trace_id, all[1].trace_id);
}

TEST_F(Traced, ATraceHereEndsWithItsBlockAndMayBeInsideAnother) {
  const TraceHere outer(request);
  {
    const TraceContext other{.trace_id = {1, 2}, .span_id = 3};
    const TraceHere inner(other);
    EXPECT_EQ(current_trace(), other);
  }
  EXPECT_EQ(current_trace(), request);
}

// -- By every way into a mailbox ------------------------------------------------------------------

struct Pass {
  using Reply = int;
  ActorRef<Plain> to;
};
struct Flood {
  ActorRef<Plain> to;
};
class Sender : public Actor<Sender, Pass, Flood> {
 public:
  void on(const Pass& pass) { EXPECT_TRUE(forward(pass.to, Ask{})); }
  void on(const Flood& flood) {
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(flood.to.send(Visit{}));
  }
};

TEST_F(Traced, ATraceTravelsWithForwardedQuestions) {
  const TraceHere here(request);
  const auto sender = system.spawn<Sender>();
  EXPECT_EQ(sender.ask(Pass{system.spawn<Plain>({}, traces)}, long_enough), 0);
  expect_steps(1);
}

TEST_F(Traced, ATraceTravelsThroughTheOutbox) {
  const TraceHere here(request);
  const auto small = system.spawn<Plain>({.mailbox = {.capacity = 1}}, traces);
  ASSERT_TRUE(system.spawn<Sender>().send(Flood{small}));
  expect_steps(10);
}

TEST_F(Traced, ATraceTravelsWithWhoWaitsForRoom) {
  const TraceHere here(request);
  const auto small = system.spawn<Plain>({.mailbox = {.capacity = 1}}, traces);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(small.send(Visit{}));
  expect_steps(100);
}

// AddressSanitizer would tell what is left of these.
TEST_F(Traced, NothingIsLeftOfTheTracesOfMessagesThatAreNotHandled) {
  HeldDesk drops(system, {.mailbox = {.capacity = 1, .when_full = WhenFull::drop_oldest}});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(drops.ref.send(Note{i}));
  drops.let_go();
  HeldDesk rejects(system, {.mailbox = {.capacity = 1, .when_full = WhenFull::reject}});
  EXPECT_TRUE(rejects.ref.send(Note{1}));
  EXPECT_EQ(rejects.ref.send(Note{2}), std::unexpected(Refusal::full));
  EXPECT_EQ(rejects.ref.ask(Question{2}, long_enough).error(), AskError::Code::full);
  rejects.ref.stop();
  EXPECT_EQ(rejects.ref.send(Note{3}), std::unexpected(Refusal::closed));
  rejects.let_go();
  HeldDesk blocks(system, {.mailbox = {.capacity = 1}});
  EXPECT_TRUE(blocks.ref.send(Note{1}));
  EXPECT_EQ(blocks.ref.send(Note{2}, {.deadline = within(0s)}),
            std::unexpected(Refusal::timed_out));
  EXPECT_EQ(blocks.ref.ask(Question{2}, 0s).error(), AskError::Code::timed_out);
}

}  // namespace
}  // namespace handoff::tests
