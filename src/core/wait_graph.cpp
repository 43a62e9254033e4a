#include "handoff/detail/core/wait_graph.hpp"

#if defined(HANDOFF_CHECKED) && HANDOFF_CHECKED

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <vector>

#include "handoff/detail/core/small_lock.hpp"
#include "handoff/lock_order.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {

std::string describe(const std::source_location& where) {
  return fmt::format("{}:{}", where.file_name(), where.line());
}

}  // namespace

// Invariant: an edge is linked from its constructor to its destructor, and both take the lock; so whatever an edge
// on the list points to is alive under the lock.
class WaitGraph {
 public:
  static WaitGraph& instance() {
    static auto* const graph = new WaitGraph;  // Outlives locks with static storage.
    return *graph;
  }

  void add_holder(const Primitive& what, ThreadId who, std::source_location where) {
    SmallGuard guard(lock_);
    holders_.emplace(&what, Holder{.thread = who, .where = where});
  }

  void drop_holder(const Primitive& what, ThreadId who) {
    SmallGuard guard(lock_);
    const auto [first, last] = holders_.equal_range(&what);
    const auto found =
        std::find_if(first, last, [&](const auto& each) { return each.second.thread == who; });
    if (found != last) holders_.erase(found);
  }

  void forget_holders(const Primitive& what) {
    SmallGuard guard(lock_);
    holders_.erase(&what);
  }

  void link(WaitEdge& edge) {
    SmallGuard guard(lock_);
    WaitEdge*& front = edges_of(edge.waiter_.thread());
    edge.next_ = front;
    if (front != nullptr) front->previous_ = &edge;
    front = &edge;
  }

  void unlink(WaitEdge& edge) {
    SmallGuard guard(lock_);
    (edge.previous_ == nullptr ? edges_of(edge.waiter_.thread()) : edge.previous_->next_) =
        edge.next_;
    if (edge.next_ != nullptr) edge.next_->previous_ = edge.previous_;
  }

  // The report of the ring that `edge` closes, unless there is none or it is known.
  std::optional<LockProblem> find_ring(WaitEdge& edge) {
    SmallGuard guard(lock_);
    std::vector<Step> ring;
    const bool found = leads_back(edge, edge.waiter_.thread(), ring);
    forget_visits(edge);
    if (!found || all_reported(ring)) return std::nullopt;
    std::ranges::reverse(ring);  // It was built from its end.
    return report(ring);
  }

 private:
  struct Holder {
    ThreadId thread;
    std::source_location where;
  };
  // `edge`'s thread waits for what `holder` holds.
  struct Step {
    WaitEdge* edge;
    Holder holder;
  };

  WaitEdge*& edges_of(ThreadId thread) { return edges_[thread % edges_.size()]; }

  // A wait that is over, though its thread has not got up yet, leads nowhere.
  static bool still_waits(const WaitEdge& edge) {
    const WaitState state = edge.waiter_.state();
    return state == WaitState::preparing || state == WaitState::parked;
  }

  bool leads_back(WaitEdge& edge, ThreadId goal, std::vector<Step>& ring) {
    edge.is_visited_ = true;
    const auto [first, last] = holders_.equal_range(&edge.what_);
    for (auto each = first; each != last; ++each) {
      const Holder& holder = each->second;
      if (holder.thread == goal || any_wait_leads_back(holder.thread, goal, ring)) {
        ring.push_back({.edge = &edge, .holder = holder});
        return true;
      }
    }
    return false;
  }

  bool any_wait_leads_back(ThreadId thread, ThreadId goal, std::vector<Step>& ring) {
    for (WaitEdge* edge = edges_of(thread); edge != nullptr; edge = edge->next_) {
      if (edge->waiter_.thread() != thread || edge->is_visited_ || !still_waits(*edge)) continue;
      if (leads_back(*edge, goal, ring)) return true;
    }
    return false;
  }

  void forget_visits(WaitEdge& start) {
    start.is_visited_ = false;
    for (WaitEdge* front : edges_) {
      for (WaitEdge* edge = front; edge != nullptr; edge = edge->next_) edge->is_visited_ = false;
    }
  }

  static bool all_reported(const std::vector<Step>& ring) {
    return std::ranges::all_of(ring, [](const Step& step) { return step.edge->is_reported_; });
  }

  static LockProblem report(const std::vector<Step>& ring) {
    LockProblem problem{.kind = LockProblem::Kind::deadlock, .locks = {}, .report = {}};
    problem.report = fmt::format("deadlock: {} waiting in a ring\n",
                                 ring.size() == 1 ? "a thread is" : "threads are");
    for (const Step& step : ring) {
      step.edge->is_reported_ = true;
      step.edge->waiter_.mark_deadlocked();
      const WaitSite& site = step.edge->waiter_.site();
      problem.locks.push_back(describe(step.edge->what_));
      problem.report += fmt::format("  {} waits to {} {} at {}\n    held by {}, since {}\n",
                                    thread_name(step.edge->waiter_.thread()), site.operation,
                                    problem.locks.back(), describe(site.where),
                                    thread_name(step.holder.thread), describe(step.holder.where));
    }
    return problem;
  }

  SmallLock lock_;
  // Guarded by lock_.
  std::unordered_multimap<const Primitive*, Holder> holders_;
  std::array<WaitEdge*, 256> edges_{};  // By thread number.
};

std::string describe(const Primitive& primitive) {
  const auto name = primitive.display_name();
  return primitive.is_named() ? fmt::format("{} \"{}\"", primitive.kind(), name) : name;
}

void add_holder(const Primitive& what, ThreadId who, std::source_location where) {
  WaitGraph::instance().add_holder(what, who, where);
}

void drop_holder(const Primitive& what, ThreadId who) {
  WaitGraph::instance().drop_holder(what, who);
}

void forget_holders(const Primitive& what) { WaitGraph::instance().forget_holders(what); }

WaitEdge::WaitEdge(const Primitive& what, Waiter& waiter) : what_(what), waiter_(waiter) {
  if (is_in_graph()) WaitGraph::instance().link(*this);
}

WaitEdge::~WaitEdge() {
  if (is_in_graph()) WaitGraph::instance().unlink(*this);
}

bool WaitEdge::is_in_graph() const { return waiter_.wait().deadline.is_never(); }

void WaitEdge::about_to_park() {
  if (!is_in_graph()) return;
  if (const auto problem = WaitGraph::instance().find_ring(*this)) report_lock_problem(*problem);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail

#endif
