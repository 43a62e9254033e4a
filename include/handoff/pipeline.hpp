// A line of stages with channels between them, each stage with as many workers as it needs.
//
//   handoff::Channel<std::string> lines{64};
//   handoff::Channel<Record> records{64};
//   handoff::Pipeline line{pool, {.name = "import"}};
//   line.source(lines, [&] { return file.next_line(); });                    // std::optional: none ends it
//   line.stage(lines, records, 4, parse, {.keep_order = true});              // std::optional: none filters out
//   line.sink(records, 1, [&](Record record) { totals.add(record); });
//   line.run();                                                              // until all is through; throws the first error
//
// - When a stage's input is closed and drained, its output is closed: closing the first channel drains through to the last.
// - Fan-out: `workers`, or several stages with the same input; each item goes to one of them. broadcast() copies each item to
//   several channels. Fan-in: several stages with the same output, which is closed when the last of them has ended.
// - keep_order: results leave in the order in which their items came, though `workers` of them are worked on at once.
// - The first error stops the line: all its workers have ended when run() throws it. All channels of the line are closed then, so that
//   who feeds it or reads from it from outside is told. What is left in the channels can be had with drain(); what a
//   worker had in hand is counted as dropped.
// - If somebody closes a channel in the middle, what lies before it ends likewise, and what lies behind it is drained.
//
// Workers are coroutines on the pool: a stage that waits holds no thread. f may be a coroutine function (return a Lazy).
// Thread safety: add stages first, then run() once. stats() at any time, from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handoff/channel.hpp"
#include "handoff/detail/coro/stage.hpp"
#include "handoff/lazy.hpp"
#include "handoff/pool.hpp"
#include "handoff/refusal.hpp"
#include "handoff/scope.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

struct PipelineOptions {
  std::string_view name = {};  // Of its scope, for waits(); copied.
  Deadline deadline = {};      // When it is stopped.
};

class Pipeline {
 public:
  explicit Pipeline(WorkerPool& pool, PipelineOptions options = {})
      : pool_(pool), name_(options.name), deadline_(options.deadline) {}
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Sends what f() gives until that is none.
  template <typename Out, typename F>
  Pipeline& source(Channel<Out>& out, F f, StageOptions options = {}) {
    return add(std::make_unique<detail::SourceStage<Out, F>>(out, std::move(f), options), nullptr,
               &out);
  }

  // Sends f(item) for each item; nothing if that is a std::optional without a value.
  template <typename In, typename Out, typename F>
  Pipeline& stage(Channel<In>& in, Channel<Out>& out, std::size_t workers, F f,
                  StageOptions options = {}) {
    if (options.keep_order) {
      return add(std::make_unique<detail::OrderedStage<In, Out, F>>(in, out, workers, std::move(f),
                                                                    options),
                 &in, &out);
    }
    return add(
        std::make_unique<detail::FreeStage<In, Out, F>>(in, out, workers, std::move(f), options),
        &in, &out);
  }

  // Calls f(item) for each item.
  template <typename In, typename F>
  Pipeline& sink(Channel<In>& in, std::size_t workers, F f, StageOptions options = {}) {
    return add(std::make_unique<detail::SinkStage<In, F>>(in, workers, std::move(f), options), &in,
               static_cast<Channel<In>*>(nullptr));
  }

  // Sends a copy of each item to each of them.
  template <typename T>
  Pipeline& broadcast(Channel<T>& in, std::vector<Channel<T>*> outs, StageOptions options = {}) {
    auto stage = std::make_unique<detail::BroadcastStage<T>>(in, outs, options);
    for (Channel<T>* each : outs) stage->add_output(output_to(*each));
    return add(std::move(stage), &in, static_cast<Channel<T>*>(nullptr));
  }

  // Runs it until all is through. Throws the first error. Refused with `timed_out` or `stopped`: by the Wait, by the
  // options' deadline or by the pool; or as the pool refuses. All its workers have ended in any case.
  std::expected<void, Refusal> run(const Wait& wait = {});
  Lazy<std::expected<void, Refusal>> async_run();

  // For each stage, in the order of adding.
  std::vector<StageStats> stats() const;

 private:
  template <typename T>
  detail::StageOutput& output_to(Channel<T>& channel) {
    return output_of(&channel, [&channel] { channel.close(); });
  }
  template <typename In, typename Out>
  Pipeline& add(std::unique_ptr<detail::Stage> stage, Channel<In>* in, Channel<Out>* out) {
    if (out != nullptr) stage->add_output(output_to(*out));
    if constexpr (!std::is_void_v<In>) {
      if (in != nullptr) close_all_.push_back([in] { in->close(); });
    }
    return add(std::move(stage));
  }
  template <typename Out>
  Pipeline& add(std::unique_ptr<detail::Stage> stage, std::nullptr_t, Channel<Out>* out) {
    return add(std::move(stage), static_cast<Channel<Out>*>(nullptr), out);
  }
  Pipeline& add(std::unique_ptr<detail::Stage> stage);
  detail::StageOutput& output_of(void* channel, std::function<void()> close);
  std::optional<Refusal> start(Scope& scope);
  void close_all();

  WorkerPool& pool_;
  const std::string name_;
  const Deadline deadline_;
  std::vector<std::unique_ptr<detail::Stage>> stages_;
  std::vector<std::unique_ptr<detail::StageOutput>> outputs_;
  std::vector<std::function<void()>> close_all_;
  bool has_run_ = false;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR
