#include "sim/scheduler.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "handoff/detail/core/error_text.hpp"
#include "handoff/detail/core/operation.hpp"
#include "handoff/detail/core/places.hpp"
#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/core/thread_info.hpp"
#include "handoff/waits.hpp"
#include "sim/carrier.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::sim {

namespace {

using namespace std::chrono_literals;

// Some moment, the same in every run.
constexpr TimePoint beginning{std::chrono::hours(1000)};

constexpr unsigned body_number = 1;

// As many choices in a row may go to one thread while others could run.
constexpr std::uint64_t longest_turn = 10'000;

constexpr std::string_view not_the_same =
    "the body depends on something besides its schedule: it began as in another run, and went on "
    "differently";

// A run whose threads no longer run, as another thread sees it to report on it.
constinit thread_local Scheduler* reported = nullptr;

const char* name_of(Access access) {
  switch (access) {
    case Access::load: return "load";
    case Access::store: return "store";
    case Access::change: return "change";
    case Access::other: break;
  }
  return "look";
}

// Who waits for what, of a run that has stopped. In a thread of its own: a thread that was left in the middle of something may hold a lock.
std::string waits_of(Scheduler& run) {
  struct Answer {
    std::mutex mutex;
    std::condition_variable is_there;
    std::optional<std::string> text;
  };
  const auto answer = std::make_shared<Answer>();
  std::thread([answer, &run] {
    reported = &run;
    std::string text;
    for (const WaitInfo& each : waits()) {
      const std::string what =
          each.operation == "wait" ? "for" : fmt::format("to {}", each.operation);
      text += fmt::format("  {} waits {} {} \"{}\" at {}:{}{}\n", each.thread, what, each.kind,
                          each.name, file_of(each.where), each.where.line(),
                          each.held_by.empty() ? "" : fmt::format(", held by {}", each.held_by));
    }
    const std::lock_guard lock(answer->mutex);
    answer->text = std::move(text);
    answer->is_there.notify_one();
  }).detach();
  std::unique_lock lock(answer->mutex);
  answer->is_there.wait_for(lock, 1s, [&] { return answer->text.has_value(); });
  return answer->text.value_or(std::string());
}

}  // namespace

std::string SimThread::name() const {
  if (!given_name.empty()) return given_name;
  return number == body_number ? "body" : fmt::format("thread {}", number);
}

Scheduler::Scheduler(std::shared_ptr<Strategy> strategy, const RunLimits& limits, bool keeps_events)
    : strategy_(std::move(strategy)),
      limits_(limits),
      keeps_events_(keeps_events),
      draws_(strategy_->draws_seed()),
      now_(beginning) {}

Scheduler::~Scheduler() = default;

// -- From outside ---------------------------------------------------------------------------------

RunResult Scheduler::run(std::function<void()> body) {
  const auto root = start([this, body = std::move(body)] { run_body(body); });
  running_ = root.get();
  give_baton(root->baton);
  auto failure = await_end();
  return {.failure = std::move(failure), .steps = steps_.load(), .switches = switches_};
}

std::optional<std::string> Scheduler::await_end() {
  std::unique_lock lock(mutex_);
  std::uint64_t steps_seen = 0;
  auto since = std::chrono::steady_clock::now();
  while (!ended_.wait_for(lock, 200ms, [&] { return has_ended_; })) {
    const auto steps = steps_.load();
    const auto time = std::chrono::steady_clock::now();
    if (std::exchange(steps_seen, steps) != steps) since = time;
    if (time - since < limits_.patience) continue;
    is_dead_ = true;
    failure_ = fmt::format(
        "{} has not come back to Handoff for {} s, after step {} of the run: it waits for "
        "something outside, or computes for ever",
        who_runs(), std::chrono::duration<double>(limits_.patience).count(), steps);
    break;
  }
  return failure_;
}

// Called while it does not run, as far as one can see.
std::string Scheduler::who_runs() const {
  const SimThread* const running = running_;
  if (running->steps == 0) return running->name();
  return fmt::format("{}, last seen at {},", running->name(), to_string(running->at));
}

void Scheduler::finish_run() {
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  ended_.notify_one();
}

// -- Threads --------------------------------------------------------------------------------------

std::shared_ptr<SimThread> Scheduler::start(std::move_only_function<void()> body) {
  stop_here_if_dead();
  const auto number = static_cast<unsigned>(threads_.size() + 1);
  auto thread = std::make_shared<SimThread>(*this, number, std::move(body));
  carry(thread);
  threads_.push_back(thread);
  ready_.push_back(thread.get());
  strategy_->thread_started(number);
  return thread;
}

void Scheduler::run_body(const std::function<void()>& body) {
  fill_slots();
  body();
  end_sudden_stop();
  destroy_slots();
  check_nobody_lives();
  if (!doom_.empty()) fail(doom_);
}

// Any number of steps of its own, few or many: the strategy says when it takes them.
std::stop_token Scheduler::sudden_stop() {
  if (stopper_ == nullptr) {
    stopper_ = start([this] {
      carried_here()->given_name = "sudden stop";
      for (auto left = draw(std::uint64_t{1} << draw(9)); left > 0; --left) {
        point(&sudden_, Access::other, std::source_location::current());
      }
      const Operation here("the token of sudden_stop()", "stop");
      sudden_.request_stop();
    });
  }
  return sudden_.get_token();
}

void Scheduler::end_sudden_stop() {
  if (stopper_ != nullptr) join(*stopper_);
}

void Scheduler::destroy_slots() {
  for (Slot& each : slots_) {
    if (each.object != nullptr) each.destroy(each.object);
    each = {};
  }
}

void Scheduler::check_nobody_lives() {
  std::string living;
  for (const auto& each : threads_) {
    if (each->number == body_number || each->state == SimThread::State::finished) continue;
    living += fmt::format("{}{}", living.empty() ? "" : ", ", each->name());
  }
  if (!living.empty()) fail(fmt::format("the body has ended, and left alive: {}", living));
}

SimThread* Scheduler::run_thread(SimThread& thread) {
  // The OS thread may have carried another before.
  if (const Uninterrupted alone; true) rename_this_thread(thread.name());
  note(Event::Kind::other, "begins");
  std::exception_ptr error;
  try {
    thread.body();
    thread.body = nullptr;
  } catch (...) {
    error = std::current_exception();
  }
  stop_here_if_dead();
  if (error) fail(fmt::format("{} threw: {}", thread.name(), text_of(error)));
  note(Event::Kind::other, "ends");
  thread.state = SimThread::State::finished;
  std::erase(ready_, &thread);
  if (thread.number == body_number) return nullptr;
  wake_all(&thread);
  SimThread& next = choose(thread);
  running_ = &next;
  return &next;
}

void Scheduler::join(SimThread& thread) {
  const Operation here(thread.name(), "join");
  point(&thread, Access::other, std::source_location::current());
  while (thread.state != SimThread::State::finished) {
    static_cast<void>(block(&thread, TimePoint::max()));
  }
}

// -- Who runs -------------------------------------------------------------------------------------

SimThread& Scheduler::choose(SimThread& from) {
  while (ready_.empty()) let_time_pass();
  const bool can_run = from.state == SimThread::State::ready;
  if (ready_.size() == 1 && can_run) return from;
  // One that looks at something over and over until another has changed it must let that one come.
  const bool has_run_too_long = can_run && ++from.turn > longest_turn;
  const bool is_forced = !can_run || has_run_too_long;
  std::vector<unsigned> numbers;
  numbers.reserve(ready_.size());
  for (const SimThread* each : ready_) {
    if (!has_run_too_long || each != &from) numbers.push_back(each->number);
  }
  std::ranges::sort(numbers);
  const unsigned next = strategy_->next(
      numbers, {.number = from.number, .step = from.steps, .can_go_on = !is_forced});
  if (next == Strategy::nobody) fail(std::string(not_the_same));
  // Also one that waits and is the first to go on: another wait at the same step is another choice.
  if (is_forced || next != from.number) {
    schedule_.changes.push_back(
        {.from = from.number, .step = from.steps, .to = next, .is_forced = is_forced});
  }
  from.turn = next == from.number ? from.turn : 0;
  return *threads_[next - 1];
}

void Scheduler::switch_to(SimThread& self, SimThread& next) {
  if (&self == &next) return;
  ++switches_;
  running_ = &next;
  give_baton(next.baton);
  take_baton(self.baton);
}

void Scheduler::point(const void* object, Access access, const std::source_location& where) {
  SimThread& self = *carried_here();
  stop_here_if_dead();
  if (self.uninterrupted > 0) return;
  if (!doom_.empty()) [[unlikely]]
    fail(doom_);
  ++self.steps;
  self.at = where;
  const auto steps = steps_.load(std::memory_order_relaxed) + 1;
  steps_.store(steps, std::memory_order_relaxed);
  if (steps > limits_.most_steps) {
    fail(fmt::format("more than {} steps: it goes round in circles, or max_steps is too small",
                     limits_.most_steps));
  }
  do_faults(self);
  if (ready_.size() > 1) switch_to(self, choose(self));
  if (keeps_events_) note(Event::Kind::access, name_of(access), object, where);
}

bool Scheduler::block(const void* address, TimePoint deadline) {
  SimThread& self = *carried_here();
  stop_here_if_dead();
  if (deadline <= now_) return false;
  self.state = SimThread::State::blocked;
  self.address = address;
  self.deadline = deadline;
  self.has_timed_out = false;
  self.blocked_since = steps_.load();
  std::erase(ready_, &self);
  note(Event::Kind::other, "waits");
  switch_to(self, choose(self));
  note(Event::Kind::other, self.has_timed_out ? "has waited long enough" : "goes on");
  return !self.has_timed_out;
}

void Scheduler::wake(SimThread& thread, bool has_timed_out) {
  thread.state = SimThread::State::ready;
  thread.address = nullptr;
  thread.has_timed_out = has_timed_out;
  ready_.push_back(&thread);
}

void Scheduler::wake_one(const void* address) {
  SimThread* first = nullptr;
  for (const auto& each : threads_) {
    if (each->state != SimThread::State::blocked || each->address != address) continue;
    if (first == nullptr || each->blocked_since < first->blocked_since) first = each.get();
  }
  if (first != nullptr) wake(*first, false);
}

void Scheduler::wake_all(const void* address) {
  for (const auto& each : threads_) {
    if (each->state == SimThread::State::blocked && each->address == address) wake(*each, false);
  }
}

// All wait: on to the first deadline.
void Scheduler::let_time_pass() {
  TimePoint first = TimePoint::max();
  for (const auto& each : threads_) {
    if (each->state == SimThread::State::blocked) first = std::min(first, each->deadline);
  }
  if (first == TimePoint::max())
    fail("deadlock: all threads wait, and no deadline will come\n" + who_is_blocked());
  now_ = std::max(now_, first);
  if (happens(limits_.faults.clock_jump)) {
    now_ += std::chrono::milliseconds(draws_.below(1000));
  }
  for (const auto& each : threads_) {
    if (each->state == SimThread::State::blocked && each->deadline <= now_) wake(*each, true);
  }
}

void Scheduler::do_faults(SimThread& self) {
  const Faults& faults = limits_.faults;
  if (happens(faults.spurious_wake)) {
    std::vector<SimThread*> blocked;
    for (const auto& each : threads_) {
      if (each->state == SimThread::State::blocked && each->address != each.get())
        blocked.push_back(each.get());
    }
    if (!blocked.empty()) wake(*blocked[draws_.below(blocked.size())], false);
  }
  if (happens(faults.slow_thread)) {
    static_cast<void>(block(&self, now_ + std::chrono::microseconds(1 + draws_.below(1000))));
  }
}

std::uint64_t Scheduler::draw(std::uint64_t below) {
  stop_here_if_dead();
  const auto chosen = strategy_->draw(below);
  if (!chosen) return draws_.below(below);
  if (*chosen >= std::max(below, std::uint64_t{1})) fail(std::string(not_the_same));
  schedule_.draws.push_back(*chosen);
  return *chosen;
}

bool Scheduler::happens(double probability) {
  if (probability <= 0) return false;
  constexpr std::uint64_t parts = std::uint64_t{1} << 32;
  return draws_.below(parts) < static_cast<std::uint64_t>(probability * static_cast<double>(parts));
}

// -- The end of a run that failed -----------------------------------------------------------------

void Scheduler::fail(std::string why) {
  {
    const std::lock_guard lock(mutex_);
    // What was wrong first is why the rest is.
    if (!failure_) failure_ = doom_.empty() ? std::move(why) : doom_;
    has_ended_ = true;
    is_dead_ = true;
  }
  ended_.notify_one();
  park_for_ever();
}

void Scheduler::stop_here_if_dead() {
  if (is_dead_.load(std::memory_order_relaxed)) park_for_ever();
}

void Scheduler::fail_soon(std::string why) {
  if (doom_.empty()) doom_ = std::move(why);
}

void Scheduler::park_for_ever() {
  std::atomic<std::uint32_t> never{0};
  while (true) take_baton(never);
}

std::string Scheduler::who_is_blocked() const {
  std::string text = waits_of(const_cast<Scheduler&>(*this));
  for (const auto& each : threads_) {
    if (each->state != SimThread::State::blocked) continue;
    text += fmt::format("  {} has waited since step {}\n", each->name(), each->blocked_since);
  }
  if (!text.empty()) text.pop_back();
  return text;
}

// -- What is shown --------------------------------------------------------------------------------

void Scheduler::note(Event::Kind kind, std::string_view what, const void* object,
                     const std::source_location& where) {
  if (!keeps_events_) return;
  stop_here_if_dead();
  const SimThread& self = *carried_here();
  events_.push_back({.kind = kind,
                     .step = steps_.load(),
                     .thread = self.number,
                     .depth = self.operations.size(),
                     .operation = self.operations.empty() ? std::string() : self.operations.back(),
                     .what = std::string(what),
                     .object = object,
                     .where = where});
}

void Scheduler::begin_operation(std::string what) {
  note(Event::Kind::begin, what);
  carried_here()->operations.push_back(std::move(what));
}

void Scheduler::end_operation() {
  auto& operations = carried_here()->operations;
  const std::string what = std::move(operations.back());
  operations.pop_back();
  note(Event::Kind::end, what);
}

// -- The hooks of the library ---------------------------------------------------------------------

bool is_simulated() { return carried_here() != nullptr; }

bool waits_simulated() {
  const SimThread* const self = carried_here();
  return self != nullptr && self->uninterrupted == 0;
}

void point(const void* object, Access access, const std::source_location& where) {
  if (SimThread* const self = carried_here()) self->run.point(object, access, where);
}

bool fails_for_no_reason() {
  SimThread* const self = carried_here();
  return self != nullptr && self->uninterrupted == 0 &&
         self->run.happens(self->run.faults().weak_failure);
}

bool refuses() {
  SimThread* const self = carried_here();
  return self != nullptr && self->run.happens(self->run.faults().refusal);
}

bool block(const void* address, TimePoint deadline) {
  return carried_here()->run.block(address, deadline);
}
void wake_one(const void* address) {
  SimThread* const self = carried_here();
  if (self == nullptr) return;
  self->run.point(address, Access::other, std::source_location::current());
  self->run.wake_one(address);
}
void wake_all(const void* address) {
  if (SimThread* const self = carried_here()) self->run.wake_all(address);
}

unsigned this_number() {
  const SimThread* const self = carried_here();
  return self == nullptr ? 0 : self->number;
}

std::uint64_t next_number() {
  if (SimThread* const self = carried_here()) return self->run.next_number();
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

void thread_is_called(std::string_view name) {
  if (SimThread* const self = carried_here()) self->given_name = name;
}

TimePoint now() {
  Scheduler& run = carried_here()->run;
  run.point(&run, Access::other, std::source_location::current());  // Time may pass before it.
  return run.now();
}

std::uint64_t draw(std::uint64_t below) { return carried_here()->run.draw(below); }

Slot* slot(Once which) {
  if (SimThread* const self = carried_here()) return &self->run.slot(which);
  return reported == nullptr ? nullptr : &reported->slot(which);
}

namespace {
bool keeps_events() {
  const SimThread* const self = carried_here();
  return self != nullptr && self->run.keeps_events();
}
}  // namespace

Operation::Operation(const Primitive& on, const char* what) : is_shown_(keeps_events()) {
  if (!is_shown_) return;
  const Uninterrupted alone;  // A label looks at an atomic.
  carried_here()->run.begin_operation(fmt::format("{} {}", what, on.label()));
}
Operation::Operation(std::string_view on, const char* what) : is_shown_(keeps_events()) {
  if (is_shown_) carried_here()->run.begin_operation(fmt::format("{} {}", what, on));
}
Operation::Operation(const std::source_location& by, const char* what) : is_shown_(keeps_events()) {
  if (!is_shown_) return;
  carried_here()->run.begin_operation(fmt::format("{}, awaited at {}", what, to_string(by)));
}
Operation::~Operation() {
  if (is_shown_) carried_here()->run.end_operation();
}

Uninterrupted::Uninterrupted() {
  if (SimThread* const self = carried_here()) ++self->uninterrupted;
}
Uninterrupted::~Uninterrupted() {
  if (SimThread* const self = carried_here()) --self->uninterrupted;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::sim
