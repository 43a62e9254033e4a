// A shutdown finds actors in every state: what its report says of them, and that all of them end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "handoff/actor.hpp"
#include "puppet.hpp"

namespace handoff {
namespace {

using namespace tests;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Pair;

struct ShutdownStates : ::testing::Test {
  Log log;
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<std::unique_ptr<Suspension>> suspensions;
  ActorSystem system{{.workers = 2}};
  ~ShutdownStates() override { let_go(); }

  PuppetRef spawn(std::string_view name, Script script = {}) {
    return system.spawn<Puppet>({.name = name, .dedicated_thread = true}, std::move(script));
  }
  void block(const PuppetRef& puppet) {
    blocks.push_back(std::make_unique<Block>());
    blocks.back()->hold(puppet);
  }
  void suspend(const PuppetRef& puppet) {
    suspensions.push_back(std::make_unique<Suspension>());
    suspensions.back()->hold(puppet);
  }
  void let_go() {
    for (const auto& each : blocks) each->let_go();
    for (const auto& each : suspensions) each->let_go();
  }
  void await_wait(std::string_view path, std::string_view what) {
    eventually([&] { return info_of(system, path).waits_for == what; });
  }
  static std::map<std::string, std::string> waits_in(const ActorShutdownReport& report) {
    std::map<std::string, std::string> waits;
    for (const auto& each : report.still_alive) waits[each.path] = each.waits_for;
    return waits;
  }
};

TEST_F(ShutdownStates, TheReportSaysWhatEachWaitsFor) {
  auto blocked = spawn("blocked");
  block(blocked);

  auto asks = spawn("asks");
  ASSERT_TRUE(asks.send(Do{[=](Puppet&) { (void)blocked.ask(Notes{}, 1h); }}));
  await_wait("asks", "ask blocked");

  auto awaits = spawn("awaits");
  ASSERT_TRUE(awaits.send(DoAwaiting{[=](Puppet&) -> Lazy<> {
    auto question = Notes{};
    (void)co_await blocked.async_ask(std::move(question), 1h);
  }}));
  await_wait("awaits", "ask blocked");

  auto suspended = spawn("suspended");
  suspend(suspended);

  // It is not told to stop before its parent does.
  PuppetRef narrow;
  block(spawn("host", {.construct = [&](Puppet& self) {
                narrow = self.spawn<Puppet>({.mailbox = {.capacity = 1}, .name = "narrow"});
              }}));
  block(narrow);
  auto sends = spawn("sends");
  ASSERT_TRUE(sends.send(Do{[=](Puppet&) {
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(narrow.send(Note{i}));
  }}));
  await_wait("sends", "room at host/narrow");

  auto parent = spawn("parent", {.construct = [&](Puppet& self) {
                        (void)self.spawn<Puppet>({.name = "child", .dedicated_thread = true});
                      }});
  block(*system.find<Puppet>("parent/child"));
  parent.stop();
  await_wait("parent", "1 child");

  Event in_start;
  Event open_start;
  auto starts = spawn("starts", {.start = [&](Puppet&) {
                        in_start.set();
                        (void)open_start.wait();
                      }});
  ASSERT_TRUE(in_start.wait());

  Event in_stop;
  Event open_stop;
  auto stops = spawn("stops", {.stop = [&](Puppet&) {
                       in_stop.set();
                       (void)open_stop.wait();
                     }});
  EXPECT_THAT(notes_of(stops), IsEmpty());
  stops.stop();
  ASSERT_TRUE(in_stop.wait());

  const auto report = system.shutdown(finish_within(Duration::zero()));
  EXPECT_THAT(
      waits_in(report),
      IsSupersetOf({Pair("blocked", "its handler"), Pair("asks", "ask blocked"),
                    Pair("awaits", "ask blocked"), Pair("suspended", "1 coroutine"),
                    Pair("host/narrow", "its handler"), Pair("sends", "room at host/narrow"),
                    Pair("parent", "1 child"), Pair("parent/child", "its handler"),
                    Pair("starts", "its on_start()"), Pair("stops", "its on_stop()")}));
  open_start.set();
  open_stop.set();
  let_go();
  EXPECT_THAT(system.shutdown(interrupt(1min)).still_alive, IsEmpty());
}

TEST_F(ShutdownStates, TheReportNamesOneThatHasFailed) {
  auto parent = system.spawn<Puppet>(
      {.name = "parent", .children = supervise({.directive = Directive::escalate})},
      Script{.construct = [](Puppet& self) { (void)self.spawn<Puppet>({.name = "child"}); }});
  block(parent);
  ASSERT_TRUE(system.find<Puppet>("parent/child")->send(Fail{"boom"}));
  await_wait("parent/child", "its parent's decision");
  const auto report = system.shutdown(finish_within(Duration::zero()));
  EXPECT_THAT(waits_in(report), IsSupersetOf({Pair("parent/child", "its parent's decision")}));
  let_go();
  EXPECT_THAT(system.shutdown(interrupt(1min)).still_alive, IsEmpty());
}

TEST_F(ShutdownStates, TheReportNamesOneThatWaitsToBeRestarted) {
  ActorSystem patient{{.workers = 1, .supervision = {.backoff = 1h, .most_backoff = 1h}}};
  auto puppet = patient.spawn<Puppet>({.name = "one"});
  ASSERT_TRUE(puppet.send(Fail{"boom"}));
  send_notes(puppet, 1, 2);
  eventually([&] { return info_of(patient, "one").waits_for == "its backoff"; });
  const auto report = patient.shutdown(finish_within(1ns).then_interrupt(1min));
  EXPECT_THAT(report.still_alive, IsEmpty());
  EXPECT_EQ(report.handed_back.size(), 2u);
}

TEST_F(ShutdownStates, AllEndWhateverTheyAreAt) {
  const auto ended = std::make_shared<std::atomic<int>>(0);
  const Script counted{.start = [](Puppet&) {}, .stop = [ended](Puppet&) { ++*ended; }};
  const ActorOptions own{.dedicated_thread = true};
  std::vector<PuppetRef> all;
  const auto add = [&](const ActorOptions& options) {
    all.push_back(system.spawn<Puppet>(options, counted));
    EXPECT_THAT(notes_of(all.back()), IsEmpty());
    return all.back();
  };
  for (int i = 0; i < 5; ++i) {
    (void)add({});         // Idle.
    (void)add(own);        // The same, on a thread of its own.
    block(add(own));       // In a handler.
    suspend(add({}));      // In a coroutine.
    auto timed = add({});  // With timers.
    ASSERT_TRUE(timed.send(Do{[](Puppet& self) {
      self.every(1h, Note{1});
      self.every(1ms, Note{1});
    }}));
    auto watching = add({});  // Watching another that ends, too.
    ASSERT_TRUE(watching.send(Do{[timed](Puppet& self) { self.watch(timed); }}));
    auto stopping = add(own);  // About to stop.
    block(stopping);
    stopping.stop();
    auto draining = add(own);
    block(draining);
    send_notes(draining, 1, 3);
    draining.stop_when_drained();
    auto failing = add({});  // Restarting again and again.
    for (int k = 0; k < 5; ++k) ASSERT_TRUE(failing.send(Fail{"boom"}));
    auto asking = add(own);  // Asking one that does not answer.
    ASSERT_TRUE(asking.send(Do{[draining](Puppet&) { (void)draining.ask(Notes{}, 1h); }}));
  }
  auto elsewhere = std::async(std::launch::async, [&] { return system.shutdown(interrupt(1min)); });
  eventually([&] { return all[0].is_stopped(); });
  let_go();
  const auto report = elsewhere.get();
  EXPECT_THAT(report.still_alive, IsEmpty());
  for (const auto& each : all) EXPECT_TRUE(each.is_stopped());
  EXPECT_GE(*ended, static_cast<int>(all.size()));  // And once more for each restart.
}

}  // namespace
}  // namespace handoff
