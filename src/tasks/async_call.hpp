// How calls of coroutines reach the store.
#pragma once

#include <expected>
#include <memory>
#include <utility>

#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "tasks/core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

// `work(transaction)` in a shared transaction, as transact() does; the coroutine goes on once that is committed. A stop ends the waiting, not the work: then nobody knows
// here what became of it.
template <typename T, typename Work>
Lazy<std::expected<T, TaskError>> async_transact(std::shared_ptr<TasksCore> core, Work work) {
  struct State {
    explicit State(Work what) : work(std::move(what)) {}
    Work work;
    std::expected<T, TaskError> result = std::unexpected(TaskError());
    std::exception_ptr error;
    Event told;
  };
  const auto state = std::make_shared<State>(std::move(work));
  core->batcher().run_later(
      [state](Transaction& transaction) { state->result = state->work(transaction); },
      [state](std::exception_ptr error) {
        state->error = std::move(error);
        state->told.set();
      });
  if (!co_await state->told.async_wait()) {
    co_return std::unexpected(
        TaskError{.code = TaskError::Code::stopped,
                  .message = "the waiting was stopped; the call itself may be carried out",
                  .field = {}});
  }
  if (state->error) co_return std::unexpected(to_error(state->error));
  co_return std::move(state->result);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
