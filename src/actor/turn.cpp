// An actor's turn: what is urgent first, then messages, until there is nothing left or others should run.
#include "turn.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "handoff/detail/actor/extras.hpp"
#include "handoff/detail/actor/handler_task.hpp"
#include "handoff/detail/actor/reply_state.hpp"
#include "handoff/detail/actor/trace.hpp"
#include "handoff/detail/core/coarse_clock.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {
constinit thread_local ActorCell* current_cell = nullptr;
constinit thread_local OutRun* current_outbox = nullptr;
}  // namespace

// Out of line, as everything that reads the variables: a coroutine may have kept the address they have on another thread.
[[gnu::noinline]] ActorCell* ActorCell::current() { return current_cell; }
[[gnu::noinline]] OutRun* Turn::outbox() { return current_outbox; }
[[gnu::noinline]] void Turn::set_outbox(OutRun* last) { current_outbox = last; }

[[gnu::noinline]] Turn::Turn(ActorCell& cell)
    : before_(std::exchange(current_cell, &cell)), outbox_before_(current_outbox) {
  ActorExtras* const extras = cell.extras_if_any();
  current_outbox = extras == nullptr || extras->outbox.empty() ? nullptr : &extras->outbox.back();
}
[[gnu::noinline]] Turn::~Turn() {
  current_cell = before_;
  current_outbox = outbox_before_;
}

void ActorCell::take_turn(Runnable& runnable) {
  auto& self = static_cast<ActorCell&>(runnable);
  After after;
  {
    const Turn turn(self);
    self.has_had_turn_ = true;
    after = self.work();
  }
  // Idle: it may be another thread's turn by now, or gone.
  if (after == After::more) self.executor_->run_later(self);
  if (after == After::gone) self.drop_reference();
}

bool ActorCell::run_urgently(Runnable& runnable) {
  bool wakes = false;
  {
    SmallGuard guard(lock_);
    if (phase() == Phase::stopped) return false;  // Which is set under the lock.
    runnable.next = nullptr;
    (urgent_back_ == nullptr ? urgent_front_ : urgent_back_->next) = &runnable;
    urgent_back_ = &runnable;
    needs_attention_.store(true, relaxed);  // A hint to look under the lock.
    wakes = !std::exchange(is_scheduled_, true);
  }
  if (wakes) schedule();
  return true;
}

void ActorCell::poke() {
  bool wakes = false;
  {
    SmallGuard guard(lock_);
    if (phase() == Phase::stopped) return;
    wakes = !std::exchange(is_scheduled_, true);
  }
  if (wakes) schedule();
}

// Whether it takes no message for now.
bool ActorCell::is_held_up() const {
  const ActorExtras* const extras = extras_if_any();
  if (extras == nullptr) return false;
  return !extras->outbox.empty() || (extras->tasks != nullptr && !is_reentrant());
}

ActorCell::Todo ActorCell::next_locked() {
  const ActorExtras* const extras = extras_if_any();
  const bool has_tasks = extras != nullptr && extras->tasks != nullptr;
  switch (phase()) {
    case Phase::running:
      if (stop_ == Stop::now && !has_tasks) return Todo::stop;
      if (!has_started_) return Todo::start;
      if (stop_ == Stop::now || is_held_up()) return Todo::nothing;
      if (extras != nullptr && !extras->deferred.empty()) return Todo::deferred;
      if (has_messages_locked()) return Todo::messages;
      return stop_ == Stop::drained && !has_tasks ? Todo::stop : Todo::nothing;
    case Phase::failed: return stop_ == Stop::now && !has_tasks ? Todo::stop : Todo::nothing;
    case Phase::restarting:
      if (has_tasks || !children_are_gone()) return Todo::nothing;
      if (stop_ == Stop::now) return Todo::stop;
      return may_rebuild_ || object_ != nullptr ? Todo::rebuild : Todo::nothing;
    case Phase::stopping: return has_tasks || !children_are_gone() ? Todo::nothing : Todo::finish;
    case Phase::stopped: break;
  }
  return Todo::nothing;
}

void ActorCell::note_doing(Todo todo) {
  static constexpr Doing by[] = {Doing::nothing,  Doing::starting,   Doing::handling,
                                 Doing::handling, Doing::restarting, Doing::nothing,
                                 Doing::ending};
  doing_.store(by[static_cast<std::size_t>(todo)], relaxed);  // For people.
}

ActorCell::After ActorCell::work() {
  int budget = batch_size;
  while (true) {
    Runnable* urgent = nullptr;
    Todo todo = Todo::nothing;
    bool lets_in = false;
    {
      SmallGuard guard(lock_);
      // Who enters the line does that under the lock, and looks at what was handled by then: so it is seen here, or has seen all there is.
      const bool owes = has_line_.load(relaxed) && owes_room();
      if (urgent_front_ == nullptr) todo = next_locked();
      lets_in = owes && (todo != Todo::messages || is_worth_letting_in());
      if (!lets_in) {
        needs_attention_.store(false, relaxed);  // Under the lock, as what it stands for.
        urgent = std::exchange(urgent_front_, nullptr);
        urgent_back_ = nullptr;
        if (urgent == nullptr && todo == Todo::nothing) {
          is_scheduled_ = false;
          note_doing(todo);
          return After::idle;
        }
        const bool takes_all = type_.lanes == 1 && when_full_ != WhenFull::drop_oldest;
        if (todo == Todo::messages && takes_all && taken_.is_empty()) taken_ = lane_.take_all();
      }
    }
    if (lets_in) {
      publish_handled();
      continue;
    }
    note_doing(urgent != nullptr ? Todo::deferred : todo);
    if (urgent != nullptr) {
      run_urgent_lane(urgent);
      --budget;
    }
    switch (todo) {
      case Todo::nothing: break;
      case Todo::start: start(); break;
      case Todo::messages:
        if (taken_.is_empty()) {
          while (budget > 0 && handle_one_locked_out(budget)) {
          }
        } else {
          while (budget > 0 && handle_batch(budget)) {
          }
        }
        break;
      case Todo::deferred: run_deferred(); break;
      case Todo::rebuild: rebuild(); break;
      case Todo::stop:
        begin_stop(system_.is_ending() ? StopReason::shutdown : StopReason::requested);
        break;
      case Todo::finish:
        if (finish()) return After::gone;
        break;
    }
    if (budget <= 0) return After::more;
  }
}

void ActorCell::run_urgent_lane(Runnable* first) {
  while (first != nullptr) {
    Runnable& each = *std::exchange(first, first->next);
    each.run(each);
  }
}

bool ActorCell::defer(Runnable& runnable) {
  if (phase() == Phase::running && has_started_ && !is_held_up()) {
    SmallGuard guard(lock_);
    if (stop_ != Stop::now) return false;  // Otherwise it has called its last handler.
  }
  extras().deferred.push_back(&runnable);
  return true;
}

void ActorCell::run_deferred() {
  const auto deferred = std::exchange(extras().deferred, {});
  for (Runnable* const each : deferred) each->run(*each);
}

// Something was handled since senders were last let in.
bool ActorCell::owes_room() const {
  return static_cast<std::uint32_t>(handled_.load(relaxed)) != last_let_in_;  // One writer.
}

// To wake a sender for one message costs more than the message. A good part of the mailbox is worth it. They are let in as well before the actor does
// anything but handle the next message, or nothing; and before a handler waits: see about_to_wait().
bool ActorCell::is_worth_letting_in() const {
  if (extras_if_any()->own_thread)
    return true;  // It may block. Who stands in line has made extras.
  const auto handled = static_cast<std::uint32_t>(handled_.load(relaxed));  // One writer.
  const std::uint32_t enough = std::clamp<std::uint32_t>(capacity_ / 4, 32, 256);
  return handled - last_let_in_ >= std::min(enough, capacity_);
}

namespace {
void count(atomic<std::uint64_t>& counter) {
  counter.store(counter.load(relaxed) + 1, relaxed);  // One writer; published by publish_handled().
}
}  // namespace

// Handles the next of what it has taken. False if something else comes first, or nothing is left.
bool ActorCell::handle_batch(int& budget) {
  Envelope& envelope = taken_.current(type_.stride);
  --budget;
  // Senders look at it to find room; that they are told is up to publish_handled().
  count(handled_);
  if (has_line_.load(relaxed) && is_worth_letting_in()) publish_handled();
  handle(envelope);
  envelope.handler->ops.destroy(envelope.place());
  taken_.advance();
  // A guess: who has set it has also made sure that there is another look under the lock.
  if (needs_attention_.load(relaxed) || phase() != Phase::running) return false;
  return !taken_.is_empty() && !is_held_up();
}

// The same for a mailbox from which others may take, or with several lanes: the next is moved out under the lock.
bool ActorCell::handle_one_locked_out(int& budget) {
  alignas(std::max_align_t) std::array<std::byte, sizeof(Envelope) + most_in_place> memory;
  auto& envelope = *reinterpret_cast<Envelope*>(memory.data());
  {
    SmallGuard guard(lock_);
    std::uint8_t number = 0;
    while (number < type_.lanes && lane_locked(number).is_empty()) ++number;
    if (number == type_.lanes) return false;
    Lane& lane = lane_locked(number);
    Envelope& first = lane.front(type_.stride);
    envelope.handler = first.handler;
    envelope.extra = first.extra;
    first.handler->ops.relocate(first.place(), envelope.place());
    lane.pop();
  }
  --budget;
  count(handled_);
  if (has_line_.load(relaxed) && is_worth_letting_in()) publish_handled();
  handle(envelope);
  envelope.handler->ops.destroy(envelope.place());
  if (needs_attention_.load(relaxed) || phase() != Phase::running) return false;  // As above.
  return !is_held_up();
}

namespace {
// How long a handler takes, if that is to be known.
class Stopwatch {
 public:
  Stopwatch(ActorCell& cell, std::string_view message) : cell_(cell), message_(message) {
    if (cell.system().times_handlers()) began_ = now();
  }
  ~Stopwatch() {
    if (!began_) return;
    const Duration took = now() - *began_;
    ActorExtras& extras = cell_.extras();
    // For inspect(); one writer.
    extras.busy.store(extras.busy.load(relaxed) + took.count(), relaxed);
    if (took.count() > extras.longest.load(relaxed)) extras.longest.store(took.count(), relaxed);
    cell_.system().note_slow(cell_, message_, took);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  ActorCell& cell_;
  const std::string_view message_;
  std::optional<TimePoint> began_;
};
}  // namespace

void ActorCell::handle(Envelope& envelope) {
  if (envelope.extra != 0 || system_.times_handlers()) return handle_with_extras(envelope);
  ReplyCore* reply = nullptr;
  answering_ = &reply;
  std::exception_ptr error;
  try {
    envelope.handler->handle(*this, envelope.place(), reply);
  } catch (...) {
    error = std::current_exception();
  }
  answering_ = nullptr;
  if (error) [[unlikely]]
    fail(std::move(error), envelope.view());
}

// A question, or one that is traced or timed.
void ActorCell::handle_with_extras(Envelope& envelope) {
  TraceContext trace;
  ReplyCore* reply = take_reply(envelope.extra, &trace);
  std::optional<TraceHere> traced;
  if (trace.is_valid()) traced.emplace(next_span(trace));
  if (reply != nullptr && coarse_now() >= reply->deadline().when()) {
    // Nobody waits for the answer any more.
    reply->refuse(AskError::Code::timed_out, nullptr);
    return dead_letter(envelope.view(), "asked, and not waited for any more");
  }
  answering_ = &reply;
  std::exception_ptr error;
  try {
    const Stopwatch stopwatch(*this, envelope.handler->ops.name);
    envelope.handler->handle(*this, envelope.place(), reply);
  } catch (...) {
    error = std::current_exception();
  }
  answering_ = nullptr;
  if (error) fail(error, envelope.view());
  // Last, and the error is his then: who hears of a failure finds it noted.
  const auto code = error ? AskError::Code::failed : AskError::Code::unanswered;
  if (reply != nullptr) reply->refuse(code, std::move(error));
}

ReplyCore* ActorCell::take_reply_of_current() {
  if (HandlerTask* const task = HandlerTask::running_of(*this)) return task->take_reply();
  return answering_ == nullptr ? nullptr : std::exchange(*answering_, nullptr);
}

void ActorCell::give_back_reply(ReplyCore* reply) {
  if (HandlerTask* const task = HandlerTask::running_of(*this)) {
    task->give_back_reply(reply);
  } else {
    *answering_ = reply;
  }
}

// -- Coroutines of handlers -----------------------------------------------------------------------

void TurnExecutor::run_soon(Runnable& runnable) noexcept {
  const bool is_there = cell_.run_urgently(runnable);
  HANDOFF_ASSERT(is_there);  // It does not stop before its coroutines have ended.
}

HandlerTask* HandlerTask::running_of(ActorCell& cell) {
  const Ambient* const ambient = current_ambient();
  ActorExtras* const extras = cell.extras_if_any();
  if (ambient == nullptr || extras == nullptr) return nullptr;
  for (HandlerTask* each = extras->tasks; each != nullptr; each = each->next_) {
    if (static_cast<const Ambient*>(each) == ambient) return each;
  }
  return nullptr;
}

const Wait& limits_of(SystemCore& system) { return system.limits(); }

void ActorCell::begin_task(HandlerTask& task) {
  ActorExtras& all = extras();
  task.next_ = all.tasks;
  if (task.next_ != nullptr) task.next_->previous_ = &task;
  all.tasks = &task;
  all.task_count.store(all.task_count.load(relaxed) + 1, relaxed);  // For people.
}

void ActorCell::end_task(HandlerTask& task, std::exception_ptr error, MessageView message) {
  ActorExtras& all = extras();
  (task.previous_ == nullptr ? all.tasks : task.previous_->next_) = task.next_;
  if (task.next_ != nullptr) task.next_->previous_ = task.previous_;
  all.task_count.store(all.task_count.load(relaxed) - 1, relaxed);  // For people.
  if (error) fail(std::move(error), message);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
