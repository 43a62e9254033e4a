// What a Scope is behind its templates: who lives in it, what went wrong, who waits for its end.
//
// Invariants, under the lock of joiners_:
// - A child is on the list from before it can run until it has ended; the last to leave lets the joiners through, while it
//   holds the lock. A joiner takes the lock before it goes: so the last child is done with the scope by then.
// - error_ is the first error; it requests the stop of the siblings, once the lock is given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <expected>
#include <memory>
#include <optional>
#include <source_location>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/detail/core/ambient.hpp"
#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/core/steps.hpp"
#include "handoff/detail/core/timer_wheel.hpp"
#include "handoff/detail/core/wait_list.hpp"
#include "handoff/refusal.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// One that lives in a scope. Made before it runs; ended() is the last it does with the scope.
class ScopeChild {
 public:
  ScopeChild(const char* kind, std::source_location where) : kind_(kind), where_(where) {}
  ScopeChild(const ScopeChild&) = delete;
  ScopeChild& operator=(const ScopeChild&) = delete;

 protected:
  ~ScopeChild() = default;

 private:
  friend class ScopeCore;
  const char* const kind_;  // "thread", "job", "coroutine".
  const std::source_location where_;
  ScopeChild* next_ = nullptr;
  ScopeChild* previous_ = nullptr;
};

class ScopeCore final : public Primitive {
 public:
  // Stops when `parent` does, and at the deadline.
  ScopeCore(std::string_view name, Deadline deadline, bool stops_on_error, std::stop_token parent);
  ~ScopeCore();

  const std::stop_token& stop_token() const { return stop_token_; }
  void request_stop() { stop_source_.request_stop(); }

  void enter(ScopeChild& child);
  // An error of the scope: if it is the first, it stops the others. By one that keeps the scope alive.
  void note_error(std::exception_ptr error) noexcept;
  // Its error, if it has one; `stop` others then. Nothing of the child is touched afterwards.
  void leave(ScopeChild& child, std::exception_ptr error) noexcept;
  // One that was entered but will not run after all.
  void leave(ScopeChild& child) noexcept { leave(child, nullptr); }

  // The thread of a child, to be joined once it has ended by who joins the scope or spawns the next one.
  void make_room_for_thread();
  void thread_did_not_come() noexcept;
  void keep_thread(Thread&& thread, std::shared_ptr<atomic<bool>> has_ended) noexcept;
  void join_ended_threads();
  // Stops when this token does, too: that of a pool on which children run.
  void stop_with(std::stop_token other);

  std::size_t living() const;
  // "server / requests": its name, after those of the scopes around it.
  std::string path() const;
  // For people: "2 live: job of fetch.cpp:31, coroutine of fetch.cpp:40".
  std::string who_lives() const;

  // After a join: the first error, which is then taken; why it was stopped, if it was.
  std::exception_ptr take_error();
  std::vector<std::exception_ptr> take_errors();
  std::optional<Refusal> why_it_stopped() const;

  Stats stats() const override;
  void report_waits(std::vector<WaitInfo>& waits) const override;

 private:
  friend class ScopeJoin;
  struct OnParentStop {
    ScopeCore* scope;
    void operator()() const noexcept { scope->stop_because(Refusal::stopped); }
  };
  struct Timeout : TimerEntry {
    explicit Timeout(ScopeCore& owner);
    ScopeCore& scope;
  };

  struct OtherStop {
    OtherStop(std::stop_token other, ScopeCore& scope)
        : token(std::move(other)), on_stop(token, OnParentStop{&scope}) {}
    std::stop_token token;
    std::stop_callback<OnParentStop> on_stop;
  };
  struct OwnThread {
    Thread thread;
    std::shared_ptr<atomic<bool>> has_ended;
  };

  void stop_because(Refusal why) noexcept;
  void log_unasked_errors() noexcept;

  const bool stops_on_error_;
  const bool is_timed_;
  const std::stop_token parent_;  // What it follows.
  const std::string outer_path_;  // Of the one that its maker lives in, which may end before it.
  std::stop_source stop_source_;
  const std::stop_token stop_token_ = stop_source_.get_token();
  WaitList joiners_;
  // Guarded by the lock of joiners_.
  ScopeChild* first_ = nullptr;
  std::size_t living_ = 0;
  std::uint64_t entered_ = 0;
  std::vector<std::exception_ptr> errors_;  // The first, or all if they do not stop the others.
  std::uint64_t more_errors_ = 0;           // That came after the first.
  std::vector<OwnThread> threads_;
  std::size_t threads_to_come_ = 0;  // For which room is kept.
  std::vector<std::unique_ptr<OtherStop>> other_stops_;
  std::optional<Refusal> why_;
  std::optional<Refusal> why_at_end_;  // As it was when the last child left.
  // Last: they refer to what is above.
  Timeout timeout_;
  std::optional<std::stop_callback<OnParentStop>> on_parent_stop_;
};

// Waiting for all that live in a scope, in steps.
class ScopeJoin final : public Steps {
 public:
  // A coroutine that is asked to stop still waits for those it has spawned: they are asked too.
  static constexpr bool ignores_stop = true;

  explicit ScopeJoin(ScopeCore& scope) : scope_(scope) {}

  bool ready(const std::stop_token& stop);
  bool begin(Waiter& waiter) override;
  bool go_on(Waiter& waiter, WaitState outcome) override;
  // Throws the first error of a child. Refused: `timed_out` or `stopped`, the wait or the scope itself.
  std::expected<void, Refusal> result();

 private:
  ScopeCore& scope_;
  std::optional<Link> link_;
  std::optional<Refusal> refusal_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
