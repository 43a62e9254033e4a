// Handlers of tasks, whatever they take and return, as one type.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "handoff/tasks/handler.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

template <typename T>
inline constexpr bool gives_lazy = false;
template <typename T>
inline constexpr bool gives_lazy<Lazy<T>> = true;

struct TaskHandler {
  std::move_only_function<tasks::Finish(const tasks::Json&, tasks::Context&) const>
      plain{};  // One of the two.
  std::move_only_function<Lazy<tasks::Finish>(const tasks::Json&, tasks::Context&) const> lazy{};
  tasks::HandlerOptions options{};
};

template <typename T>
T read_payload(const tasks::Json& json) {
  auto payload = tasks::from_json<T>(json.text());
  if (!payload)
    throw std::runtime_error("its payload cannot be read: " + payload.error().to_string());
  return std::move(*payload);
}

template <typename R>
Lazy<tasks::Finish> finish_of(Lazy<R> lazy) {
  if constexpr (std::is_void_v<R>) {
    co_await std::move(lazy);
    co_return tasks::Finish();
  } else {
    R result = co_await std::move(lazy);
    co_return tasks::Finish(std::move(result));
  }
}

// The payload lives as long as the coroutine that may refer to it.
template <typename T, typename F>
Lazy<tasks::Finish> handle_lazily(const F& handler, const tasks::Json& json,
                                  tasks::Context& context) {
  T payload = read_payload<T>(json);
  auto lazy = finish_of(handler(std::move(payload), context));
  tasks::Finish finish = co_await std::move(lazy);
  co_return finish;
}

// `handler(json, context)` as one of the two.
template <typename F>
TaskHandler handler_of(F handler, tasks::HandlerOptions options) {
  using Result = std::invoke_result_t<const F&, const tasks::Json&, tasks::Context&>;
  TaskHandler made{.options = std::move(options)};
  if constexpr (gives_lazy<Result>) {
    made.lazy = [handler = std::move(handler)](const tasks::Json& json, tasks::Context& context) {
      if constexpr (std::is_same_v<Result, Lazy<tasks::Finish>>) {
        return handler(json, context);
      } else {
        return finish_of(handler(json, context));
      }
    };
  } else {
    made.plain = [handler = std::move(handler)](const tasks::Json& json,
                                                tasks::Context& context) -> tasks::Finish {
      if constexpr (std::is_void_v<Result>) {
        handler(json, context);
        return {};
      } else {
        return handler(json, context);
      }
    };
  }
  return made;
}

// `handler(payload, context)` as one of the two.
template <typename T, typename F>
TaskHandler typed_handler_of(F handler, tasks::HandlerOptions options) {
  using Result = std::invoke_result_t<const F&, T, tasks::Context&>;
  return handler_of(
      [handler = std::move(handler)](const tasks::Json& json, tasks::Context& context) {
        if constexpr (gives_lazy<Result>) {
          return handle_lazily<T>(handler, json, context);
        } else {
          return handler(read_payload<T>(json), context);
        }
      },
      std::move(options));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
