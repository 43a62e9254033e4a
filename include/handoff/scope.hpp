// A scope that nothing spawned into it outlives.
//
//   handoff::Scope scope{{.name = "import"}};
//   scope.spawn([&](std::stop_token stop) { read(file, rows, stop); });      // a thread of its own
//   if (!scope.spawn(pool, [&] { index(rows); })) return busy();             // a job of a pool
//   if (!scope.spawn(pool, store(rows))) return busy();                      // a coroutine on a pool
//   scope.join();                                                            // waits for all; throws the first error
//
//              on a thread of its own    on a pool            inside a coroutine
//   spawn      spawn(f)                  spawn(pool, f)       spawn(lazy): where that runs
//                                        spawn(pool, lazy)
//   join       join(), join({...})                            co_await scope.async_join()
//
// What you can rely on:
// - When the scope ends, by join(), by its destructor, by an exception, all that it spawned has ended, threads included. The
//   destructor requests a stop and waits.
// - The first error asks the siblings to stop, and join() throws it when all have ended. With `.collect` errors stop
//   nobody, and errors() gives them all.
// - The stop_token that children get, and heed in their waits, is the scope's: it is requested by request_stop(), by the first
//   error, at the deadline, when the scope's maker is asked to stop, and by the interrupting shutdown of a pool on which
//   children run. Pass another token to the constructor to have the scope follow that instead of its maker's.
// - join() says `timed_out` if the deadline came first, `stopped` if its maker or pool was stopped; with a Wait also if that
//   ended, and then the children go on.
// - Scopes made by children lie inside: waits() shows who works for which ("server / requests"), and who joins shows who
//   lives still.
// - Inside a coroutine prefer co_await scope.async_join(): the destructor waits on the thread (a spare worker comes in). With
//   in_scope() nothing else is needed.
//
// Thread safety: any member, any thread; spawn() and the join that ends the scope must not race, except that a child may spawn.
#pragma once

#include <exception>
#include <expected>
#include <functional>
#include <memory>
#include <source_location>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/detail/core/awaitable.hpp"
#include "handoff/detail/core/scope_core.hpp"
#include "handoff/detail/coro/scope_children.hpp"
#include "handoff/lazy.hpp"
#include "handoff/pool.hpp"
#include "handoff/refusal.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

struct ScopeOptions {
  std::string_view name = {};  // What waits() and snapshot() call it; copied.
  Deadline deadline = {};      // When its children are asked to stop.
  bool collect = false;        // Errors stop nobody, and all are kept (the first 1,024).
};

class Scope {
  using Where = std::source_location;

 public:
  explicit Scope(ScopeOptions options = {});
  explicit Scope(std::stop_token stop, ScopeOptions options = {})
      : core_(options.name, options.deadline, !options.collect, std::move(stop)) {}
  // Requests a stop and waits for all. An error that nobody asked for is logged.
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // Runs f on a thread of its own. Throws std::system_error if there is none to be had.
  template <JobFunction F>
  void spawn(F&& f, Where where = Where::current()) {
    detail::spawn_thread(core_, std::forward<F>(f), where);
  }

  // Runs f as a job of the pool. Refused as post() is, f untouched. If the pool drops it or hands it back and it is destroyed
  // without having run, that is an error of the scope.
  template <JobFunction F>
  [[nodiscard]] std::expected<void, Refusal> spawn(WorkerPool& pool, F&& f, const Wait& wait = {},
                                                   Where where = Where::current()) {
    return as_expected(
        detail::spawn_job(core_, detail::PoolAccess::core(pool), std::forward<F>(f), wait, where));
  }

  // Runs a coroutine on the pool. Refused as handoff::spawn() is.
  [[nodiscard]] std::expected<void, Refusal> spawn(WorkerPool& pool, Lazy<>&& lazy,
                                                   const Wait& wait = {},
                                                   Where where = Where::current()) {
    return as_expected(detail::spawn_coroutine(core_, detail::PoolAccess::core(pool),
                                               std::move(lazy), wait, where));
  }

  // Runs a coroutine where the calling one runs. Throws std::logic_error if the caller is no coroutine. Refused only past the
  // pool's options.coroutines, or once the pool has ended.
  [[nodiscard]] std::expected<void, Refusal> spawn(Lazy<>&& lazy, Where where = Where::current()) {
    return as_expected(detail::spawn_coroutine_here(core_, std::move(lazy), where));
  }

  // Waits until all have ended. Throws the first error, unless they are collected.
  std::expected<void, Refusal> join(const Wait& wait = {}, Where where = Where::current());
  [[nodiscard]] detail::Awaitable<detail::ScopeJoin> async_join(Where where = Where::current()) {
    return detail::Awaitable<detail::ScopeJoin>(detail::WaitSite{"join", where}, Deadline(), core_);
  }

  // With `.collect`, after the join: what was thrown, in the order of ending. Gives them once.
  std::vector<std::exception_ptr> errors() { return core_.take_errors(); }

  void request_stop() { core_.request_stop(); }
  // As if a child had thrown it.
  void fail(std::exception_ptr error) { core_.note_error(std::move(error)); }
  const std::stop_token& stop_token() const { return core_.stop_token(); }
  std::size_t living() const { return core_.living(); }  // May be stale by the time it returns.

 private:
  static std::expected<void, Refusal> as_expected(std::optional<Refusal> refusal) {
    if (refusal) return std::unexpected(*refusal);
    return {};
  }

  detail::ScopeCore core_;
};

// Inside a coroutine: makes a scope, runs body(scope), waits for all it spawned, however the body ends.
//
//   co_await handoff::in_scope([&](handoff::Scope& scope) -> handoff::Lazy<> {
//     for (auto& url : urls) scope.spawn(fetch(url)).value();
//     co_return;
//   });
//
// Throws what the body or the first child threw. Says `timed_out` or `stopped` as join() does. `body` is called by
// reference: it must live until the end of the co_await expression, as it does above. (GCC 12: capture by reference only, or
// name the closure first.)
template <typename Body>
Lazy<std::expected<void, Refusal>> in_scope(Body&& body, ScopeOptions options = {}) {
  Scope scope(options);
  std::exception_ptr error;
  try {
    co_await std::invoke(body, scope);
  } catch (...) {
    error = std::current_exception();
  }
  if (error && !options.collect) scope.fail(std::exchange(error, nullptr));
  if (error) scope.request_stop();
  auto joined = co_await scope.async_join();
  if (error) std::rethrow_exception(error);
  co_return joined;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
