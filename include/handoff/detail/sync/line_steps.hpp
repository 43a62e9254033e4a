// A wait in a line, as steps: until somebody takes the link off it. That is how it is let through.
#pragma once

#include <expected>
#include <optional>

#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/core/steps.hpp"
#include "handoff/detail/core/unparks.hpp"
#include "handoff/detail/core/wait_list.hpp"
#include "handoff/refusal.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class LineSteps : public Steps {
 public:
  bool begin(Waiter& waiter) final;
  bool go_on(Waiter& waiter, WaitState outcome) final;

  std::expected<void, Refusal> result() const {
    if (refusal_) return std::unexpected(*refusal_);
    return {};
  }

 protected:
  LineSteps(Primitive& subject, WaitList& line) : subject_(subject), line_(line) {}
  ~LineSteps() = default;

  // Without having waited. Returns true: finished.
  bool refuse(Refusal refusal) {
    refusal_ = refusal;
    return true;
  }

 private:
  // Puts it in line. Returns false if there is nothing to wait for, and it is not in line.
  virtual bool enter_line_locked(Link& link, Unparks& unparks) = 0;
  // It has left the line by itself, refused.
  virtual void left_line_locked(Unparks&) {}

  Primitive& subject_;
  WaitList& line_;
  std::optional<Link> link_;
  std::optional<Refusal> refusal_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
