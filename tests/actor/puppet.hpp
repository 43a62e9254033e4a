// What the tests of the life of actors share: an actor that does what it is told, and a journal of what was done.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handoff/actor.hpp"
#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "handoff/log.hpp"
#include "handoff/testing/eventually.hpp"

namespace handoff::tests {

using namespace std::chrono_literals;
using handoff::testing::eventually;
using Lines = std::vector<std::string>;

// Lines in the order in which they were written, by any thread.
class Journal {
 public:
  void add(std::string line) {
    const std::lock_guard guard(mutex_);
    lines_.push_back(std::move(line));
  }
  Lines lines() const {
    const std::lock_guard guard(mutex_);
    return lines_;
  }
  std::size_t size() const { return lines().size(); }
  std::size_t count(std::string_view line) const {
    const auto all = lines();
    return static_cast<std::size_t>(std::ranges::count(all, line));
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

// Keeps what is logged while it lives: make it before the system.
class Log : public Journal {
 public:
  Log() : before_(set_log([this](std::string_view line) { add(std::string(line)); })) {}
  ~Log() { set_log(before_); }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

 private:
  LogSink before_;
};

class Puppet;

// -- What a puppet takes ----------------------------------------------------------------------------

struct Do {
  std::function<void(Puppet&)> what;
};
struct DoAwaiting {
  std::function<Lazy<>(Puppet&)> what;
};
struct Note {
  int number;
};
// The notes it has handled, since it was made.
struct Notes {
  using Reply = std::vector<int>;
};
struct Fail {
  std::string text;
};
struct FailAwaiting {
  std::string text;
};

// What a puppet does at the turns of its life. It belongs to the arguments: every incarnation has a copy.
struct Script {
  std::function<void(Puppet&)> construct = {};
  std::function<void(Puppet&)> start = {};
  std::function<void(Puppet&)> stop = {};
  std::function<void(Puppet&, const Terminated&)> terminated = {};
  std::shared_ptr<int> held = {};  // To see when nothing is left of it.
};

class Puppet : public Actor<Puppet, Do, DoAwaiting, Note, Notes, Fail, FailAwaiting> {
 public:
  explicit Puppet(const Script& script = {}) : script_(script) {
    if (script_.construct) script_.construct(*this);
  }

  void on(const Do& order) { order.what(*this); }
  // By reference: the closure must live as long as its coroutine.
  Lazy<> on(const DoAwaiting& order) { return order.what(*this); }
  void on(Note note) { notes_.push_back(note.number); }
  std::vector<int> on(Notes) const { return notes_; }
  void on(const Fail& fail) { throw std::runtime_error(fail.text); }
  Lazy<> on(FailAwaiting fail) {
    const bool now = true;
    if (now) throw std::runtime_error(fail.text);
    co_return;
  }
  void on(const Terminated& end) {
    if (script_.terminated) script_.terminated(*this, end);
  }

  void on_start() {
    if (script_.start) script_.start(*this);
  }
  void on_stop() {
    if (script_.stop) script_.stop(*this);
  }

  using Actor::after;
  using Actor::every;
  using Actor::find;
  using Actor::path;
  using Actor::self;
  using Actor::spawn;
  using Actor::stop;
  using Actor::stop_when_drained;
  using Actor::unwatch;
  using Actor::watch;

 private:
  const Script script_;
  std::vector<int> notes_;
};

using PuppetRef = ActorRef<Puppet>;

// -- Ways to hold one up ----------------------------------------------------------------------------

// A handler that blocks its thread, until it is let go.
class Block {
 public:
  Do order() const {
    return Do{[gate = gate_](Puppet&) {
      gate->entered.set();
      static_cast<void>(gate->open.wait());
    }};
  }
  void hold(const PuppetRef& puppet) const {
    ASSERT_TRUE(puppet.send(order()));
    ASSERT_TRUE(gate_->entered.wait());
  }
  void let_go() const { gate_->open.set(); }

 private:
  // Shared: the test may be over before the handler has left it.
  struct Gate {
    Event entered;
    Event open;
  };
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
};

// The same with a coroutine, which leaves its thread to others.
class Suspension {
 public:
  void hold(const PuppetRef& puppet) const {
    ASSERT_TRUE(puppet.send(DoAwaiting{[gate = gate_](Puppet&) -> Lazy<> {
      gate->entered.set();
      const auto waited = co_await gate->open.async_wait();
      if (!waited) gate->was_stopped.set();
    }}));
    ASSERT_TRUE(gate_->entered.wait());
  }
  void let_go() const { gate_->open.set(); }
  bool was_stopped() const { return gate_->was_stopped.is_set(); }

 private:
  struct Gate {
    Event entered;
    Event open;
    Event was_stopped;
  };
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
};

// -- Looking at them --------------------------------------------------------------------------------

// Once all that was sent before has been handled.
inline std::vector<int> notes_of(const PuppetRef& puppet) {
  auto notes = puppet.ask(Notes{}, 1min);
  if (!notes) ADD_FAILURE() << "no answer: " << to_string(notes.error());
  return notes ? *notes : std::vector<int>{};
}

inline void await_stop(const PuppetRef& puppet) {
  eventually([&] { return puppet.is_stopped(); }, 60s);
}

inline ActorInfo info_of(const ActorSystem& system, std::string_view path) {
  for (auto& each : system.inspect()) {
    if (each.path == path) return each;
  }
  ADD_FAILURE() << "nobody is called " << path;
  return {};
}

// What f threw, or "nothing".
template <typename Error = std::exception, typename F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

inline std::string text_of(const std::exception_ptr& error) {
  return error_of([&] { std::rethrow_exception(error); });
}

inline std::vector<int> numbers(int first, int last) {
  std::vector<int> all;
  for (int i = first; i <= last; ++i) all.push_back(i);
  return all;
}

inline void send_notes(const PuppetRef& puppet, int first, int last) {
  for (int i = first; i <= last; ++i) ASSERT_TRUE(puppet.send(Note{i}));
}

}  // namespace handoff::tests
