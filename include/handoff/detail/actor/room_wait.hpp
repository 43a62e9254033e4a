// Waiting for room in a mailbox: the line that senders stand in, and how they do.
#pragma once

#include <expected>
#include <optional>
#include <source_location>
#include <stop_token>
#include <utility>
#include <vector>

#include "handoff/detail/actor/cell.hpp"
#include "handoff/detail/core/awaitable.hpp"
#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/core/wait_list.hpp"
#include "handoff/detail/sync/line_steps.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// Made for the first who has to wait.
class SenderLine final : public Primitive {
 public:
  explicit SenderLine(std::string_view actor) : Primitive("Actor", actor) { enter_if_named(); }
  ~SenderLine() { retire(); }

  Stats stats() const override;
  void report_waits(std::vector<WaitInfo>& waits) const override { list.report(*this, waits); }

  WaitList list;
};

// Who is let in has room for as many as it wanted, or as there was: at least one.
class RoomWait : public LineSteps {
 protected:
  RoomWait(ActorCell& cell, SenderLine& line, std::uint32_t wanted);
  ~RoomWait() = default;
  std::uint32_t granted() const {
    return place_ == nullptr ? granted_ : static_cast<std::uint32_t>(place_->ticket);
  }

 private:
  bool enter_line_locked(Link& link, Unparks& unparks) override;

  ActorCell& cell_;
  const std::uint32_t wanted_;
  std::uint32_t granted_ = 0;    // Without having stood in line.
  const Link* place_ = nullptr;  // Where it stands, or has stood.
};

// A send that may wait. `make` is called once, if there is room.
class Sending final : public RoomWait {
 public:
  Sending(ActorCell& cell, const MessageHandler& handler, std::uintptr_t extra, MessageMaker make);

  bool ready(const std::stop_token& stop);
  std::expected<void, Refusal> result();

 private:
  ActorCell& cell_;
  const MessageHandler& handler_;
  const std::uintptr_t extra_;
  const MessageMaker make_;
  bool is_done_ = false;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
