// What a plain handler has sent to a full mailbox: it cannot wait, so its message does, and the actor takes no other until it is gone.
#include <algorithm>
#include <cstddef>
#include <source_location>

#include "handoff/detail/actor/extras.hpp"
#include "handoff/detail/actor/handler_task.hpp"
#include "handoff/detail/actor/reply_state.hpp"
#include "handoff/detail/actor/room_wait.hpp"
#include "handoff/detail/core/awaitable.hpp"
#include "turn.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {
constexpr std::uint64_t most_at_once = 256;  // Of one sender, before others are let in.
}

// Waits for room for the first of an outbox, and moves them. The result is how many have gone.
class Flushing final : public RoomWait {
 public:
  explicit Flushing(OutRun& run)
      : RoomWait(*run.to, run.to->line(),
                 static_cast<std::uint32_t>(std::min(run.count, most_at_once))),
        run_(run) {}

  bool ready(const std::stop_token& stop) {
    if (stop.stop_requested()) return refuse(Refusal::stopped);
    moved_ = run_.to->push_from_outbox(run_, 0);
    return moved_ > 0;
  }
  std::expected<std::uint64_t, Refusal> result() {
    if (const auto let_in = LineSteps::result(); !let_in) return std::unexpected(let_in.error());
    if (moved_ == 0) moved_ = run_.to->push_from_outbox(run_, granted());
    if (moved_ == 0) return std::unexpected(Refusal::closed);
    return moved_;
  }

 private:
  OutRun& run_;
  std::uint64_t moved_ = 0;
};

std::uint64_t ActorCell::push_from_outbox(OutRun& messages, std::uint32_t granted) {
  std::uint64_t moved = 0;
  bool wakes = false;
  {
    SmallGuard guard(lock_);
    if (is_closed_) return 0;
    reserved_ -= granted;
    // Without a grant, as much as there is room for, unless others stand in line.
    std::uint64_t most = granted;
    if (granted == 0 && !has_no_room_locked()) most = refresh_room_locked();
    if (most == 0) return 0;
    if (type_.lanes == 1) {
      moved = messages.lane.move_to(lane_, most, type_.stride);
    } else {
      for (; moved < most && !messages.lane.is_empty(); ++moved) {
        Lane& lane = lane_locked(messages.lane.front(type_.stride).handler->lane);
        static_cast<void>(messages.lane.move_to(lane, 1, type_.stride));
      }
    }
    pushed_ += moved;
    wakes = !std::exchange(is_scheduled_, true);
  }
  messages.count -= moved;
  if (wakes) schedule();
  return moved;
}

namespace {

// They may be for an actor of another system, which is gone by now: so they are this one's dead letters.
void lose_all(SystemCore& system, OutRun& run) {
  while (!run.lane.is_empty()) {
    Envelope& envelope = run.lane.front(run.to->type().stride);
    if (ReplyCore* const reply = take_reply(envelope.extra)) {
      reply->refuse(AskError::Code::closed, nullptr);
    }
    system.note_dead_letter(*run.to, envelope.view(), "its actor stopped before there was room");
    envelope.handler->ops.destroy(envelope.place());
    run.lane.pop();
  }
}

// Some messages after the others, in the order they were sent.
Lazy<> flush(ActorCell& sender) {
  ActorExtras& all = sender.extras();
  while (!all.outbox.empty()) {
    OutRun& run = all.outbox.front();
    const WaitSite site{.operation = "send", .where = std::source_location::current()};
    const auto moved = co_await Awaitable<Flushing>(site, Deadline(), run);
    const std::uint64_t before = run.count + moved.value_or(0);
    if (!moved) {
      lose_all(sender.system(), run);
      run.count = 0;
    }
    run.bound->size -= before - run.count;
    if (run.count > 0) continue;
    ActorCell& to = *run.to;
    all.outbox.pop_front();
    if (!sender.has_in_outbox(to)) sender.system().remove_edge(sender, to, Edge::room);
    to.drop_reference();
  }
}

class Flush final : public HandlerTask, public InFrameMemory {
 public:
  explicit Flush(ActorCell& cell)
      : HandlerTask(cell, limits_of(cell.system()), std::source_location::current(), nullptr),
        lazy_(flush(cell)) {}
  void begin() {
    cell_.begin_task(*this);
    start(LazyAccess::promise(lazy_));
  }

 private:
  void done() noexcept override {
    Turn::set_outbox(nullptr);
    cell_.end_task(*this, LazyAccess::promise(lazy_).error(), MessageView());
    delete this;
  }
  Lazy<> lazy_;
};

}  // namespace

// The last first: an actor mostly goes on sending to the same one.
bool ActorCell::has_in_outbox(const ActorCell& to) const {
  const auto& outbox = extras_if_any()->outbox;
  return std::any_of(outbox.rbegin(), outbox.rend(),
                     [&](const OutRun& each) { return each.to == &to; });
}

bool ActorCell::goes_behind() const {
  return Turn::outbox() != nullptr && current()->has_in_outbox(*this);
}

std::optional<Refusal> ActorCell::push_to_outbox(ActorCell& sender, const MessageHandler& handler,
                                                 std::uintptr_t extra, MessageMaker make) {
  ActorExtras& all = sender.extras();
  if (all.outbox_bound.size >= all.outbox_bound.most) return Refusal::full;
  if (all.outbox.empty() || all.outbox.back().to != this) {
    {
      SmallGuard guard(lock_);
      if (is_closed_) return Refusal::closed;
    }
    // Actors that wait for room at each other would do so for ever.
    const bool is_first = !sender.has_in_outbox(*this);
    if (is_first && !sender.system_.add_edge(sender, *this, Edge::room, nullptr)) {
      return Refusal::full;
    }
    all.outbox.emplace_back(*this, all.outbox_bound);
    add_reference();
  }
  OutRun& last = all.outbox.back();
  try {
    last.add(handler, extra, type_.stride, make);
  } catch (...) {
    if (last.count == 0) {
      all.outbox.pop_back();
      if (!sender.has_in_outbox(*this)) sender.system_.remove_edge(sender, *this, Edge::room);
      drop_reference();
    }
    throw;
  }
  const bool is_alone = Turn::outbox() == nullptr;
  Turn::set_outbox(&last);
  if (is_alone) (new Flush(sender))->begin();
  return std::nullopt;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
