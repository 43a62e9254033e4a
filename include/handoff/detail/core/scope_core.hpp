// What a Scope is behind its templates: who lives in it, what went wrong, who waits for its end.
//
// Invariants, under the lock of joiners_:
// - A child is on the list from before it can run until it has ended; the last to leave lets the joiners through, while it
//   holds the lock. A joiner takes the lock before it goes: so the last child is done with the scope by then.
// - error_ is the first error; it requests the stop of the siblings, once the lock is given back.
//
// Coroutines leave without the lock while nobody joins, or many of them on other cores would fight over it with the one that spawns them:
// they push themselves on a stack, and are taken off the list by the next one who leaves or joins with the lock. With that push a child is done
// with the scope. Who joins marks the stack first; those that leave from then on take the lock.
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
#include "handoff/detail/core/stop_callback.hpp"
#include "handoff/detail/core/timer_wheel.hpp"
#include "handoff/detail/core/unparks.hpp"
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
  // Once it has left without the lock: destroys it.
  virtual void destroy() noexcept {}

  const char* const kind_;  // "thread", "job", "coroutine".
  const std::source_location where_;
  ScopeChild* next_ = nullptr;
  ScopeChild* previous_ = nullptr;
  ScopeChild* next_left_ = nullptr;  // On the stack of those that have left.
};

class ScopeCore final : public Primitive {
 public:
  // Stops when `parent` does, and at the deadline.
  ScopeCore(std::string_view name, Deadline deadline, bool stops_on_error, std::stop_token parent);
  ~ScopeCore();

  const std::stop_token& stop_token() const { return limits_.stop; }
  // The same as a Wait, for the children.
  const Wait& limits() const { return limits_; }
  void request_stop() { stop_source_.request_stop(); }

  void enter(ScopeChild& child);
  // An error of the scope: if it is the first, it stops the others. By one that keeps the scope alive.
  void note_error(std::exception_ptr error) noexcept;
  // Its error, if it has one; `stop` others then. Nothing of the child is touched afterwards.
  void leave(ScopeChild& child, std::exception_ptr error) noexcept;
  // One that was entered but will not run after all.
  void leave(ScopeChild& child) noexcept { leave(child, nullptr); }
  // The same for one that is destroyed by the scope, now or later. Without the lock, if nobody joins.
  void leave_and_destroy(ScopeChild& child, std::exception_ptr error) noexcept;

  // The thread of a child, to be joined once it has ended by who joins the scope or spawns the next one.
  void make_room_for_thread();
  void thread_did_not_come() noexcept;
  void keep_thread(Thread&& thread, std::shared_ptr<atomic<bool>> has_ended) noexcept;
  void join_ended_threads();
  // Stops when this token does, too: that of a pool on which children run.
  void stop_with(const std::stop_token& other);

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
    StopCallback<OnParentStop> on_stop;
  };
  struct OwnThread {
    Thread thread;
    std::shared_ptr<atomic<bool>> has_ended;
  };

  // The stack of those that have left: the last of them, and whether somebody joins.
  using Left = std::uintptr_t;
  static constexpr Left joining = 1;
  static constexpr std::uint32_t most_left = 16;
  static ScopeChild* last_of(Left left) { return reinterpret_cast<ScopeChild*>(left & ~joining); }

  void stop_because(Refusal why) noexcept;
  void log_unasked_errors() noexcept;
  void unlink_locked(ScopeChild& child);
  void let_joiners_through_locked(Unparks& unparks);
  // Takes those that have left off the list, for destroy_all() once the lock is given back.
  [[nodiscard]] ScopeChild* take_left_locked();
  static void destroy_all(ScopeChild* left) noexcept;
  std::vector<const ScopeChild*> left_locked() const;
  std::size_t living_locked() const;

  const bool stops_on_error_;
  const bool is_timed_;
  const std::stop_token parent_;  // What it follows.
  const std::string outer_path_;  // Of the one that its maker lives in, which may end before it.
  std::stop_source stop_source_;
  const Wait limits_{.deadline = {}, .stop = stop_source_.get_token()};
  // Written by those that leave. What those that spawn write is further on, in another cache line.
  atomic<Left> left_{0};
  atomic<std::uint32_t> left_count_{0};  // About how many; a hint.
  [[maybe_unused]] std::byte apart_[cache_line];
  WaitList joiners_;
  // Guarded by the lock of joiners_.
  ScopeChild* first_ = nullptr;
  std::size_t listed_ = 0;  // Those that live, and those that have left since somebody looked.
  std::uint64_t entered_ = 0;
  std::vector<std::exception_ptr> errors_;  // The first, or all if they do not stop the others.
  std::uint64_t more_errors_ = 0;           // That came after the first.
  std::vector<OwnThread> threads_;
  std::size_t threads_to_come_ = 0;  // For which room is kept.
  std::vector<std::unique_ptr<OtherStop>> other_stops_;
  atomic<const OtherStop*> last_other_stop_{nullptr};  // Written under the lock.
  std::optional<Refusal> why_;
  bool had_children_then_ = false;  // When it was stopped.
  std::uint64_t entered_before_it_ = 0;
  // Last: they refer to what is above.
  Timeout timeout_;
  std::optional<StopCallback<OnParentStop>> on_parent_stop_;
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
