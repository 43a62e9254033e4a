// What the tests of supervision share: a system that writes down every failure, and ways to fail.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "handoff/actor.hpp"
#include "puppet.hpp"

namespace handoff::tests {

// "parent/child restart: boom at Fail"
inline std::string line_of(const Failure& failure, Directive directive) {
  std::string line =
      failure.actor + " " + std::string(to_string(directive)) + ": " + text_of(failure.error);
  if (failure.message) line += " at " + std::string(failure.message.type());
  return line;
}

class Supervised : public ::testing::Test {
 protected:
  explicit Supervised(Supervision of_roots = {})
      : system({.workers = 2, .supervision = std::move(of_roots)},
               {.on_failure = [this](const Failure& failure, Directive directive) {
                 failures.add(line_of(failure, directive));
               }}) {}

  // "parent", by whose policy "parent/child" lives, in each of its incarnations.
  PuppetRef spawn_family(Supervision policy, Script of_child = {}) {
    child_script = std::move(of_child);
    const auto construct = [this](Puppet& self) {
      auto made_now = self.spawn<Puppet>({.name = "child"}, child_script);
      if (!child) child = made_now;  // The first: it may have ended before it could be found.
    };
    parent = system.spawn<Puppet>({.name = "parent", .children = supervise(std::move(policy))},
                                  Script{.construct = construct});
    return child;
  }
  PuppetRef spawn_family(Directive directive, Script of_child = {}) {
    return spawn_family(Supervision{.directive = directive}, std::move(of_child));
  }
  void await_failures(std::size_t count) {
    eventually([&] { return failures.size() >= count; });
  }
  ActorInfo child_info() { return info_of(system, "parent/child"); }
  void await_state(std::string_view path, std::string_view state) {
    eventually([&] { return info_of(system, path).state == state; });
  }

  // What scripts write to: it must outlive the system.
  Log log;
  Journal failures;
  Journal life;
  std::atomic<int> starts = 0;
  std::atomic<int> made = 0;
  Script child_script;
  PuppetRef parent;
  PuppetRef child;
  ActorSystem system;
};

// Ways in which one can fail while it is there.
enum class Way { handler, coroutine, suspended_coroutine, timer, end_of_another };

inline constexpr Way every_way[] = {Way::handler, Way::coroutine, Way::suspended_coroutine,
                                    Way::timer, Way::end_of_another};

inline std::string name_of(Way way) {
  constexpr const char* names[] = {"handler", "coroutine", "suspended_coroutine", "timer",
                                   "end_of_another"};
  return names[static_cast<std::size_t>(way)];
}

// For those who shall fail when another ends.
inline void fail_at_end(Puppet&, const Terminated&) { throw std::runtime_error("boom"); }

inline void make_fail(const PuppetRef& whom, Way way) {
  switch (way) {
    case Way::handler: ASSERT_TRUE(whom.send(Fail{"boom"})); return;
    case Way::coroutine: ASSERT_TRUE(whom.send(FailAwaiting{"boom"})); return;
    case Way::suspended_coroutine: {
      const auto open = std::make_shared<Event>();
      ASSERT_TRUE(whom.send(DoAwaiting{[open](Puppet&) -> Lazy<> {
        const auto waited = co_await open->async_wait();
        if (waited) throw std::runtime_error("boom");
      }}));
      open->set();
      return;
    }
    case Way::timer:
      ASSERT_TRUE(whom.send(Do{[](Puppet& self) { self.after(0ms, Fail{"boom"}); }}));
      return;
    case Way::end_of_another:
      ASSERT_TRUE(whom.send(Do{[](Puppet& self) {
        auto other = self.spawn<Puppet>();
        self.watch(other);
        other.stop();
      }}));
      return;
  }
}

// What on_failure says of it.
inline std::string message_of(Way way) {
  switch (way) {
    case Way::handler:
    case Way::timer: return " at Fail";
    case Way::coroutine: return " at FailAwaiting";
    case Way::suspended_coroutine: return " at DoAwaiting";
    case Way::end_of_another: return "";
  }
  return "";
}

}  // namespace handoff::tests
