// What a plain handler has sent to a full mailbox: it cannot wait, so its message does, and the actor takes no other until it is gone.
#include <array>
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

// One message after the other, in the order they were sent.
Lazy<> flush(ActorCell& sender) {
  ActorExtras& all = sender.extras();
  while (!all.outbox.empty()) {
    OutMessage& next = all.outbox.front();
    auto move = [&next](void* place) { next.message.move_to(place); };
    const WaitSite site{.operation = "send", .where = std::source_location::current()};
    const auto sent = co_await Awaitable<Sending>(site, Deadline(), *next.to, *next.handler,
                                                  next.extra, MessageMaker(move));
    if (!sent) {
      if (ReplyCore* const reply = take_reply(next.extra)) {
        reply->refuse(AskError::Code::closed, nullptr);
      }
      // It may be of another system, which is gone by now.
      sender.system().note_dead_letter(*next.to, next.message.view(),
                                       "its actor stopped before there was room");
    }
    sender.system().remove_edge(sender, *next.to, Edge::room);
    next.to->drop_reference();
    all.outbox.pop_front();
    all.outbox_size.store(all.outbox.size(), relaxed);  // For people.
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
    Turn::set_has_outbox(false);
    cell_.end_task(*this, LazyAccess::promise(lazy_).error(), MessageView());
    delete this;
  }
  Lazy<> lazy_;
};

}  // namespace

std::optional<Refusal> ActorCell::push_to_outbox(ActorCell& sender, const MessageHandler& handler,
                                                 std::uintptr_t extra, MessageMaker make) {
  ActorExtras& all = sender.extras();
  if (all.outbox.size() >= all.most_outbox) return Refusal::full;
  {
    SmallGuard guard(lock_);
    if (is_closed_) return Refusal::closed;
  }
  // Actors that wait for room at each other would do so for ever. Each system knows its own.
  const bool is_ours = &sender.system_ == &system_;
  if (is_ours && !sender.system_.add_edge(sender, *this, Edge::room, nullptr)) return Refusal::full;
  try {
    alignas(std::max_align_t) std::array<std::byte, most_in_place> place;
    make(place.data());
    auto message = AnyMessage::from(handler.ops, place.data());
    all.outbox.push_back(
        {.to = this, .handler = &handler, .extra = extra, .message = std::move(message)});
  } catch (...) {
    sender.system_.remove_edge(sender, *this, Edge::room);
    throw;
  }
  add_reference();
  all.outbox_size.store(all.outbox.size(), relaxed);  // For people.
  if (!Turn::has_outbox()) {
    Turn::set_has_outbox(true);
    (new Flush(sender))->begin();
  }
  return std::nullopt;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
