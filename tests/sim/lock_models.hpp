// What locks and semaphores would be if there was one thread: the models for histories of their calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "handoff/testing/history.hpp"

namespace handoff::tests {

// Whether it was done. If not, somebody may have stood in line: then it was not to be done, even if it could have been.
struct LockOutcome {
  bool is_done = true;
  bool others_waited = false;
};

inline std::string to_string(const LockOutcome& outcome) {
  if (outcome.is_done) return "done";
  return outcome.others_waited ? "refused, others waited" : "refused";
}

// Those who may stand in line: the calls under way that wait. Simulated threads run one at a time: plain numbers will do.
class Line {
 public:
  // From its begin to its end: what a call sees of it.
  class Sight {
   public:
    explicit Sight(Line& line) : line_(line), were_there_(line.present_ > 0), came_(line.came_) {}
    bool has_seen_others() const { return were_there_ || line_.came_ != came_; }

   private:
    const Line& line_;
    const bool were_there_;
    const int came_;
  };

  // `f` is a call that never waits and says whether it was done.
  template <typename F>
  LockOutcome pass_by(F f) {
    const Sight sight(*this);
    const bool is_done = f();
    return {.is_done = is_done, .others_waited = sight.has_seen_others()};
  }
  // `f` may wait.
  template <typename F>
  LockOutcome stand_in(F f) {
    ++came_;
    const Sight sight(*this);
    ++present_;
    const bool is_done = f();
    --present_;
    return {.is_done = is_done, .others_waited = sight.has_seen_others()};
  }

 private:
  int present_ = 0;
  int came_ = 0;
};

// -- Semaphore ------------------------------------------------------------------------------------

struct PermitCall {
  enum class Kind : std::uint8_t { acquire, try_acquire, release };
  Kind kind;
  std::size_t n = 1;
};

inline std::string to_string(const PermitCall& call) {
  const char* const names[] = {"acquire ", "try_acquire ", "release "};
  return names[static_cast<int>(call.kind)] + std::to_string(call.n);
}

struct SemaphoreModel {
  std::size_t available = 1;
  bool operator==(const SemaphoreModel&) const = default;

  bool apply(const PermitCall& call, const LockOutcome* outcome) {
    if (call.kind == PermitCall::Kind::release) {
      available += call.n;
      return true;
    }
    const bool could_be_done = available >= call.n;
    if (outcome != nullptr && !outcome->is_done) return !could_be_done || outcome->others_waited;
    if (!could_be_done) return false;
    available -= call.n;
    return true;
  }
};

using SemaphoreHistory = testing::History<PermitCall, LockOutcome>;

// -- Locks ----------------------------------------------------------------------------------------

struct LockCall {
  enum class Kind : std::uint8_t { lock, unlock, lock_shared, unlock_shared };
  Kind kind;
  unsigned thread = 0;
};

inline std::string to_string(const LockCall& call) {
  const char* const names[] = {"lock", "unlock", "lock_shared", "unlock_shared"};
  return names[static_cast<int>(call.kind)];
}

// For a Mutex as well, which has no readers. Whoever wants to write is refused only if somebody is inside; a reader also if somebody waits, because
// readers line up behind.
struct LockModel {
  unsigned writer = 0;  // Threads have numbers from 1 on.
  int readers = 0;
  bool operator==(const LockModel&) const = default;

  bool apply(const LockCall& call, const LockOutcome* outcome) {
    const bool is_done = outcome == nullptr || outcome->is_done;
    const bool is_free = writer == 0 && readers == 0;
    switch (call.kind) {
      case LockCall::Kind::lock:
        if (!is_done) return !is_free;
        writer = call.thread;
        return is_free;
      case LockCall::Kind::unlock: return std::exchange(writer, 0U) == call.thread;
      case LockCall::Kind::lock_shared:
        if (!is_done) return writer != 0 || outcome->others_waited;
        ++readers;
        return writer == 0;
      case LockCall::Kind::unlock_shared: return readers-- > 0;
    }
    return false;
  }
};

using LockHistory = testing::History<LockCall, LockOutcome>;

}  // namespace handoff::tests
