// What in_asio() starts: a Lazy as an asynchronous operation of Boost.Asio, with its handler.
#pragma once

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/recycling_allocator.hpp>
#include <concepts>
#include <exception>
#include <expected>
#include <memory>
#include <optional>
#include <source_location>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "handoff/detail/asio/asio_task.hpp"
#include "handoff/detail/core/assert.hpp"
#include "handoff/lazy.hpp"
#include "handoff/refusal.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// -- How it ends ----------------------------------------------------------------------------------

template <typename T>
struct AsioSignatureOf {
  using Type = void(std::exception_ptr, T);
};
template <>
struct AsioSignatureOf<void> {
  using Type = void(std::exception_ptr);
};
template <typename T>
using AsioSignature = typename AsioSignatureOf<T>::Type;

// Beside an exception a handler gets a T all the same. This one is for handlers that do not look at it: use_awaitable.
template <typename T>
struct NoValue {
  operator T() const {  // NOLINT: stands for a T.
    HANDOFF_ASSERT(false && "the handler looked at the value although there was an exception");
    std::unreachable();
  }
};

template <typename T>
concept HasEmptyValue = std::is_void_v<T> || std::default_initializable<T> ||
                        std::constructible_from<T, std::unexpected<Refusal>>;

template <typename T>
auto empty_value() {
  if constexpr (std::default_initializable<T>) {
    return T();
  } else if constexpr (HasEmptyValue<T>) {
    return T(std::unexpected(Refusal::stopped));
  } else {
    return NoValue<T>();
  }
}

// -- How it is cancelled --------------------------------------------------------------------------

// Stands in the handler's cancellation slot. Has a share of the stop state and nothing else, so that it may be left there.
class StopOnCancel {
 public:
  explicit StopOnCancel(std::stop_source stop) : stop_(std::move(stop)) {}

  void operator()(boost::asio::cancellation_type type) const {
    if (type == boost::asio::cancellation_type::none) return;
    auto stop = stop_;  // The slot may be given to another while it runs.
    stop.request_stop();
  }

 private:
  std::stop_source stop_;
};

struct PassStopOn {
  void operator()() noexcept { to.request_stop(); }
  std::stop_source to;
};

// -- The operation --------------------------------------------------------------------------------

template <typename Io>
AsioTasks* tasks_beside(const Io& executor) {
  if constexpr (boost::asio::can_query_v<Io, boost::asio::execution::context_t>) {
    boost::asio::execution_context& context =
        boost::asio::query(executor, boost::asio::execution::context);
    return &boost::asio::use_service<AsioTasks>(context);
  } else {
    return nullptr;
  }
}

template <typename T, typename Handler>
class AsioOperation final : public AsioTask {
 public:
  static void start(Handler&& handler, Lazy<T>&& lazy, std::source_location where) {
    auto allocator = allocator_of(handler);
    auto* const place = std::allocator_traits<Allocator>::allocate(allocator, 1);
    AsioOperation* operation = nullptr;
    try {
      operation = std::construct_at(place, std::move(handler), std::move(lazy), where);
    } catch (...) {
      std::allocator_traits<Allocator>::deallocate(allocator, place, 1);
      throw;
    }
    operation->start_soon();
  }

  AsioOperation(Handler&& handler, Lazy<T>&& lazy, std::source_location where)
      : AsioOperation(std::move(handler), std::move(lazy), where, make_stop_source(handler),
                      tasks_beside(boost::asio::get_associated_executor(handler))) {}

 private:
  using Io = boost::asio::associated_executor_t<Handler>;
  using Memory =
      boost::asio::associated_allocator_t<Handler, boost::asio::recycling_allocator<void>>;
  using Allocator = typename std::allocator_traits<Memory>::template rebind_alloc<AsioOperation>;

  static Allocator allocator_of(const Handler& handler) {
    return Allocator(
        boost::asio::get_associated_allocator(handler, boost::asio::recycling_allocator<void>()));
  }
  // None if it cannot be cancelled.
  static std::stop_source make_stop_source(const Handler& handler) {
    auto slot = boost::asio::get_associated_cancellation_slot(handler);
    if (!slot.is_connected()) return std::stop_source(std::nostopstate);
    std::stop_source source;
    slot.template emplace<StopOnCancel>(source);
    return source;
  }
  static std::stop_token context_stop(const AsioTasks* tasks) {
    return tasks == nullptr ? std::stop_token() : tasks->stop_token();
  }

  // Without a stop_source of its own it goes by that of the context.
  AsioOperation(Handler&& handler, Lazy<T>&& lazy, std::source_location where,
                std::stop_source stop, AsioTasks* tasks)
      : AsioTask(stop.stop_possible() ? stop.get_token() : context_stop(tasks), where),
        tasks_(tasks),
        work_(boost::asio::get_associated_executor(handler)),
        lazy_(std::move(lazy)),
        handler_(std::move(handler)) {
    if (tasks_ == nullptr) return;
    if (stop.stop_possible()) pass_stop_on_.emplace(context_stop(tasks), PassStopOn{stop});
    tasks_->add(*this);
  }

  // Not with the handler's allocator: that need not bear to be used by other threads.
  void post(Turn turn) noexcept override { boost::asio::post(work_.get_executor(), turn); }
  PromiseBase& root() override { return LazyAccess::promise(lazy_); }

  // All that the operation holds is let go before the handler is called: it may well start the next in the same memory.
  void complete() override {
    auto slot = boost::asio::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) slot.clear();
    const auto work = std::move(work_);
    auto& promise = LazyAccess::promise(lazy_);
    auto error = promise.error();
    if constexpr (std::is_void_v<T>) {
      auto handler = dissolve();
      std::move(handler)(std::move(error));
    } else {
      auto value = take_value(promise, error);
      auto handler = dissolve();
      if (value) {
        std::move(handler)(std::exception_ptr(), std::move(*value));
      } else {
        std::move(handler)(std::move(error), empty_value<T>());
      }
    }
  }
  void abandon() noexcept override { static_cast<void>(dissolve()); }

  static auto take_value(LazyPromise<T>& promise, std::exception_ptr& error) noexcept
    requires(!std::is_void_v<T>)
  {
    std::optional<T> value;
    try {
      if (!error) value.emplace(std::move(*promise.value()));
    } catch (...) {
      error = std::current_exception();
    }
    return value;
  }

  Handler dissolve() {
    if (tasks_ != nullptr) tasks_->remove(*this);
    auto handler = std::move(handler_);
    auto allocator = allocator_of(handler);
    std::destroy_at(this);
    std::allocator_traits<Allocator>::deallocate(allocator, this, 1);
    return handler;
  }

  AsioTasks* const tasks_;  // Null: its executor belongs to no execution context.
  boost::asio::executor_work_guard<Io> work_;
  std::optional<std::stop_callback<PassStopOn>> pass_stop_on_;
  Lazy<T> lazy_;
  Handler handler_;
};

struct StartInAsio {
  template <typename Handler, typename T>
  void operator()(Handler&& handler, Lazy<T>&& lazy, std::source_location where) const {
    std::decay_t<Handler> own(std::forward<Handler>(handler));
    AsioOperation<T, std::decay_t<Handler>>::start(std::move(own), std::move(lazy), where);
  }
};

// -- From anything to a Lazy ----------------------------------------------------------------------

template <typename A>
concept Awaiter = requires(A& awaiter) {
  { awaiter.await_ready() } -> std::convertible_to<bool>;
  awaiter.await_resume();
};

template <typename A>
struct Awaited {};
template <Awaiter A>
struct Awaited<A> {
  using Type = decltype(std::declval<A&>().await_resume());
};
template <typename A>
  requires requires(A&& awaitable) { std::forward<A>(awaitable).operator co_await(); }
struct Awaited<A> : Awaited<decltype(std::declval<A>().operator co_await())> {};
template <typename A>
  requires requires(A&& awaitable) { operator co_await(std::forward<A>(awaitable)); }
struct Awaited<A> : Awaited<decltype(operator co_await(std::declval<A>()))> {};

// A is a reference type for an lvalue.
template <typename A>
concept AwaitableInLazy = requires { typename Awaited<A>::Type; };
template <typename A>
using AwaitedBy = std::remove_cvref_t<typename Awaited<A>::Type>;

template <typename F>
concept MakesAwaitable = std::invocable<F&> && AwaitableInLazy<std::invoke_result_t<F&>>;

template <typename A>
Lazy<AwaitedBy<A>> await_borrowed(std::remove_reference_t<A>& awaitable) {
  co_return co_await static_cast<A&&>(awaitable);
}
template <typename A>
Lazy<AwaitedBy<A>> await_owned(A awaitable) {
  co_return co_await std::move(awaitable);
}
template <typename F>
Lazy<AwaitedBy<std::invoke_result_t<F&>>> await_made_by(F make) {
  co_return co_await make();
}

template <typename A>
struct IsLazy : std::false_type {};
template <typename T>
struct IsLazy<Lazy<T>> : std::true_type {};

// What cannot be moved stays where it is, and so must the caller until it is done.
template <typename A>
inline constexpr bool is_borrowed =
    AwaitableInLazy<A> && !std::is_reference_v<A> && !std::move_constructible<A>;

template <typename A>
auto as_lazy(A&& what) {
  using Plain = std::remove_cvref_t<A>;
  if constexpr (IsLazy<Plain>::value) {
    static_assert(!std::is_lvalue_reference_v<A>, "a Lazy runs once: give it away with std::move");
    return Plain(std::move(what));
  } else if constexpr (AwaitableInLazy<A> && (std::is_lvalue_reference_v<A> || is_borrowed<A>)) {
    return await_borrowed<A>(what);
  } else if constexpr (AwaitableInLazy<A>) {
    return await_owned<A>(std::move(what));
  } else {
    static_assert(
        MakesAwaitable<Plain>,
        "give in_asio a Lazy, something to co_await in one, or a function that returns such");
    return await_made_by<Plain>(std::forward<A>(what));
  }
}

template <typename Result>
struct IsAsioAwaitable : std::false_type {};
template <typename T, typename Io>
struct IsAsioAwaitable<boost::asio::awaitable<T, Io>> : std::true_type {
  using Value = T;
};
template <typename Result, typename T>
concept AsioAwaitableOf =
    IsAsioAwaitable<Result>::value && std::same_as<typename IsAsioAwaitable<Result>::Value, T>;

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
