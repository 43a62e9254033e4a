// The order graph of a checked build: an arrow from each lock to those taken while it was held.
//
// Invariants: the graph's lock guards nodes and arrows; a thread's own list of what it holds is its own. An arrow is drawn
// before the acquisition waits, and a ring of arrows is reported when its last arrow is drawn, so once.
#include "handoff/lock_order.hpp"

#include <fmt/core.h>

#include "call_stack.hpp"
#include "handoff/detail/core/assert.hpp"
#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/core/wait_graph.hpp"
#include "handoff/detail/sync/lock_tracking.hpp"
#include "handoff/log.hpp"

#if defined(HANDOFF_CHECKED) && HANDOFF_CHECKED

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {

struct Acquisition {
  Primitive* lock = nullptr;
  std::source_location where;
  CallStack stack;
};

// The locks a thread holds, in the order in which it took them.
class HeldLocks {
 public:
  std::span<const Acquisition> all() const { return std::span(held_).first(size_); }

  void push(Primitive& lock, std::source_location where) {
    if (size_ == held_.size()) return;  // Deeper nesting is not followed.
    held_[size_++] = {.lock = &lock, .where = where, .stack = CallStack::here()};
  }

  void remove(const Primitive& lock) {
    for (std::size_t i = size_; i-- > 0;) {
      if (held_[i].lock != &lock) continue;
      std::move(held_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                held_.begin() + static_cast<std::ptrdiff_t>(size_),
                held_.begin() + static_cast<std::ptrdiff_t>(i));
      --size_;
      return;
    }
  }

 private:
  std::array<Acquisition, 32> held_{};
  std::size_t size_ = 0;
};

// Trivially destroyed: destructors of other thread-locals may still lock.
thread_local HeldLocks held_locks;

class OrderGraph {
 public:
  static OrderGraph& instance() {
    static auto* const graph = new OrderGraph;  // Outlives locks with static storage.
    return *graph;
  }

  bool knows(const Primitive& held, const Primitive& wanted) {
    SmallGuard guard(lock_);
    return knows_locked(held, wanted);
  }

  // Draws the arrow from what is held to what is wanted. Returns what is wrong with it, if anything is.
  std::optional<LockProblem> draw(const Acquisition& held, const Acquisition& wanted) {
    SmallGuard guard(lock_);
    if (knows_locked(*held.lock, *wanted.lock) || arrows_ == max_arrows) return std::nullopt;
    std::vector<const Arrow*> ring;
    const bool closes_ring = find_path_locked(*wanted.lock, *held.lock, ring);
    Arrow& arrow =
        nodes_[held.lock].arrows.emplace_back(held, wanted, thread_name(this_thread_id()));
    nodes_[wanted.lock].is_target = true;
    ++arrows_;
    if (!closes_ring) return std::nullopt;
    ring.push_back(&arrow);
    std::ranges::reverse(ring);  // It was built from its end: now the new arrow comes first.
    return report(ring);
  }

  // True once: the graph is full, and nobody was told so far.
  bool has_to_say_full() {
    SmallGuard guard(lock_);
    return arrows_ == max_arrows && !std::exchange(said_full_, true);
  }

  void forget(const Primitive& lock) {
    SmallGuard guard(lock_);
    const auto node = nodes_.find(&lock);
    if (node == nodes_.end()) return;
    arrows_ -= node->second.arrows.size();
    const bool was_target = node->second.is_target;
    nodes_.erase(node);
    if (!was_target) return;
    for (auto& [_, other] : nodes_) {
      arrows_ -= std::erase_if(other.arrows,
                               [&](const Arrow& arrow) { return arrow.wanted.lock == &lock; });
    }
  }

  static constexpr std::size_t max_arrows = 4096;

 private:
  struct Arrow {
    Acquisition held;
    Acquisition wanted;
    std::string thread;  // Who drew it.
  };
  struct Node {
    std::vector<Arrow> arrows;
    bool is_target = false;
    bool is_visited = false;
  };

  bool knows_locked(const Primitive& held, const Primitive& wanted) const {
    const auto node = nodes_.find(&held);
    return node != nodes_.end() && std::ranges::any_of(node->second.arrows, [&](const Arrow& each) {
             return each.wanted.lock == &wanted;
           });
  }

  bool find_path_locked(const Primitive& from, const Primitive& to,
                        std::vector<const Arrow*>& path) {
    if (&from == &to) return true;
    for (auto& [_, node] : nodes_) node.is_visited = false;
    return follow_locked(from, to, path);
  }

  // Appends the arrows of the path from its end.
  bool follow_locked(const Primitive& from, const Primitive& to, std::vector<const Arrow*>& path) {
    const auto node = nodes_.find(&from);
    if (node == nodes_.end() || std::exchange(node->second.is_visited, true)) return false;
    for (const Arrow& arrow : node->second.arrows) {
      if (arrow.wanted.lock != &to && !follow_locked(*arrow.wanted.lock, to, path)) continue;
      path.push_back(&arrow);
      return true;
    }
    return false;
  }

  static std::string describe_taking(std::string_view intro, const Acquisition& taken) {
    return fmt::format("    {} {} at {}:{}\n{}", intro, describe(*taken.lock),
                       taken.where.file_name(), taken.where.line(), taken.stack.to_string());
  }

  static LockProblem report(const std::vector<const Arrow*>& ring) {
    const Arrow& newest = *ring.front();
    LockProblem problem{.kind = LockProblem::Kind::order, .locks = {}, .report = {}};
    if (ring.size() == 1) {
      problem.kind = LockProblem::Kind::recursion;
      problem.report = fmt::format("lock order: {} is taken by a thread that holds it already\n",
                                   describe(*newest.held.lock));
    } else {
      problem.report = fmt::format(
          "lock order: {} is taken while {} is held, and elsewhere the other way round: "
          "this can deadlock\n",
          describe(*newest.wanted.lock), describe(*newest.held.lock));
    }
    for (const Arrow* arrow : ring) {
      problem.locks.push_back(describe(*arrow->held.lock));
      problem.report += fmt::format("  {}:\n", arrow->thread);
      problem.report += describe_taking("took", arrow->held);
      problem.report += describe_taking("then wanted", arrow->wanted);
    }
    return problem;
  }

  SmallLock lock_;
  // Guarded by lock_.
  std::unordered_map<const Primitive*, Node> nodes_;
  std::size_t arrows_ = 0;
  bool said_full_ = false;
};

}  // namespace

void about_to_lock(Primitive& lock, std::source_location where) {
  lock.enter_registry();  // For its number: an unnamed lock is reported by it.
  OrderGraph& graph = OrderGraph::instance();
  for (const Acquisition& held : held_locks.all()) {
    if (graph.knows(*held.lock, lock)) continue;
    const Acquisition wanted{.lock = &lock, .where = where, .stack = CallStack::here()};
    if (const auto problem = graph.draw(held, wanted)) report_lock_problem(*problem);
    if (graph.has_to_say_full()) {
      log_line(fmt::format("lock order: {} orders were seen, no more are recorded",
                           OrderGraph::max_arrows));
    }
  }
}

void locked(Primitive& lock, std::source_location where) {
  lock.enter_registry();
  held_locks.push(lock, where);
  add_holder(lock, this_thread_id(), where);
}

void about_to_unlock(Primitive& lock) {
  held_locks.remove(lock);
  drop_holder(lock, this_thread_id());
}

void locked_for(ThreadId owner, Primitive& lock, std::source_location where) {
  lock.enter_registry();
  add_holder(lock, owner, where);
}

void about_to_unlock_for(ThreadId owner, Primitive& lock) { drop_holder(lock, owner); }

void forget_lock(const Primitive& lock) {
  OrderGraph::instance().forget(lock);
  forget_holders(lock);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail

#endif
