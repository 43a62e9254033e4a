// A job: something to call once, later, on another thread. What a WorkerPool holds, and what it hands back.
//
//   for (handoff::Job& job : report.handed_back) job();      // run what the pool did not get to
//
// Move-only, 64 bytes. A callable of up to 48 bytes is stored in place, without an allocation; a larger one, or one whose
// move may throw, is kept on the heap. It may take a std::stop_token: it then gets that of the pool that runs it.
//
// Thread safety: as a value; one thread at a time.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <source_location>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

// What may be handed to a pool: called with nothing, or with a std::stop_token.
template <typename F>
concept JobFunction =
    std::move_constructible<std::decay_t<F>> &&
    (std::invocable<std::decay_t<F>&> || std::invocable<std::decay_t<F>&, std::stop_token>);

namespace detail {

// Calls `f` with the token if it wants one.
template <typename F>
decltype(auto) call_job(F& f, const std::stop_token& stop) {
  if constexpr (std::invocable<F&, std::stop_token>) {
    return std::invoke(f, stop);
  } else {
    return std::invoke(f);
  }
}

template <typename F>
using JobResult = decltype(call_job(std::declval<std::decay_t<F>&>(), std::stop_token()));

// How a job's stored callable is called, moved and destroyed. Where a function is null, bytes are enough.
struct JobType {
  void (*call)(void* stored, const std::stop_token& stop);
  void (*relocate)(void* from, void* to) noexcept;  // Moves it and destroys what was moved from.
  void (*destroy)(void* stored) noexcept;
  bool (*withdraw)(void* stored) noexcept;  // See Job::withdraw().
};

// A callable that somebody else may call as well: the job behind a future.
template <typename F>
concept Withdrawable = requires(F& f) {
  { f.withdraw() } noexcept -> std::same_as<bool>;
};

}  // namespace detail

class Job {
 public:
  static constexpr std::size_t stored_in_place = 48;  // Bytes a callable may have.

  Job() = default;  // Empty.
  template <typename F>
    requires(!std::same_as<std::decay_t<F>, Job> &&
             JobFunction<F>)  // In this order: the second asks about Job.
  explicit Job(F&& f, std::source_location where = std::source_location::current())
      : where_(where) {
    using Stored = std::decay_t<F>;
    if constexpr (fits_in_place<Stored>) {
      std::construct_at(static_cast<Stored*>(memory()), std::forward<F>(f));
      type_ = &in_place_type<Stored>;
    } else {
      *static_cast<Stored**>(memory()) = new Stored(std::forward<F>(f));
      type_ = &on_heap_type<Stored>;
    }
  }
  Job(Job&& other) noexcept { take_over(other); }
  Job& operator=(Job&& other) noexcept {
    if (this == &other) return *this;
    reset();
    take_over(other);
    return *this;
  }
  ~Job() { reset(); }

  explicit operator bool() const { return type_ != nullptr; }

  // Calls it on this thread. What it throws comes out, unless it belongs to a Future, which gets it. Not for an empty job.
  void operator()(const std::stop_token& stop = {}) { type_->call(memory(), stop); }

  // Where it was handed in: how reports call it.
  const std::source_location& where() const { return where_; }

  // Takes it out of the hands of those who wait for its Future inside the pool and might run it. False if one of them has.
  // For a pool, before it hands the job back.
  bool withdraw() { return type_->withdraw == nullptr || type_->withdraw(memory()); }

  void reset() {
    if (type_ != nullptr && type_->destroy != nullptr) type_->destroy(memory());
    type_ = nullptr;
  }

 private:
  template <typename Stored>
  static constexpr bool fits_in_place =
      sizeof(Stored) <= stored_in_place && alignof(Stored) <= alignof(std::max_align_t) &&
      std::is_nothrow_move_constructible_v<Stored>;

  template <typename Stored>
  static constexpr auto withdrawal() -> bool (*)(void*) noexcept {
    if constexpr (detail::Withdrawable<Stored>) {
      return [](void* stored) noexcept { return static_cast<Stored*>(stored)->withdraw(); };
    } else {
      return nullptr;
    }
  }

  template <typename Stored>
  static void relocate(void* from, void* to) noexcept {
    auto* const source = static_cast<Stored*>(from);
    std::construct_at(static_cast<Stored*>(to), std::move(*source));
    std::destroy_at(source);
  }

  template <typename Stored>
  static constexpr detail::JobType in_place_type{
      .call =
          [](void* stored, const std::stop_token& stop) {
            static_cast<void>(detail::call_job(*static_cast<Stored*>(stored), stop));
          },
      .relocate = std::is_trivially_copyable_v<Stored> ? nullptr : &Job::relocate<Stored>,
      .destroy =
          std::is_trivially_destructible_v<Stored>
              ? nullptr
              : +[](void* stored) noexcept { std::destroy_at(static_cast<Stored*>(stored)); },
      .withdraw = withdrawal<Stored>()};

  template <typename Stored>
  static constexpr detail::JobType on_heap_type{
      .call =
          [](void* stored, const std::stop_token& stop) {
            static_cast<void>(detail::call_job(**static_cast<Stored**>(stored), stop));
          },
      .relocate = nullptr,
      .destroy = [](void* stored) noexcept { delete *static_cast<Stored**>(stored); },
      .withdraw = nullptr};

  void take_over(Job& other) {
    if (other.type_ == nullptr) return;
    if (other.type_->relocate == nullptr) {
      std::memcpy(memory_, other.memory_, stored_in_place);
    } else {
      other.type_->relocate(other.memory(), memory());
    }
    where_ = other.where_;
    type_ = std::exchange(other.type_, nullptr);
  }
  void* memory() { return memory_; }

  const detail::JobType* type_ = nullptr;
  std::source_location where_;
  alignas(std::max_align_t) std::byte memory_[stored_in_place];
};

static_assert(sizeof(Job) == 64, "one cache line a job");

}  // namespace handoff::inline HANDOFF_FLAVOUR
