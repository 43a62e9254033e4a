// Who waits for what, and who holds it: finds threads that wait for each other in a ring, when the last of them is
// about to park. Checked builds only; in others all of this is empty.
//
//   thread --waits for--> primitive --held by--> thread --waits for--> ...
//
// A primitive may have several holders, and who waits for it waits for all of them: the readers of a shared lock, the
// jobs of a scope. Whatever can be waited for may feed the graph, so that rings of different things are found: a lock
// says who owns it, a future who runs its job.
//
// Only waits without a deadline are in the graph: one that ends by itself is no deadlock. A wait with a stop_token is:
// it ends only if somebody thinks of asking.
//
// A wait counts until its waiter is claimed. A primitive must drop its holder before it lets the next one in, and
// whoever is let in must have passed the primitive's lock since; then a ring that is seen is a ring that exists.
#pragma once

#include <source_location>
#include <string>

#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/core/waiter.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

#if defined(HANDOFF_CHECKED) && HANDOFF_CHECKED

// As reports call it: `Mutex "accounts"`, or `Mutex#7`.
std::string describe(const Primitive& primitive);

// `who` holds `what` from now on, once more if it did already.
void add_holder(const Primitive& what, ThreadId who, std::source_location where);
void drop_holder(const Primitive& what, ThreadId who);
void forget_holders(const Primitive& what);  // `what` is being destroyed.

// One thread's wait, for as long as this object lives.
class WaitEdge {
 public:
  WaitEdge(const Primitive& what, Waiter& waiter);
  ~WaitEdge();
  WaitEdge(const WaitEdge&) = delete;
  WaitEdge& operator=(const WaitEdge&) = delete;

  // Looks for a ring that this wait closes, and reports it once.
  void about_to_park();

 private:
  friend class WaitGraph;
  bool is_in_graph() const;

  const Primitive& what_;
  Waiter& waiter_;
  // Guarded by the graph's lock.
  WaitEdge* next_ = nullptr;
  WaitEdge* previous_ = nullptr;
  bool is_reported_ = false;
  bool is_visited_ = false;
};

#else

class WaitEdge {
 public:
  WaitEdge(const Primitive&, Waiter&) {}
  void about_to_park() {}
};

#endif

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
