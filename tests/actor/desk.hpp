// What the tests of messaging share: an actor that notes what it handles, and can be held up.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "handoff/actor.hpp"
#include "handoff/event.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/waits.hpp"

namespace handoff::tests {

using namespace std::chrono_literals;
using handoff::testing::eventually;

// A limit that only a test which hangs anyway comes to.
inline constexpr auto long_enough = 1min;

// What has happened, in order; for any number of threads.
template <typename T>
class Seen {
 public:
  void add(T what) {
    const std::scoped_lock held(lock_);
    all_.push_back(std::move(what));
  }
  std::vector<T> all() const {
    const std::scoped_lock held(lock_);
    return all_;
  }
  std::size_t size() const { return all().size(); }

 private:
  mutable std::mutex lock_;
  std::vector<T> all_;
};

// Holds up who passes it, until it is opened.
class Gate {
 public:
  void pass() {
    reached_.set();
    EXPECT_TRUE(open_.wait({.deadline = within(long_enough)}));
  }
  Lazy<> async_pass() {
    reached_.set();
    const auto opened = co_await open_.async_wait(within(long_enough));
    EXPECT_TRUE(opened);
  }
  void await_somebody() { ASSERT_TRUE(reached_.wait({.deadline = within(long_enough)})); }
  bool is_reached() const { return reached_.is_set(); }
  void open() { open_.set(); }

 private:
  Event reached_;
  Event open_;
};

struct Hold {
  std::shared_ptr<Gate> gate;
};
struct Note {
  int number;
};
struct Question {
  using Reply = int;
  int number;
};

class Desk : public Actor<Desk, Hold, Note, Question> {
 public:
  explicit Desk(std::shared_ptr<Seen<int>> seen) : seen_(std::move(seen)) {}
  void on(Hold hold) { hold.gate->pass(); }
  void on(Note note) { seen_->add(note.number); }
  int on(Question question) {
    seen_->add(question.number);
    return question.number;
  }

 private:
  const std::shared_ptr<Seen<int>> seen_;
};

// A Desk, and how to hold it up: from then on exactly as many messages fit as its mailbox has room for.
class HeldDesk {
 public:
  explicit HeldDesk(ActorSystem& system, const ActorOptions& options = {})
      : ref(system.spawn<Desk>(options, seen)), system_(system) {
    hold();
  }
  ~HeldDesk() { gate->open(); }
  HeldDesk(const HeldDesk&) = delete;
  HeldDesk& operator=(const HeldDesk&) = delete;

  void hold() {
    gate->open();
    gate = std::make_shared<Gate>();
    EXPECT_TRUE(ref.send(Hold{gate}));
    gate->await_somebody();
  }
  void let_go() { gate->open(); }
  // How many wait in its mailbox.
  std::size_t mailbox() const {
    for (const ActorInfo& each : system_.inspect()) {
      if (each.path == ref.path()) return each.mailbox;
    }
    return 0;
  }
  // Lets it handle all it has.
  std::vector<int> handled() {
    let_go();
    eventually([&] { return mailbox() == 0; });
    constexpr int last = -1;
    EXPECT_EQ(ref.ask(Question{last}, long_enough), last);
    auto all = seen->all();
    std::erase(all, last);
    return all;
  }

  const std::shared_ptr<Seen<int>> seen = std::make_shared<Seen<int>>();
  std::shared_ptr<Gate> gate = std::make_shared<Gate>();
  const ActorRef<Desk> ref;

 private:
  ActorSystem& system_;
};

// How many wait for room in its mailbox: threads, coroutines and outboxes.
template <typename Ref>
std::size_t senders_waiting(const Ref& ref) {
  const auto all = waits();
  return static_cast<std::size_t>(std::ranges::count_if(all, [&](const WaitInfo& each) {
    return each.kind == "Actor" && each.operation == "send" && each.name == ref.path();
  }));
}

// Until it has stopped and all that follows from it has happened.
template <typename A>
Terminated await_end(ActorSystem& system, const ActorRef<A>& ref) {
  auto end = system.watch(ref).get({.deadline = within(long_enough)});
  EXPECT_TRUE(end);
  return end.value_or(Terminated{});
}

}  // namespace handoff::tests
