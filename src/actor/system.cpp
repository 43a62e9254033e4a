#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "family.ipp"
#include "handoff/detail/actor/extras.hpp"
#include "handoff/detail/actor/reply_state.hpp"
#include "handoff/detail/actor/system_core.hpp"
#include "handoff/detail/core/cores.hpp"
#include "handoff/detail/core/error_text.hpp"
#include "handoff/detail/pool/pool_core.hpp"
#include "handoff/log.hpp"
#include "turn.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {

constexpr std::size_t most_capacity = std::size_t{1} << 31;
constexpr std::size_t longest_name = 255;

std::size_t workers_for(std::size_t asked) { return asked > 0 ? asked : usable_cores(); }

std::unique_ptr<WorkerPool> make_pool(const SystemOptions& options) {
  return std::make_unique<WorkerPool>(
      PoolOptions{.workers = workers_for(options.workers),
                  .capacity = 1024,
                  .name = options.name.empty() ? std::string_view("actors") : options.name});
}

// It says so to a job, whatever room it has.
bool is_closed_to_jobs(WorkerPool& pool) {
  const auto looked = pool.post([] {}, {.deadline = within(Duration::zero())});
  return !looked && looked.error() == Refusal::closed;
}

}  // namespace

SystemCore::SystemCore(const SystemOptions& options, SystemHooks hooks, WorkerPool* pool)
    : own_pool_(pool == nullptr ? make_pool(options) : nullptr),
      pool_(pool == nullptr ? own_pool_.get() : pool),
      hooks_(std::move(hooks)),
      supervision_(*supervise(options.supervision)),
      most_dead_letters_(options.dead_letters),
      is_traced_(options.tracing),
      times_handlers_(options.time_handlers || options.slow_handler > Duration::zero()),
      slow_handler_(options.slow_handler) {
  // As one coroutine of it, so that the pool does not end before the system. First counted in, then looked at: one that is closed later waits.
  PoolCore& core = PoolAccess::core(*pool_);
  const bool is_counted = !core.begin_coroutine();
  const bool is_closed = own_pool_ == nullptr && is_closed_to_jobs(*pool_);
  if (is_counted && !is_closed) return;
  if (is_counted) core.end_coroutine();
  throw std::invalid_argument("the pool of an ActorSystem must not be shut down or full");
}

SystemCore::~SystemCore() { end(); }

// -- Those who live in it -------------------------------------------------------------------------

SpawnSettings SystemCore::settings_of(const ActorOptions& options, const ActorType& type) {
  check(options);
  return {.options = options,
          .executor = &PoolAccess::core(*pool_),
          .id = next_id_.fetch_add(1, relaxed),  // A number of its own; nothing is published.
          .has_started = !type.has_start,
          .is_traced = is_traced_};
}

void SystemCore::check(const ActorOptions& options) const {
  const auto capacity = options.mailbox.capacity;
  if (capacity < 1 || capacity > most_capacity) {
    throw std::invalid_argument(
        fmt::format("mailbox.capacity must be from 1 to {}, got {}", most_capacity, capacity));
  }
  if (options.name.size() > longest_name) {
    throw std::invalid_argument(
        fmt::format("name must have at most {} bytes, got {}", longest_name, options.name.size()));
  }
}

Family& SystemCore::family_of(ActorCell& cell) {
  return cell.parent_ == nullptr ? roots_ : cell.parent_->extras().children;
}

void SystemCore::give_extras(ActorCell& cell, const ActorOptions& options) {
  const std::uint8_t lanes = cell.type().lanes;
  const bool needs_none = options.name.empty() && !options.children && lanes == 1 &&
                          options.outbox == ActorOptions().outbox;
  if (needs_none) return;
  ActorExtras& extras = cell.extras();
  extras.name = options.name;
  extras.policy = options.children;
  extras.outbox_bound.most = options.outbox;
  if (lanes > 1) extras.lanes = std::make_unique<Lane[]>(lanes - 1U);
  if (options.name.empty()) return;
  std::string path = cell.path();
  SmallGuard guard(names_lock_);
  if (!names_.try_emplace(path, &cell).second) {
    throw std::invalid_argument(fmt::format("there is an actor named \"{}\"", path));
  }
}

void SystemCore::make_object(ActorCell& cell, const ActorOptions& options) {
  if (options.dedicated_thread) {
    ActorExtras& extras = cell.extras();
    const std::string name = cell.path();
    extras.own_thread =
        std::make_unique<WorkerPool>(PoolOptions{.workers = 1, .capacity = 1, .name = name});
    cell.executor_ = &PoolAccess::core(*extras.own_thread);
  }
  const Turn turn(cell);
  cell.is_constructing_ = true;
  cell.object_ = cell.construct();
  cell.is_constructing_ = false;
}

void SystemCore::take_in(ActorCell& cell, const ActorOptions& options) {
  give_extras(cell, options);
  alive_.fetch_add(1, seq_cst);
  cell.add_reference();  // The system's, until it has ended.
  // A parent that had no children when it began to stop has no family that was closed.
  const bool is_too_late = cell.parent_ != nullptr && cell.parent_->is_stopping();
  if (is_too_late || !family_of(cell).add(cell)) {
    cell.end_at_once();
    return;
  }
  try {
    make_object(cell, options);
  } catch (...) {
    // It may have sent messages, or have children, and ends as others do.
    forget_name(cell);
    cell.is_constructing_ = false;
    cell.has_failed_ = true;
    cell.begin_stop(StopReason::failed);
    cell.schedule();
    throw;
  }
  // From here on it may have its turn.
  bool wakes = false;
  {
    SmallGuard guard(cell.lock_);
    wakes = cell.urgent_front_ != nullptr || cell.next_locked() != ActorCell::Todo::nothing;
    if (!wakes) cell.is_scheduled_ = false;
  }
  if (wakes) cell.schedule();
}

ActorCell* SystemCore::find(std::string_view path) const {
  SmallGuard guard(names_lock_);
  const auto found = names_.find(std::string(path));
  if (found == names_.end()) return nullptr;
  found->second
      ->add_reference();  // It lives: it takes itself out, under this lock, before it ends.
  return found->second;
}

void SystemCore::forget_name(ActorCell& cell) {
  const ActorExtras* const extras = cell.extras_if_any();
  if (extras == nullptr || extras->name.empty()) return;
  const std::string path = cell.path();
  SmallGuard guard(names_lock_);
  if (const auto found = names_.find(path); found != names_.end() && found->second == &cell) {
    names_.erase(found);
  }
}

namespace {
// Ends the thread of an actor that had one of its own: not from that thread.
struct RetiredThread final : Runnable {
  RetiredThread(std::unique_ptr<WorkerPool> pool, void (*then)(SystemCore&), SystemCore& system)
      : Runnable(&RetiredThread::end), thread(std::move(pool)), gone(then), core(system) {}
  static void end(Runnable& runnable) {
    const std::unique_ptr<RetiredThread> self(static_cast<RetiredThread*>(&runnable));
    self->thread.reset();
    self->gone(self->core);
  }
  std::unique_ptr<WorkerPool> thread;
  void (*const gone)(SystemCore&);
  SystemCore& core;
};
}  // namespace

void SystemCore::has_ended(ActorCell& cell) {
  if (is_ending()) ended_.fetch_add(1, relaxed);  // A counter.
  if (cell.is_in_family_) family_of(cell).remove(cell);
  if (cell.parent_ != nullptr) cell.parent_->poke();
  ActorExtras* const extras = cell.extras_if_any();
  if (extras != nullptr && extras->own_thread) {
    constexpr auto then = [](SystemCore& core) { core.one_is_gone(); };
    auto* const retired = new RetiredThread(std::move(extras->own_thread), then, *this);
    PoolAccess::core(*pool_).run_soon(*retired);
    return;
  }
  one_is_gone();
}

// Afterwards the system may be gone.
void SystemCore::one_is_gone() {
  if (alive_.fetch_sub(1, seq_cst) == 1) all_gone_.set();
}

// -- The end --------------------------------------------------------------------------------------

void SystemCore::stop_all(ActorCell::Stop how) {
  roots_.for_each([&](ActorCell& each) { each.request_stop(how); });
}

ActorShutdownReport SystemCore::shutdown(const Shutdown& how) {
  if (const ActorCell* const cell = ActorCell::current();
      cell != nullptr && &cell->system() == this) {
    throw std::logic_error(fmt::format(
        "shutdown() was called by an actor of the same system, {}, and would wait for itself",
        cell->path()));
  }
  const auto turn = shutting_down_.hold();
  const auto ended_before = ended_.load(relaxed);
  hands_back_.store(true, seq_cst);
  roots_.close();
  if (counts_itself_.exchange(false, seq_cst)) one_is_gone();
  // wait() as well: then whoever has set it is done with it.
  bool is_over = all_gone_.is_set() && all_gone_.wait().has_value();
  if (!is_over && how.finish() > Duration::zero()) {
    stop_all(ActorCell::Stop::drained);
    is_over =
        all_gone_.wait({.deadline = within(how.finish()), .stop = how.early_end()}).has_value();
  }
  if (!is_over) {
    stop_all(ActorCell::Stop::now);
    if (how.interrupts()) stop_source_.request_stop();
    is_over = all_gone_.wait({.deadline = within(how.grace())}).has_value();
  }
  ActorShutdownReport report;
  if (is_over && !std::exchange(has_let_pool_go_, true)) {
    PoolAccess::core(*pool_).end_coroutine();
  }
  report.stopped = ended_.load(relaxed) - ended_before;
  if (!is_over) report.still_alive = inspect();
  SmallGuard guard(notes_lock_);
  report.handed_back = std::exchange(handed_back_, {});
  return report;
}

void SystemCore::end() {
  auto report = shutdown(interrupt(Duration::zero()));
  // Not if nobody is in the list: one that has just left it is still to be counted out.
  static_cast<void>(all_gone_.wait());
  if (!std::exchange(has_let_pool_go_, true)) PoolAccess::core(*pool_).end_coroutine();
  {
    SmallGuard guard(notes_lock_);
    for (auto& each : handed_back_) report.handed_back.push_back(std::move(each));
    handed_back_.clear();
  }
  if (!report.handed_back.empty()) {
    log_line(
        fmt::format("an ActorSystem ended with {} messages that were accepted and not handled; "
                    "shutdown() hands them back",
                    report.handed_back.size()));
  }
}

// -- What could not be delivered ------------------------------------------------------------------

bool SystemCore::keep_undelivered(ActorCell& to, Envelope& envelope) {
  if (!hands_back_.load(seq_cst)) return false;
  if (ReplyCore* const reply = take_reply(envelope.extra)) {
    reply->refuse(AskError::Code::closed, nullptr);
  }
  Undelivered undelivered{.actor = to.path(),
                          .message = AnyMessage::from(envelope.handler->ops, envelope.place())};
  SmallGuard guard(notes_lock_);
  handed_back_.push_back(std::move(undelivered));
  return true;
}

void SystemCore::note_dead_letter(ActorCell& to, MessageView message, std::string_view reason) {
  const std::string path = to.path();
  dead_letter_log_.note(fmt::format("dead letter: {} to {}: {}", message.type(), path, reason));
  if (most_dead_letters_ > 0) {
    DeadLetterNote note{.actor = path,
                        .type = std::string(message.type()),
                        .reason = std::string(reason),
                        .at = now()};
    SmallGuard guard(notes_lock_);
    if (notes_.size() == most_dead_letters_) notes_.pop_front();
    notes_.push_back(std::move(note));
  }
  dead_letter_count_.fetch_add(1, release);  // Pairs with dead_letter_count().
  if (!hooks_.on_dead_letter) return;
  try {
    hooks_.on_dead_letter({.actor = path, .message = message, .reason = reason});
  } catch (...) {
    failure_log_.note(fmt::format("on_dead_letter threw: {}", text_of(std::current_exception())));
  }
}

std::vector<DeadLetterNote> SystemCore::dead_letters() const {
  SmallGuard guard(notes_lock_);
  return {notes_.begin(), notes_.end()};
}

void SystemCore::note_dropped(const ActorCell& to) {
  dropped_.fetch_add(1, relaxed);  // A counter.
  drop_log_.note(fmt::format("{} is full, and messages are dropped", to.path()));
}

void SystemCore::note_failure(const Failure& failure, Directive directive) {
  if (!hooks_.on_failure) {
    failure_log_.note(fmt::format("{} failed{}{}: {} ({})", failure.actor,
                                  failure.message ? " at " : "", failure.message.type(),
                                  text_of(failure.error), to_string(directive)));
    return;
  }
  try {
    hooks_.on_failure(failure, directive);
  } catch (...) {
    failure_log_.note(fmt::format("on_failure threw: {}", text_of(std::current_exception())));
  }
}

void SystemCore::note_slow(const ActorCell& cell, std::string_view message, Duration took) {
  if (slow_handler_ <= Duration::zero() || took < slow_handler_) return;
  slow_log_.note(fmt::format("{} took {} ms for {}", cell.path(),
                             std::chrono::duration_cast<std::chrono::milliseconds>(took).count(),
                             message));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
