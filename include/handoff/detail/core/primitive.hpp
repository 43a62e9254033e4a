// The base of everything that can be waited for: its name, and its entry in the registry behind
// waits() and snapshot().
//
// A primitive enters the registry when it is made with a name, or else when somebody first waits
// for it: an unnamed lock that nobody ever contends for costs nothing. The registry is sharded, so
// that making primitives on many threads does not contend.
//
// The most derived class calls enter_if_named() last in its constructor and retire() first in its
// destructor: another thread may call the virtual functions in between, and a base class's constructor
// or destructor would change the object's type under it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/operation.hpp"
#include "handoff/detail/core/thread_info.hpp"
#include "handoff/stats.hpp"
#include "handoff/waits.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class Primitive {
 public:
  Primitive(const char* kind, std::string_view name) : kind_(kind), name_(name) {}
  Primitive(const Primitive&) = delete;
  Primitive& operator=(const Primitive&) = delete;

  virtual Stats stats() const = 0;
  virtual void report_waits(std::vector<WaitInfo>& waits) const = 0;
  // Whose progress a waiter depends on, where that is one known thread: a lock's owner.
  virtual ThreadId holder() const { return no_thread; }

  const char* kind() const { return kind_; }
  // The name as given, or kind#number for one without.
  std::string display_name() const;
  // For sentences: BlockingQueue "emails", or BlockingQueue#7.
  std::string label() const;
  bool is_named() const { return !name_.empty(); }
#if defined(HANDOFF_SIMULATED) && HANDOFF_SIMULATED
  // When it was made, as against others.
  std::uint64_t number() const { return number_; }
#endif

  // Called by everyone about to wait for it.
  void enter_registry() {
    // Pairs with the release in enter_slow(): who sees `entered` may rely on id_.
    if (!entered_.load(acquire)) [[unlikely]]
      enter_slow();
  }

 protected:
  ~Primitive();
  void enter_if_named() {
    if (is_named()) enter_slow();
  }
  void retire();

 private:
  friend class Registry;
  void enter_slow();

  const char* const kind_;
  const std::string name_;
  atomic<bool> entered_{false};
  // Written once under the shard's lock, before entered_.
  atomic<std::uint64_t> id_{0};
  Primitive* next_ = nullptr;
  Primitive* previous_ = nullptr;
#if defined(HANDOFF_SIMULATED) && HANDOFF_SIMULATED
  const std::uint64_t number_ = sim::next_number();
#endif
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
