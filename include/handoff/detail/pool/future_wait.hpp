// Waiting for a future in steps, and as one case of a select.
#pragma once

#include <memory>
#include <optional>
#include <source_location>
#include <stop_token>

#include "handoff/detail/core/select_case.hpp"
#include "handoff/detail/core/steps.hpp"
#include "handoff/detail/pool/future_core.hpp"
#include "handoff/refusal.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class FutureSubject;

class FutureWait : public Steps {
 public:
  explicit FutureWait(FutureCore& core);

  bool ready(const std::stop_token& stop) {
    if (stop.stop_requested()) refusal_ = Refusal::stopped;
    return refusal_ || core_.is_done();
  }
  bool begin(Waiter& waiter) final;
  bool go_on(Waiter& waiter, WaitState outcome) final;

 protected:
  ~FutureWait();
  const std::optional<Refusal>& refusal() const { return refusal_; }

 private:
  FutureCore& core_;
  std::unique_ptr<FutureSubject> subject_;  // In the registry while it waits.
  std::optional<Link> link_;
  std::optional<Refusal> refusal_;
};

// Keeps what it waits for alive: a case in a list may outlive the future whose result has been got.
class FutureCase : public LineCase {
 protected:
  FutureCase(FutureCore& core, std::source_location where);
  FutureCase(const FutureCase& other);
  ~FutureCase() override;

 private:
  struct Stay;

  bool is_open() const final { return core_.is_done(); }
  void enter(const Waiter& waiter) final;
  void left() final;

  FutureCore& core_;
  std::unique_ptr<Stay> stay_;  // While it stands in line.
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
