// What waits() calls a future. It is entered in the registry only while somebody waits for it: most of them never are.
#pragma once

#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/pool/future_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

struct Worker;

class FutureSubject final : public Primitive {
 public:
  // `blocked`: whose thread will sleep, if it is a worker's. It is alive as long as its thread waits.
  FutureSubject(FutureCore& core, const Worker* blocked);
  ~FutureSubject();

  Stats stats() const override;
  void report_waits(std::vector<WaitInfo>& waits) const override;
  ThreadId holder() const override { return core_.runner_now(); }

 private:
  FutureCore& core_;
  const Worker* const blocked_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
