// The kinds of stages of a Pipeline.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "handoff/channel.hpp"
#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/coro/is_lazy.hpp"
#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "handoff/pool.hpp"
#include "handoff/scope.hpp"
#include "handoff/semaphore.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

struct StageOptions {
  bool keep_order = false;     // Results leave in the order in which their items came.
  std::string_view name = {};  // In stats(); copied.
};

// At rest: received == sent + filtered + dropped (a source has received what it made, a sink has sent what it took).
struct StageStats {
  std::string name;
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
  std::uint64_t filtered = 0;  // f gave none.
  std::uint64_t dropped = 0;  // In a worker's hands when the line was stopped or its output closed.
};

namespace detail {

// A channel that stages of the line write to. Closed when the last of them has ended.
class StageOutput {
 public:
  StageOutput(void* channel, std::function<void()> close)
      : channel_(channel), close_(std::move(close)) {}

  bool is(const void* channel) const { return channel_ == channel; }
  void add_writer() { writers_.fetch_add(1, relaxed); }  // Before the line runs.
  void writer_has_ended() {
    // acq_rel: what every writer has done comes before the close.
    if (writers_.fetch_sub(1, acq_rel) == 1) close_();
  }
  void close() { close_(); }

 private:
  void* const channel_;
  const std::function<void()> close_;
  atomic<std::size_t> writers_{0};
};

class Stage {
 public:
  Stage(std::size_t workers, const StageOptions& options);
  virtual ~Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  void add_output(StageOutput& output) {
    output.add_writer();
    outputs_.push_back(&output);
  }
  // Spawns its workers. Refused: what was spawned is still to be joined.
  std::optional<Refusal> start(Scope& scope, WorkerPool& pool);
  StageStats stats() const;

 protected:
  // A worker's loop; and what the scope must run beside the workers.
  virtual Lazy<> work() = 0;
  virtual std::size_t coroutines() const { return workers_; }

  std::size_t workers() const { return workers_; }
  Scope& scope() const { return *scope_; }
  WorkerPool& pool() const { return *pool_; }

  void count_received() { received_.fetch_add(1, relaxed); }  // Counters only.
  void count_sent() { sent_.fetch_add(1, relaxed); }
  void count_filtered() { filtered_.fetch_add(1, relaxed); }
  void count_dropped() { dropped_.fetch_add(1, relaxed); }
  atomic<std::uint64_t>& dropped_counter() { return dropped_; }

  // Its output was closed by somebody else: nothing more is to be taken in.
  bool is_cut_off() const { return is_cut_off_.load(relaxed); }
  void cut_off() { is_cut_off_.store(true, relaxed); }

 private:
  Lazy<> run_worker();
  void worker_has_ended();

  const std::size_t workers_;
  const std::string name_;
  Scope* scope_ = nullptr;
  WorkerPool* pool_ = nullptr;
  std::vector<StageOutput*> outputs_;
  atomic<std::size_t> left_{0};
  atomic<bool> is_cut_off_{false};
  atomic<std::uint64_t> received_{0};
  atomic<std::uint64_t> sent_{0};
  atomic<std::uint64_t> filtered_{0};
  atomic<std::uint64_t> dropped_{0};
};

template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;

// Counts an item as dropped unless something else became of it; also if f throws.
class [[nodiscard]] InHand {
 public:
  explicit InHand(atomic<std::uint64_t>& dropped) : dropped_(&dropped) {}
  ~InHand() {
    if (dropped_ != nullptr) dropped_->fetch_add(1, relaxed);  // A counter only.
  }
  InHand(const InHand&) = delete;
  InHand& operator=(const InHand&) = delete;
  void gone() { dropped_ = nullptr; }

 private:
  atomic<std::uint64_t>* dropped_;
};

// f(arguments...), awaited if it is a coroutine.
template <typename F, typename... Args>
auto call_stage(F& f, Args&&... arguments) {
  using Result = std::invoke_result_t<F&, Args&&...>;
  if constexpr (is_lazy<Result>) {
    return std::invoke(f, std::forward<Args>(arguments)...);
  } else {
    return [](F& function, Args... given) -> Lazy<Result> {
      co_return std::invoke(function, std::move(given)...);
    }(f, std::forward<Args>(arguments)...);
  }
}

template <typename Out>
class SendingStage : public Stage {
 public:
  SendingStage(Channel<Out>& out, std::size_t workers, const StageOptions& options)
      : Stage(workers, options), out_(out) {}

 protected:
  // False: no more can be sent.
  template <typename Result>
  Lazy<bool> send(Result result) {
    if constexpr (is_optional<Result>) {
      if (!result) {
        count_filtered();
        co_return true;
      }
      co_return co_await send_one(*result);
    } else {
      Out out(std::move(result));
      co_return co_await send_one(out);
    }
  }

 private:
  template <typename Item>
  Lazy<bool> send_one(Item& item) {
    Out out(std::move(item));
    const auto sent = co_await out_.async_send(std::move(out));
    if (sent) {
      count_sent();
    } else {
      count_dropped();
      cut_off();
    }
    co_return sent.has_value();
  }

  Channel<Out>& out_;
};

template <typename Out, typename F>
class SourceStage final : public SendingStage<Out> {
 public:
  SourceStage(Channel<Out>& out, F f, const StageOptions& options)
      : SendingStage<Out>(out, 1, options), f_(std::move(f)) {}

 private:
  Lazy<> work() override {
    while (true) {
      const auto stop = co_await current_stop();
      if (stop.stop_requested()) break;
      auto item = co_await call_stage(f_);
      static_assert(is_optional<decltype(item)>, "a source gives a std::optional; none ends it");
      if (!item) break;
      this->count_received();
      const bool goes_on = co_await this->send(std::move(*item));
      if (!goes_on) break;
    }
  }

  F f_;
};

template <typename In, typename Out, typename F>
class FreeStage final : public SendingStage<Out> {
 public:
  FreeStage(Channel<In>& in, Channel<Out>& out, std::size_t workers, F f,
            const StageOptions& options)
      : SendingStage<Out>(out, workers, options), in_(in), f_(std::move(f)) {}

 private:
  Lazy<> work() override {
    while (!this->is_cut_off()) {
      auto item = co_await in_.async_receive();
      if (!item) co_return;
      this->count_received();
      InHand in_hand(this->dropped_counter());
      auto result = co_await call_stage(f_, std::move(*item));
      in_hand.gone();
      const bool goes_on = co_await this->send(std::move(result));
      if (!goes_on) break;
    }
    in_.close();  // Who sends to us is told, and those before him.
  }

  Channel<In>& in_;
  F f_;
};

template <typename In, typename F>
class SinkStage final : public Stage {
 public:
  SinkStage(Channel<In>& in, std::size_t workers, F f, const StageOptions& options)
      : Stage(workers, options), in_(in), f_(std::move(f)) {}

 private:
  Lazy<> work() override {
    while (true) {
      auto item = co_await in_.async_receive();
      if (!item) break;
      count_received();
      InHand in_hand(dropped_counter());
      co_await call_stage(f_, std::move(*item));
      in_hand.gone();
      count_sent();
    }
  }

  Channel<In>& in_;
  F f_;
};

template <typename T>
class BroadcastStage final : public Stage {
 public:
  BroadcastStage(Channel<T>& in, std::vector<Channel<T>*> outs, const StageOptions& options)
      : Stage(1, options), in_(in), outs_(std::move(outs)) {}

 private:
  Lazy<> work() override {
    while (!is_cut_off()) {
      auto item = co_await in_.async_receive();
      if (!item) co_return;
      count_received();
      InHand in_hand(dropped_counter());
      for (Channel<T>* each : outs_) {
        T copy(*item);
        const auto sent = co_await each->async_send(std::move(copy));
        if (!sent) cut_off();
      }
      if (is_cut_off()) break;
      in_hand.gone();
      count_sent();
    }
    in_.close();
  }

  Channel<T>& in_;
  const std::vector<Channel<T>*> outs_;
};

// One coroutine takes items in and starts work on each; another sends the results on in that order.
template <typename In, typename Out, typename F>
class OrderedStage final : public SendingStage<Out> {
  using Result = typename decltype(call_stage(std::declval<F&>(), std::declval<In&&>()))::Value;

 public:
  OrderedStage(Channel<In>& in, Channel<Out>& out, std::size_t workers, F f,
               const StageOptions& options)
      : SendingStage<Out>(out, workers, options),
        in_(in),
        f_(std::move(f)),
        places_({.permits = workers, .max = 0, .name = {}}),
        in_order_(workers) {}

 private:
  struct Place {
    Place(In&& given, atomic<std::uint64_t>& dropped) : item(std::move(given)), in_hand(dropped) {}
    In item;
    std::optional<Result> result;
    Event is_done;
    InHand in_hand;  // Until its result is sent.
  };
  using Shared = std::shared_ptr<Place>;

  std::size_t coroutines() const override { return 2; }
  // Only who comes first matters: nothing is published with it.
  Lazy<> work() override { return is_sender_.exchange(true, relaxed) ? take_in() : send_on(); }

  Lazy<> take_in() {
    while (!this->is_cut_off()) {
      const auto place_is_free = co_await places_.async_acquire();
      if (!place_is_free) break;
      auto item = co_await in_.async_receive();
      if (!item) break;
      this->count_received();
      Shared place = std::make_shared<Place>(std::move(*item), this->dropped_counter());
      Shared for_worker = place;
      const auto spawned = this->scope().spawn(work_on(std::move(for_worker)));
      if (!spawned) throw std::runtime_error("a stage could not start a coroutine on its pool");
      const auto sent = co_await in_order_.async_send(std::move(place));
      if (!sent) break;
    }
    in_order_.close();
    if (this->is_cut_off()) in_.close();
  }

  Lazy<> work_on(Shared place) {
    auto result = co_await call_stage(f_, std::move(place->item));
    place->result.emplace(std::move(result));
    place->is_done.set();
  }

  Lazy<> send_on() {
    bool goes_on = true;
    while (goes_on) {
      auto place = co_await in_order_.async_receive();
      if (!place) break;
      const auto done = co_await (*place)->is_done.async_wait();
      if (!done) break;
      (*place)->in_hand.gone();  // send() counts it from here on.
      goes_on = co_await this->send(std::move(*(*place)->result));
      places_.release();
    }
    in_order_.close();
    in_order_.drain();  // Those nobody sends any more are counted as dropped now.
    if (this->is_cut_off()) in_.close();
  }

  Channel<In>& in_;
  F f_;
  Semaphore places_;
  Channel<Shared> in_order_;
  atomic<bool> is_sender_{false};
};

}  // namespace detail
}  // namespace handoff::inline HANDOFF_FLAVOUR
