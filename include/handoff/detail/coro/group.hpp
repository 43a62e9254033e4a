// Coroutines that run at the same time for one that waits for them all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <expected>
#include <memory>
#include <optional>
#include <source_location>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/awaitable.hpp"
#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/core/stop_callback.hpp"
#include "handoff/detail/core/timer_wheel.hpp"
#include "handoff/lazy.hpp"
#include "handoff/refusal.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

template <typename T>
using Kept = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

// When the others are asked to stop.
enum class GroupRule : std::uint8_t {
  all,            // At the first error.
  collect,        // Never.
  first_end,      // When the first has ended.
  first_success,  // When the first has ended without an error.
};

class GroupMember;

class Group final : private Runnable {
 public:
  explicit Group(GroupRule rule, std::source_location where = std::source_location::current());
  ~Group();

  // Before run().
  void stop_at(Deadline deadline) { deadline_ = deadline; }
  void outlast_stop_by(Duration time) { outlast_ = time; }

  // co_await runs them and waits until the last has ended.
  template <typename Children>
  auto run(Children& children) {
    return Run<Children>(*this, children);
  }

  // Once they have run.
  void rethrow_first_error() const {
    if (first_error_) std::rethrow_exception(first_error_);
  }
  void rethrow_last_error() const {
    if (last_error_) std::rethrow_exception(last_error_);
  }
  bool has_winner() const { return winner_ != nobody; }
  std::size_t winner() const { return winner_; }
  bool has_timed_out() const { return has_timed_out_; }

  // For the members.
  const Wait& limits() const { return limits_; }
  PromiseBase& awaiter() const { return *awaiter_; }
  const std::source_location& where() const { return where_; }
  void member_ended(std::size_t index, const std::exception_ptr& error) noexcept;

 private:
  static constexpr std::size_t nobody = SIZE_MAX;

  template <typename Children>
  class Run {
   public:
    Run(Group& group, Children& children) : group_(group), children_(children) {}
    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    bool await_suspend(std::coroutine_handle<Promise> awaiter,
                       std::source_location where = std::source_location::current()) {
      group_.awaiter_ = &promise_of(awaiter, where);
      group_.begin(size());
      std::size_t index = 0;
      if constexpr (requires { children_.begin(); }) {
        for (auto& child : children_) child.start(index++);
      } else {
        std::apply([&](auto&... child) { (child.start(index++), ...); }, children_);
      }
      return !group_.one_less();  // Ours, which has kept the group from being over too early.
    }
    void await_resume() const noexcept { group_.finish(); }

   private:
    std::size_t size() const {
      if constexpr (requires { children_.size(); }) {
        return children_.size();
      } else {
        return std::tuple_size_v<Children>;
      }
    }
    Group& group_;
    Children& children_;
  };

  struct OnStop {
    Group* group;
    void operator()() const noexcept { group->awaiter_was_stopped(); }
  };
  struct Timeout : TimerEntry {
    explicit Timeout(Group& owner);
    Group& group;
  };

  void begin(std::size_t members);
  void arm(TimePoint due);
  bool one_less() { return left_.fetch_sub(1, acq_rel) == 1; }  // True: it was the last.
  void finish() noexcept;
  void awaiter_was_stopped() noexcept;
  void time_is_up() noexcept;
  static void resume_awaiter(Runnable& runnable);

  const GroupRule rule_;
  const std::source_location where_;
  PromiseBase* awaiter_ = nullptr;
  atomic<std::size_t> left_{0};
  std::stop_source stop_source_;
  const Wait limits_{.deadline = {}, .stop = stop_source_.get_token()};
  Deadline deadline_;
  std::optional<Duration> outlast_;

  SmallLock lock_;
  // Guarded by lock_; read without it once all have ended.
  std::size_t living_ = 0;
  bool has_timed_out_ = false;
  std::exception_ptr first_error_;
  std::exception_ptr last_error_;
  std::size_t winner_ = nobody;

  Timeout timeout_;
  bool is_timed_ = false;  // Written before the members run, or by the stop callback.
  std::optional<StopCallback<OnStop>> on_stop_;
};

// One of them: a task of its own, which lives in the frame of the one that waits.
class GroupMember : public Runnable {
 public:
  GroupMember(Group& group, Runnable::Run start) : Runnable(start), group_(group) {}

 protected:
  ~GroupMember() = default;

  class MemberTask final : public Task {
   public:
    MemberTask(GroupMember& member, Group& group)
        : Task(group.awaiter().task().executor(), group.limits(), group.where(),
               group.awaiter().task().scope(), &group.awaiter()),
          member_(member) {}

   private:
    void done() noexcept override { member_.ended(); }
    GroupMember& member_;
  };

  virtual void ended() noexcept = 0;
  void start_soon(std::size_t index) {
    index_ = index;
    task_.emplace(*this, group_);
    group_.awaiter().task().executor().run_soon(*this);
  }

  Group& group_;
  std::size_t index_ = 0;
  std::optional<MemberTask> task_;
};

template <typename T>
struct GroupChildArguments {
  Group& group;
  Lazy<T> lazy;
};

template <typename T>
class GroupChild final : public GroupMember {
 public:
  GroupChild(GroupChildArguments<T>&& arguments)  // NOLINT: implicit, to make a tuple of them
      : GroupMember(arguments.group,
                    [](Runnable& runnable) {
                      auto& self = static_cast<GroupChild&>(runnable);
                      self.task_->start(LazyAccess::promise(self.lazy_));
                    }),
        lazy_(std::move(arguments.lazy)) {
    static_cast<void>(LazyAccess::promise(lazy_));  // Throws now if it was moved from.
  }

  void start(std::size_t index) { start_soon(index); }
  const std::exception_ptr& error() { return LazyAccess::promise(lazy_).error(); }
  Kept<T> take() {
    if constexpr (std::is_void_v<T>) {
      LazyAccess::promise(lazy_).take();
      return {};
    } else {
      return LazyAccess::promise(lazy_).take();
    }
  }

 private:
  void ended() noexcept override { group_.member_ended(index_, error()); }

  Lazy<T> lazy_;
};

// Any number of them.
template <typename T>
class GroupChildren {
 public:
  GroupChildren(Group& group, std::vector<Lazy<T>>&& lazies) {
    for (auto& each : lazies) {
      children_.emplace_back(GroupChildArguments<T>{group, std::move(each)});
    }
  }
  std::size_t size() const { return children_.size(); }
  auto begin() { return children_.begin(); }
  auto end() { return children_.end(); }
  GroupChild<T>& operator[](std::size_t index) { return children_[index]; }

 private:
  std::deque<GroupChild<T>> children_;  // They cannot be moved.
};

// The winner's result as a variant; throws what it threw.
template <typename Variant, typename Children, std::size_t... I>
Variant take_winner_of(Children& children, std::size_t winner, std::index_sequence<I...>) {
  std::optional<Variant> result;
  const auto take = [&]<std::size_t index>(std::integral_constant<std::size_t, index>) {
    if (index == winner) {
      result.emplace(std::in_place_index<index>, std::get<index>(children).take());
    }
  };
  (take(std::integral_constant<std::size_t, I>()), ...);
  return std::move(*result);
}
template <typename Variant, typename Children>
Variant take_winner(Children& children, std::size_t winner) {
  return take_winner_of<Variant>(children, winner,
                                 std::make_index_sequence<std::tuple_size_v<Children>>());
}

// -- Time -----------------------------------------------------------------------------------------

class Sleep final : public Steps {
 public:
  explicit Sleep(Deadline until) : until_(until) {}

  bool ready(const std::stop_token& stop) {
    is_stopped_ = stop.stop_requested();
    return is_stopped_ || until_.has_passed();
  }
  bool begin(Waiter& waiter) override {
    waiter.arm();
    return false;
  }
  bool go_on(Waiter&, WaitState outcome) override {
    is_stopped_ = outcome == WaitState::stopped;
    return true;
  }
  std::expected<void, Refusal> result() const {
    if (is_stopped_) return std::unexpected(Refusal::stopped);
    return {};
  }

 private:
  const Deadline until_;
  bool is_stopped_ = false;
};

template <typename T>
inline constexpr bool is_refusable = false;
template <typename T>
inline constexpr bool is_refusable<std::expected<T, Refusal>> = true;

template <typename T>
using TimedResult = std::conditional_t<is_refusable<T>, T, std::expected<T, Refusal>>;

template <typename T>
TimedResult<T> timed_result(GroupChild<T>& child, bool has_timed_out) {
  if constexpr (is_refusable<T>) {
    T result = child.take();
    if (has_timed_out && !result && result.error() == Refusal::stopped) {
      return std::unexpected(Refusal::timed_out);
    }
    return result;
  } else {
    if (has_timed_out) return std::unexpected(Refusal::timed_out);
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      return child.take();
    }
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
