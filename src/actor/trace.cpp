#include "handoff/detail/actor/trace.hpp"

#include <random>

#include "handoff/detail/actor/handler_task.hpp"
#include "handoff/detail/core/simulation.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

namespace {

constinit thread_local TraceContext trace_here;

std::uint64_t random_id() {
  if constexpr (detail::simulated_build) {
    if (detail::sim::is_simulated())
      return detail::sim::draw(UINT64_MAX) + 1;  // By the run's seed.
  }
  static thread_local std::mt19937_64 engine{(std::uint64_t{std::random_device{}()} << 32) ^
                                             std::random_device{}()};
  std::uint64_t id = 0;
  while (id == 0) id = engine();
  return id;
}

}  // namespace

// Out of line, as everything that reads the variable: a coroutine may have kept the address it has on another thread.
[[gnu::noinline]] TraceContext current_trace() {
  if (trace_here.is_valid()) return trace_here;
  // A coroutine that goes on has it with it.
  detail::ActorCell* const cell = detail::ActorCell::current();
  if (cell == nullptr || !cell->is_traced()) return trace_here;
  const detail::HandlerTask* const task = detail::HandlerTask::running_of(*cell);
  return task == nullptr ? trace_here : task->trace();
}
[[gnu::noinline]] TraceHere::TraceHere(const TraceContext& context)
    : before_(std::exchange(trace_here, context)) {}
[[gnu::noinline]] TraceHere::~TraceHere() { trace_here = before_; }

namespace detail {

std::uintptr_t traced_extra_of(ReplyCore* reply) {
  TraceContext trace = current_trace();
  // A message that nobody's request has caused begins a trace of its own.
  if (!trace.is_valid()) trace = {.trace_id = {random_id(), random_id()}, .span_id = random_id()};
  auto* const attachment = new Attachment{.reply = reply, .trace = trace};
  return reinterpret_cast<std::uintptr_t>(attachment) | attached;
}

TraceContext next_span(const TraceContext& trace) {
  return {.trace_id = trace.trace_id, .span_id = random_id()};
}

}  // namespace detail
}  // namespace handoff::inline HANDOFF_FLAVOUR
