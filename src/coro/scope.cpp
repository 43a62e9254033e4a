#include "handoff/scope.hpp"

#include <fmt/core.h>

#include <stdexcept>

#include "handoff/detail/coro/run_loop.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

namespace detail {

namespace {
std::exception_ptr never_ran(const char* kind) {
  return std::make_exception_ptr(
      std::runtime_error(fmt::format("a {} of the scope was dropped by its pool", kind)));
}

// A coroutine of a scope on a pool.
class ScopeTask final : public PoolTask, public ScopeChild, public InFrameMemory {
 public:
  using InFrameMemory::operator new;
  using InFrameMemory::operator delete;

  ScopeTask(ScopeCore& scope, PoolCore& pool, Lazy<void>&& lazy, std::source_location where)
      : PoolTask(pool, scope.limits(), where, &scope),
        ScopeChild("coroutine", where),
        scope_(scope),
        lazy_(std::move(lazy)) {
    scope_.enter(*this);
  }

 private:
  PromiseBase& root() override { return LazyAccess::promise(*lazy_); }
  void ended() noexcept override {
    auto error = LazyAccess::promise(*lazy_).error();
    leave(std::move(error));
  }
  void never_began() noexcept override { leave(never_ran("coroutine")); }
  void leave(std::exception_ptr error) {
    lazy_.reset();
    scope_.leave_and_destroy(*this, std::move(error));
  }
  void destroy() noexcept override { delete this; }

  ScopeCore& scope_;
  std::optional<Lazy<void>> lazy_;
};

// A coroutine of a scope on any other executor.
class LocalScopeTask final : public Task, public Runnable, public ScopeChild {
 public:
  LocalScopeTask(ScopeCore& scope, Executor& executor, Lazy<void>&& lazy,
                 std::source_location where)
      : Task(executor, scope.limits(), where, &scope),
        Runnable([](Runnable& runnable) {
          auto& self = static_cast<LocalScopeTask&>(runnable);
          self.start(LazyAccess::promise(*self.lazy_));
        }),
        ScopeChild("coroutine", where),
        scope_(scope),
        lazy_(std::move(lazy)) {
    scope_.enter(*this);
    if (RunLoop* const loop = executor.as_loop()) loop->task_begins();
  }

 private:
  void done() noexcept override {
    const std::unique_ptr<LocalScopeTask> self(this);
    if (RunLoop* const loop = executor().as_loop()) loop->task_ended();
    auto error = LazyAccess::promise(*lazy_).error();
    lazy_.reset();
    scope_.leave(*this, std::move(error));
  }

  ScopeCore& scope_;
  std::optional<Lazy<void>> lazy_;
};

class ChildAmbient final : public Ambient {
 public:
  explicit ChildAmbient(ScopeCore& scope) : Ambient(scope.limits(), &scope) {}
};
}  // namespace

void CallableChild::run(std::unique_ptr<CallableChild> child, atomic<bool>* has_ended) noexcept {
  ScopeCore& scope = child->scope_;
  std::exception_ptr error;
  {
    ChildAmbient ambient(scope);
    const AmbientHere here(ambient);
    try {
      child->call(ambient.stop());
    } catch (...) {
      error = std::current_exception();
    }
  }
  // The callable, and what it holds, goes before the scope hears of the end; the rest of it after.
  child->let_go();
  // Before the scope hears of it: who joins then finds all threads marked. Pairs with join_ended_threads().
  if (has_ended != nullptr) has_ended->store(true, release);
  scope.leave(*child, std::move(error));
}

void CallableChild::drop(std::unique_ptr<CallableChild> child) noexcept {
  child->let_go();
  child->scope_.leave(*child, never_ran("job"));
}

void start_thread(std::unique_ptr<CallableChild> child) {
  ScopeCore& scope = child->scope();
  scope.join_ended_threads();
  scope.make_room_for_thread();
  auto has_ended = std::make_shared<atomic<bool>>(false);
  scope.enter(*child);
  try {
    Thread thread([raw = child.get(), has_ended] {
      CallableChild::run(std::unique_ptr<CallableChild>(raw), has_ended.get());
    });
    static_cast<void>(child.release());  // The thread's now.
    scope.keep_thread(std::move(thread), std::move(has_ended));
  } catch (...) {  // There was no thread to be had.
    scope.thread_did_not_come();
    scope.leave(*child);
    throw;
  }
}

std::optional<Refusal> spawn_coroutine(ScopeCore& scope, PoolCore& pool, Lazy<void>&& lazy,
                                       const Wait& wait, std::source_location where) {
  static_cast<void>(LazyAccess::promise(lazy));  // Throws now if it was moved from.
  scope.stop_with(pool.stop_token());
  const auto make = [&]() -> PoolTask& {
    return *new ScopeTask(scope, pool, std::move(lazy), where);
  };
  return hand_in(pool, make, wait, where);
}

std::optional<Refusal> spawn_coroutine_here(ScopeCore& scope, Lazy<void>&& lazy,
                                            std::source_location where) {
  static_cast<void>(LazyAccess::promise(lazy));
  Ambient* const ambient = current_ambient();
  Executor* const executor = ambient == nullptr ? nullptr : ambient->executor();
  if (executor == nullptr) {
    throw std::logic_error(
        "Scope::spawn(lazy) needs a coroutine around it; give it a pool to run on");
  }
  if (PoolCore* const pool = executor->as_pool()) {
    return spawn_coroutine(scope, *pool, std::move(lazy), {}, where);
  }
  executor->run_soon(*new LocalScopeTask(scope, *executor, std::move(lazy), where));
  return std::nullopt;
}

}  // namespace detail

using namespace detail;

namespace {
// On this thread. Under sync_wait those that are waited for may have no other: then it runs them meanwhile.
void wait_here(ScopeJoin& join, const Wait& wait, WaitSite site) {
  const Ambient* const ambient = current_ambient();
  Executor* const executor = ambient == nullptr ? nullptr : ambient->executor();
  if (RunLoop* const loop = executor == nullptr ? nullptr : executor->as_loop()) {
    return loop->take_steps_meanwhile(wait, site, join);
  }
  const BlockedWorker blocked(this_worker, nullptr);
  ThreadWaiter waiter(wait, site);
  take_steps(waiter, join);
}
}  // namespace

Scope::Scope(ScopeOptions options) : Scope(stop_here(), options) {}

std::expected<void, Refusal> Scope::join(const Wait& wait, Where where) {
  const detail::sim::Operation here(core_, "join");
  if (wait.stop.stop_requested()) return std::unexpected(Refusal::stopped);
  ScopeJoin join(core_);
  if (!join.ready({})) {
    wait_here(join, wait, {.operation = "join", .where = where});
  }
  return join.result();
}

Scope::~Scope() {
  if (core_.living() == 0) return;
  core_.request_stop();
  ScopeJoin join(core_);
  const Wait until_all_have_ended;
  wait_here(join, until_all_have_ended,
            {.operation = "end", .where = std::source_location::current()});
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
