// What else travels with a message: whom to answer, and of which trace it is part.
//
// An envelope has one word for it: nothing, the address of a ReplyCore, or, with the lowest bit set, that of an Attachment.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "handoff/detail/actor/lane.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

// Which request a message belongs to, and which step of it has sent it: as in W3C's traceparent.
struct TraceContext {
  std::array<std::uint64_t, 2> trace_id{};
  std::uint64_t span_id = 0;

  bool is_valid() const { return (trace_id[0] | trace_id[1]) != 0; }
  friend bool operator==(const TraceContext&, const TraceContext&) = default;
};

// Of what the calling thread does now: in a handler, that of the message with a span of the handler's own. Not valid if there is none.
TraceContext current_trace();

// While this lives, messages sent by the calling thread to actors of a system with `tracing` belong to this trace.
class [[nodiscard]] TraceHere {
 public:
  explicit TraceHere(const TraceContext& context);
  ~TraceHere();
  TraceHere(const TraceHere&) = delete;
  TraceHere& operator=(const TraceHere&) = delete;

 private:
  const TraceContext before_;
};

namespace detail {

class ReplyCore;

struct Attachment {
  ReplyCore* reply;
  TraceContext trace;
};

constexpr std::uintptr_t attached = 1;

inline std::uintptr_t extra_of(ReplyCore* reply) { return reinterpret_cast<std::uintptr_t>(reply); }
// With the current trace, if there is one.
std::uintptr_t traced_extra_of(ReplyCore* reply);

inline bool has_trace(std::uintptr_t extra) { return (extra & attached) != 0; }
inline Attachment* attachment_of(std::uintptr_t extra) {
  return reinterpret_cast<Attachment*>(extra & ~attached);
}
// Takes it apart: the reply is the caller's, what was attached is gone.
inline ReplyCore* take_reply(std::uintptr_t extra, TraceContext* trace = nullptr) {
  if (!has_trace(extra)) return reinterpret_cast<ReplyCore*>(extra);
  const std::unique_ptr<Attachment> attachment(attachment_of(extra));
  if (trace != nullptr) *trace = attachment->trace;
  return attachment->reply;
}

// A step of its own in that trace.
TraceContext next_span(const TraceContext& trace);

}  // namespace detail
}  // namespace handoff::inline HANDOFF_FLAVOUR
