// How messages come into a mailbox, and what happens if there is no room.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

#include "handoff/detail/actor/cell.hpp"
#include "handoff/detail/actor/extras.hpp"
#include "handoff/detail/actor/reply_state.hpp"
#include "handoff/detail/actor/room_wait.hpp"
#include "handoff/detail/core/unparks.hpp"
#include "handoff/detail/pool/pool_core.hpp"
#include "sync/line.hpp"
#include "turn.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

std::uint64_t ActorCell::refresh_room_locked() {
  handled_seen_ = handled_.load(seq_cst);
  const std::uint64_t used = pushed_ + reserved_ - handled_seen_;
  return used < capacity_ ? capacity_ - used : 0;
}

Lane& ActorCell::lane_locked(std::uint8_t number) {
  // The others were made with the actor.
  return number == 0 ? lane_ : extras_.load(relaxed)->lanes[number - 1U];
}

bool ActorCell::has_messages_locked() const {
  if (!taken_.is_empty() || !lane_.is_empty()) return true;
  for (std::uint8_t i = 1; i < type_.lanes; ++i) {
    if (!extras_.load(relaxed)->lanes[i - 1U].is_empty()) return true;
  }
  return false;
}

std::size_t ActorCell::load() const {
  SmallGuard guard(lock_);
  if (is_closed_) return SIZE_MAX;
  return pushed_ + reserved_ - handled_.load(relaxed);  // A guess for others.
}

std::uintptr_t ActorCell::extra_for(ReplyCore* reply) const {
  return is_traced_ ? traced_extra_of(reply) : extra_of(reply);
}

OutRun* ActorCell::outbox_of_sender() { return Turn::outbox(); }

bool ActorCell::push_reserved(const MessageHandler& handler, std::uintptr_t extra,
                              MessageMaker make) {
  bool wakes = false;
  try {
    SmallGuard guard(lock_);
    if (is_closed_) return false;
    --reserved_;
    wakes = put_locked(handler, extra, make);
  } catch (...) {  // The room is the next one's.
    let_senders_in();
    throw;
  }
  if (wakes) schedule();
  return true;
}

std::optional<Refusal> ActorCell::refuse_full() {
  if (when_full_ == WhenFull::drop_newest) system_.note_dropped(*this);
  if (when_full_ == WhenFull::reject || when_full_ == WhenFull::drop_newest) return Refusal::full;
  return std::nullopt;
}

// The oldest makes room, of the least urgent. False if the actor is closed.
bool ActorCell::push_evicting(const MessageHandler& handler, std::uintptr_t extra,
                              MessageMaker make) {
  bool wakes = false;
  alignas(std::max_align_t) std::array<std::byte, sizeof(Envelope) + most_in_place> memory;
  auto& evicted = *reinterpret_cast<Envelope*>(memory.data());
  Lane* from = nullptr;
  {
    SmallGuard guard(lock_);
    if (is_closed_) return false;
    if (refresh_room_locked() == 0) {
      for (int i = type_.lanes - 1; i >= 0 && from == nullptr; --i) {
        Lane& lane = lane_locked(static_cast<std::uint8_t>(i));
        if (!lane.is_empty()) from = &lane;
      }
    }
    // First what may throw. With a capacity of one, and that one being handled, there is nothing to evict: one more, for a moment.
    wakes = put_locked(handler, extra, make);
    if (from != nullptr) {
      Envelope& oldest = from->front(type_.stride);
      evicted.handler = oldest.handler;
      evicted.extra = oldest.extra;
      oldest.handler->ops.relocate(oldest.place(), evicted.place());
      from->pop();
      --pushed_;  // As if it had not come.
    }
  }
  if (wakes) schedule();
  if (from != nullptr) {
    system_.note_dropped(*this);
    dispose(evicted, "dropped as the oldest", AskError::Code::full);
  }
  return true;
}

namespace {
// What goes along with a message, gone again if that is refused.
class Extra {
 public:
  Extra(const ActorCell& cell, ReplyCore* reply) : word_(cell.extra_for(reply)) {}
  Extra(const Extra&) = delete;
  Extra& operator=(const Extra&) = delete;
  ~Extra() {
    if (!is_used_ && has_trace(word_)) static_cast<void>(take_reply(word_));
  }
  std::uintptr_t word() const { return word_; }
  std::nullopt_t used() {
    is_used_ = true;
    return std::nullopt;
  }

 private:
  const std::uintptr_t word_;
  bool is_used_ = false;
};
}  // namespace

std::optional<Refusal> ActorCell::push_now_or_behind(const MessageHandler& handler,
                                                     ReplyCore* reply, MessageMaker make) {
  Extra extra(*this, reply);
  if (goes_behind()) {
    if (const auto refusal = push_to_outbox(*current(), handler, extra.word(), make)) {
      return refusal;
    }
    return extra.used();
  }
  const Pushed pushed = try_push(handler, extra.word(), make);
  if (pushed == Pushed::done) return extra.used();
  if (pushed == Pushed::closed) return Refusal::closed;
  if (const auto refusal = refuse_full()) return refusal;
  if (when_full_ == WhenFull::block) return Refusal::timed_out;
  if (!push_evicting(handler, extra.word(), make)) return Refusal::closed;
  return extra.used();
}

std::optional<Refusal> ActorCell::push_slowly(const MessageHandler& handler, ReplyCore* reply,
                                              MessageMaker make, Waits how, const Wait& wait,
                                              std::source_location where) {
  ActorCell* const sender = current();
  // What was sent before it waits still. A thread that waits for an answer here would keep it from going.
  if (how == Waits::here && goes_behind()) return Refusal::full;
  const auto refusal = push_now_or_behind(handler, reply, make);
  if (refusal != Refusal::timed_out) return refusal;
  Extra extra(*this, reply);
  if (sender != nullptr && how == Waits::by_outbox) {
    const auto refused = push_to_outbox(*sender, handler, extra.word(), make);
    return refused ? refused : extra.used();
  }
  const BlockedWorker blocked(this_worker, nullptr);
  Sending sending(*this, handler, extra.word(), make);
  ThreadWaiter waiter(wait, {.operation = "send", .where = where});
  take_steps(waiter, sending);
  const auto sent = sending.result();
  if (!sent) return sent.error();
  return extra.used();
}

// -- Those who wait for room ----------------------------------------------------------------------

SenderLine& ActorCell::line() {
  ActorExtras& all = extras();
  if (SenderLine* const line = all.line.load(acquire)) return *line;  // Pairs with the store below.
  auto made = std::make_unique<SenderLine>(path());
  SmallGuard guard(lock_);
  if (all.line.load(relaxed) == nullptr) {  // Written under the same lock.
    all.line.store(made.release(),
                   release);  // Pairs with the acquires here and in let_senders_in().
  }
  return *all.line.load(relaxed);
}

void ActorCell::let_senders_in() {
  ActorExtras* const all = extras_if_any();
  SenderLine* const line =
      all == nullptr ? nullptr : all->line.load(acquire);  // Pairs with line().
  if (line == nullptr) return;
  // A few at a time, woken without the locks: that takes the lock of the actor who waits, which may be this one.
  while (let_some_in(*line)) {
  }
}

namespace {
constexpr int let_in_at_once = 4;  // As many as Unparks keeps until the locks are given back.
}

// True if there may be more to let in.
bool ActorCell::let_some_in(SenderLine& line) {
  Unparks unparks;
  SmallGuard line_guard(line.list.lock());
  SmallGuard guard(lock_);
  std::uint64_t room = refresh_room_locked();
  int let_in = 0;
  while (Link* const link = line.list.front_locked()) {
    if (let_in++ == let_in_at_once) return true;
    if (!is_closed_) {
      if (room == 0) break;
      link->ticket = std::min(room, link->ticket);
      room -= link->ticket;
      reserved_ += static_cast<std::uint32_t>(link->ticket);
    }
    let_through_locked(line.list, *link, unparks);
  }
  if (line.list.is_empty_locked()) has_line_.store(false, seq_cst);
  return false;
}

void ActorCell::publish_handled() {
  const std::uint64_t handled = handled_.load(relaxed);  // One writer.
  handled_.store(handled, seq_cst);                      // See has_line_ in the header.
  last_let_in_ = static_cast<std::uint32_t>(handled);
  if (has_line_.load(seq_cst)) let_senders_in();
}

RoomWait::RoomWait(ActorCell& cell, SenderLine& line, std::uint32_t wanted)
    : LineSteps(line, line.list), cell_(cell), wanted_(wanted) {}

// A link's ticket is how many it wants, and once it is let in, how many it has.
bool RoomWait::enter_line_locked(Link& link, Unparks&) {
  SenderLine& line = *cell_.extras_if_any()->line.load(acquire);  // Pairs with line().
  SmallGuard guard(cell_.lock_);
  if (cell_.is_closed_) return false;  // Which who pushes will find.
  cell_.has_line_.store(true, seq_cst);
  if (line.list.is_empty_locked()) {
    const std::uint64_t room = cell_.refresh_room_locked();
    if (room > 0) {
      cell_.has_line_.store(false, seq_cst);
      granted_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(room, wanted_));
      cell_.reserved_ += granted_;
      return false;
    }
  }
  link.ticket = wanted_;
  place_ = &link;
  line.list.push_back_locked(link);
  return true;
}

Stats SenderLine::stats() const {
  Stats stats;
  const WaitTotals totals = list.totals();
  stats.waiting_producers = totals.waiting;
  stats.producer_waits = totals.waits;
  stats.producers_blocked = totals.blocked;
  return stats;
}

Sending::Sending(ActorCell& cell, const MessageHandler& handler, std::uintptr_t extra,
                 MessageMaker make)
    : RoomWait(cell, cell.line(), 1), cell_(cell), handler_(handler), extra_(extra), make_(make) {}

bool Sending::ready(const std::stop_token& stop) {
  if (stop.stop_requested()) return refuse(Refusal::stopped);
  const Pushed pushed = cell_.try_push(handler_, extra_, make_);
  if (pushed == Pushed::closed) return refuse(Refusal::closed);
  is_done_ = pushed == Pushed::done;
  if (is_done_) return true;
  if (const auto refusal = cell_.refuse_full()) return refuse(*refusal);
  if (cell_.when_full() == WhenFull::block) return false;
  if (!cell_.push_evicting(handler_, extra_, make_)) return refuse(Refusal::closed);
  return is_done_ = true;
}

std::expected<void, Refusal> Sending::result() {
  auto let_in = LineSteps::result();
  if (!let_in || is_done_) return let_in;
  if (!cell_.push_reserved(handler_, extra_, make_)) return std::unexpected(Refusal::closed);
  return {};
}

// -- What is never handled ------------------------------------------------------------------------

void ActorCell::dispose(Envelope& envelope, std::string_view reason, AskError::Code answer) {
  if (ReplyCore* const reply = take_reply(envelope.extra)) reply->refuse(answer, nullptr);
  dead_letter(envelope.view(), reason);
  envelope.handler->ops.destroy(envelope.place());
}

void ActorCell::dead_letter(MessageView message, std::string_view reason) {
  system_.note_dead_letter(*this, message, reason);
}

// In its last turn, after it was closed.
void ActorCell::clear_mailbox(std::string_view reason) {
  const auto clear = [&](Cursor cursor) {
    while (!cursor.is_empty()) {
      Envelope& envelope = cursor.current(type_.stride);
      if (!system_.keep_undelivered(*this, envelope))
        dispose(envelope, reason, AskError::Code::closed);
      cursor.advance();
    }
  };
  clear(std::exchange(taken_, Cursor()));
  for (std::uint8_t i = 0; i < type_.lanes; ++i) {
    Cursor all;
    {
      SmallGuard guard(lock_);
      all = lane_locked(i).take_all();
    }
    clear(all);
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
