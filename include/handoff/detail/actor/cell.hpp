// An actor without its type: the mailbox, whose turn it is, and how it lives and ends.
//
// One message at a time. An actor is a Runnable of its executor, and is `scheduled_` at most once: whoever gives it something to do, and finds it
// not scheduled, schedules it, under lock_. Its turn ends only when, under the same lock, there is nothing left to do. All that follows
// from a message, or from anything else that happens to the actor, is done in its turn: so it is done by one thread at a time, and in
// order.
//
// Two lanes. Messages go to the mailbox, which is bounded. What must not be lost nor wait behind messages goes to the urgent lane, as a Runnable that its owner has
// made room for beforehand: coroutines of handlers that go on, timers, the end of one that is watched, failures of children. It is bounded by
// how many of those there are. Those that call a handler wait until one may be called (defer).
//
// Room. A message counts from when it is put in the mailbox until its handler begins: pushed_ + reserved_ - handled_ <= capacity_. The actor counts handled_
// without the lock. Senders that wait stand in a line of their own (SenderLine). Who is let in has its room reserved; as long as somebody stands
// there, newcomers go to the end of it. Who enters the line does so under lock_, and looks at the count; the actor takes the
// same lock after it has counted, before it goes on to something else or has nothing left to do, and looks for a line.
//
// Locks: that of a line before lock_; a family's before lock_; the graph's last.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handoff/detail/actor/ask_error.hpp"
#include "handoff/detail/actor/lane.hpp"
#include "handoff/detail/actor/out_run.hpp"
#include "handoff/detail/actor/trace.hpp"
#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/core/task.hpp"
#include "handoff/refusal.hpp"
#include "handoff/wait.hpp"
#include "handoff/when_full.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {
struct ActorInfo;
struct Failure;
struct Supervision;
struct Terminated;
enum class StopReason : std::uint8_t;
enum class Directive : std::uint8_t;
}  // namespace handoff::inline HANDOFF_FLAVOUR

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class SystemCore;
class SenderLine;
class HandlerTask;
class RoomWait;
class Sending;
class Flushing;
class Family;
struct Order;
struct Watch;
struct ActorExtras;
struct SpawnSettings;

// What all actors of one class have in common.
struct ActorType {
  std::string_view name;
  std::uint32_t stride;  // Of a message in a mailbox.
  std::uint8_t lanes;    // Of its mailbox: one for each priority its messages have.
  bool is_reentrant;     // Takes the next message while a coroutine of a handler waits.
  bool has_start;        // on_start().
};

enum class Pushed : std::uint8_t { done, full, closed };

// How a handler's message waits for room: by itself, in the outbox; or with the thread, which waits for the answer anyway.
enum class Waits : std::uint8_t { by_outbox, here };

// Puts a message where it is told to.
class MessageMaker {
 public:
  template <typename Construct>
  explicit MessageMaker(const Construct& construct)
      : context_(&construct), make_([](const void* context, void* place) {
          (*static_cast<const Construct*>(context))(place);
        }) {}
  void operator()(void* place) const { make_(context_, place); }

 private:
  const void* context_;
  void (*make_)(const void* context, void* place);
};

class ActorCell : private Runnable {
 public:
  enum class Phase : std::uint8_t { running, failed, restarting, stopping, stopped };
  // How many messages an actor takes before others have their turn.
  static constexpr int batch_size = 64;

  ActorCell(const ActorCell&) = delete;
  ActorCell& operator=(const ActorCell&) = delete;

  void add_reference() { references_.fetch_add(1, relaxed); }  // By one who has a reference.
  void drop_reference() {
    // acq_rel: what others did with it happens before it is destroyed.
    if (references_.fetch_sub(1, acq_rel) == 1) delete this;
  }

  const ActorType& type() const { return type_; }
  SystemCore& system() const { return system_; }
  std::uint64_t id() const { return id_; }
  void* object() const { return object_; }
  // "shop/carts/7": its parents' names before it.
  std::string path() const;
  bool is_named(std::string_view name) const;
  WhenFull when_full() const { return when_full_; }
  // Messages that wait; as many as there can be, if it has stopped.
  std::size_t load() const;

  // -- Sending -----------------------------------------------------------------------------------

  // Now or not. `extra` is taken over if it is done.
  template <typename Construct>
  Pushed try_push(const MessageHandler& handler, std::uintptr_t extra, const Construct& construct) {
    bool wakes = false;
    {
      SmallGuard guard(lock_);
      if (is_closed_) [[unlikely]]
        return Pushed::closed;
      if (has_no_room_locked()) [[unlikely]]
        return Pushed::full;
      wakes = put_locked(handler, extra, construct);
    }
    if (wakes) schedule();
    return Pushed::done;
  }
  // By the policy when it is full, from a thread or a handler.
  template <typename Construct>
  std::optional<Refusal> push(const MessageHandler& handler, ReplyCore* reply, Waits how,
                              const Wait& wait, std::source_location where,
                              const Construct& construct) {
    if (wait.stop.stop_requested()) return Refusal::stopped;
    if (!is_traced_) [[likely]] {
      OutRun* const waiting = outbox_of_sender();
      if (waiting == nullptr) [[likely]] {
        const Pushed pushed = try_push(handler, extra_of(reply), construct);
        if (pushed == Pushed::done) [[likely]]
          return std::nullopt;
        if (pushed == Pushed::closed) return Refusal::closed;
      } else if (waiting->to == this && how == Waits::by_outbox &&
                 waiting->bound->size < waiting->bound->most) {
        waiting->add(handler, extra_of(reply), type_.stride, construct);
        return std::nullopt;
      }
    }
    return push_slowly(handler, reply, MessageMaker(construct), how, wait, where);
  }
  // From a coroutine: now, or by the outbox behind what waits there. `timed_out`: it has to wait for room.
  std::optional<Refusal> push_now_or_behind(const MessageHandler& handler, ReplyCore* reply,
                                            MessageMaker make);
  // For who was let in: there is room. False if it was closed meanwhile.
  bool push_reserved(const MessageHandler& handler, std::uintptr_t extra, MessageMaker make);
  // Moves as many of an outbox into the mailbox as were granted, or if nothing was, as there is room for. 0 if it is closed, or full.
  std::uint64_t push_from_outbox(OutRun& messages, std::uint32_t granted);
  // It will not be handled.
  void dispose(Envelope& envelope, std::string_view reason, AskError::Code answer);
  // The refusal of a full mailbox that does not let its senders wait, counted; nothing if it makes room by dropping, or lets them wait.
  std::optional<Refusal> refuse_full();
  bool push_evicting(const MessageHandler& handler, std::uintptr_t extra, MessageMaker make);
  std::uintptr_t extra_for(ReplyCore* reply) const;
  bool is_traced() const { return is_traced_; }

  // -- Its turn ----------------------------------------------------------------------------------

  // To be run in its turn, before messages. False if it has stopped: nothing is run then.
  bool run_urgently(Runnable& runnable);
  // Something it waits for has changed.
  void poke();
  // Whose turn it is on the calling thread; null if nobody's.
  static ActorCell* current();

  // -- For its own handlers, in its turn ---------------------------------------------------------

  // The thread is: those for whom there is room by now come in first.
  void about_to_wait() { publish_handled(); }
  ReplyCore* take_reply_of_current();
  void give_back_reply(ReplyCore* reply);
  // Returns what was decided.
  Directive fail(std::exception_ptr error, MessageView message);
  // For what is in the urgent lane and calls a handler: true if it is to be run later.
  bool defer(Runnable& runnable);
  // A handler's coroutine.
  void begin_task(HandlerTask& task);
  void end_task(HandlerTask& task, std::exception_ptr error, MessageView message);
  ActorExtras& extras();
  ActorExtras* extras_if_any() const { return extras_.load(acquire); }  // Pairs with extras().
  bool is_reentrant() const { return type_.is_reentrant; }
  // Whether messages to that one wait for room, and others have to go behind them.
  bool has_in_outbox(const ActorCell& to) const;
  bool is_constructing() const { return is_constructing_; }
  bool is_stopping() const { return phase() >= Phase::stopping; }
  void dead_letter(MessageView message, std::string_view reason);

  // -- Life --------------------------------------------------------------------------------------

  enum class Stop : std::uint8_t { none, drained, now };
  void request_stop(Stop how);
  bool is_stopped() const { return phase_.load(acquire) == Phase::stopped; }  // See finish().
  Phase phase() const { return phase_.load(relaxed); }  // For people, and for its own turn.
  void describe(ActorInfo& info);
  // False if it has stopped.
  bool add_watch(const std::shared_ptr<Watch>& watch);
  void remove_watch(Watch& watch);
  Terminated how_it_ended();  // Of one that has stopped.

 protected:
  ActorCell(SystemCore& system, const ActorType& type, ActorCell* parent,
            const SpawnSettings& settings);
  virtual ~ActorCell();

  // Makes the object, and says where it is. May throw.
  virtual void* construct() = 0;
  virtual void destroy_object() noexcept = 0;
  virtual void call_on_start() = 0;
  virtual void call_on_stop() = 0;

 private:
  friend class SystemCore;
  friend class RoomWait;
  friend class Sending;
  friend class Flushing;
  friend struct Order;
  friend class Family;
  enum class Todo : std::uint8_t { nothing, start, deferred, messages, rebuild, stop, finish };
  enum class After : std::uint8_t { idle, more, gone };
  enum class Doing : std::uint8_t { nothing, handling, starting, restarting, ending };

  // -- The mailbox (mailbox.cpp) -----------------------------------------------------------------
  bool has_no_room_locked() {
    if (has_line_.load(relaxed)) return true;  // Written under the lock.
    if (pushed_ + reserved_ - handled_seen_ < capacity_) [[likely]]
      return false;
    return refresh_room_locked() == 0;
  }
  std::uint64_t refresh_room_locked();
  template <typename Construct>
  bool put_locked(const MessageHandler& handler, std::uintptr_t extra, const Construct& construct) {
    Lane& lane = type_.lanes == 1 ? lane_ : lane_locked(handler.lane);
    Envelope& envelope = lane.reserve(type_.stride);
    try {
      construct(envelope.place());
    } catch (...) {
      lane.abandon_reserved();
      throw;
    }
    envelope.handler = &handler;
    envelope.extra = extra;
    lane.commit();
    ++pushed_;
    return !std::exchange(is_scheduled_, true);
  }
  Lane& lane_locked(std::uint8_t number);
  bool has_messages_locked() const;
  // The last messages that the actor whose turn it is has sent and that wait for room; null if none do.
  static OutRun* outbox_of_sender();
  std::optional<Refusal> push_slowly(const MessageHandler& handler, ReplyCore* reply,
                                     MessageMaker make, Waits how, const Wait& wait,
                                     std::source_location where);
  std::optional<Refusal> push_to_outbox(ActorCell& sender, const MessageHandler& handler,
                                        std::uintptr_t extra, MessageMaker make);
  bool goes_behind() const;
  SenderLine& line();
  void let_senders_in();
  bool let_some_in(SenderLine& line);
  void publish_handled();
  void clear_mailbox(std::string_view reason);

  // -- The turn (turn.cpp) -----------------------------------------------------------------------
  static void take_turn(Runnable& runnable);
  void schedule() { has_had_turn_ ? executor_->run_soon(*this) : executor_->run_newcomer(*this); }
  After work();
  void note_doing(Todo todo);
  Todo next_locked();
  bool is_held_up() const;
  bool handle_batch(int& budget);
  bool handle_one_locked_out(int& budget);
  void handle(Envelope& envelope);
  void handle_with_extras(Envelope& envelope);
  bool owes_room() const;
  bool is_worth_letting_in() const;
  void run_urgent_lane(Runnable* first);
  void run_deferred();

  // -- Life (life.cpp) ---------------------------------------------------------------------------
  void start();
  void begin_stop(StopReason reason);
  bool finish();
  void rebuild();
  void begin_restart(Duration delay);
  void restart_or_stop(const Supervision& policy);
  const Supervision& policy() const;
  Family* family() const;
  Directive decide(const Supervision& policy, const Failure& failure) const;
  void apply(Directive directive, const Supervision& policy, const std::exception_ptr& error);
  void wait_before_rebuild(Duration delay);
  void resume_after_failure();
  void tell_watchers(std::vector<std::shared_ptr<Watch>> watchers);
  void tear_down_object();
  bool children_are_gone() const;
  std::string_view what_it_does() const;
  void end_at_once();

  // What is used by senders.
  const ActorType& type_;
  mutable SmallLock lock_;
  atomic<std::uint32_t> references_{1};
  // Guarded by lock_.
  Lane lane_;
  std::uint64_t pushed_ = 0;
  std::uint64_t handled_seen_ = 0;
  std::uint32_t reserved_ = 0;
  const std::uint32_t capacity_;
  Runnable* urgent_front_ = nullptr;
  Runnable* urgent_back_ = nullptr;
  bool is_scheduled_ = true;  // Until it has been made.
  bool is_closed_ = false;
  Stop stop_ = Stop::none;
  const WhenFull when_full_;
  bool is_traced_;
  atomic<bool> has_line_{false};  // Changed under the lock.
  // Something came to the urgent lane, or a stop. Set under the lock.
  atomic<bool> needs_attention_{false};
  bool is_in_family_ = false;  // Guarded by the lock of the family.
  Executor* executor_;
  atomic<ActorExtras*> extras_{nullptr};  // Made under the lock, and stays.

  // Its turn's own.
  atomic<Phase> phase_{Phase::running};
  atomic<Doing> doing_{Doing::nothing};  // For people: what may be in its way.
  bool has_started_;
  bool is_constructing_ = false;
  bool has_had_turn_ = false;  // Also read by who schedules it, between turns.
  bool may_rebuild_ = false;
  bool has_failed_ = false;  // Which is why it stops.
  StopReason reason_{};
  std::uint32_t last_let_in_ = 0;  // The low half of handled_, when senders were last let in.
  Cursor taken_;
  atomic<std::uint64_t> handled_{0};
  ReplyCore** answering_ = nullptr;
  void* object_ = nullptr;

  SystemCore& system_;
  ActorCell* const parent_;  // Kept alive by us; null: the system.
  const std::uint64_t id_;
  // Guarded by the lock of the family it lives in.
  ActorCell* next_ = nullptr;
  ActorCell* previous_ = nullptr;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
