#include "handoff/detail/pool/pool_timers.hpp"

#include "handoff/detail/pool/pool_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {
// Never, if that is later than a time can be.
TimePoint later(TimePoint from, Duration by) {
  return by > TimePoint::max() - from ? TimePoint::max() : from + by;
}
}  // namespace

std::expected<TimerNode*, Refusal> PoolTimers::arm(JobMaker make, TimePoint due, Duration period,
                                                   Overrun overrun) {
  auto node = std::make_unique<TimerNode>(shared_from_this());
  node->fire = &PoolTimers::fire;
  node->due = due;
  node->period = period;
  node->overrun = overrun;
  SmallGuard guard(lock_);
  if (closed_) return std::unexpected(Refusal::closed);
  if (count_ >= most_) return std::unexpected(Refusal::full);
  make(&node->job);  // Only now: what is refused is untouched.
  arm_locked(*node);
  ++count_;
  return node.release();
}

void PoolTimers::arm_locked(TimerNode& node) {
  TimerService::shared().arm(node, node.due);  // First: it may throw.
  node.state = TimerNode::State::armed;
  node.previous = nullptr;
  node.next = armed_;
  if (armed_ != nullptr) armed_->previous = &node;
  armed_ = &node;
}

void PoolTimers::unlink_locked(TimerNode& node) {
  (node.previous == nullptr ? armed_ : node.previous->next) = node.next;
  if (node.next != nullptr) node.next->previous = node.previous;
}

void PoolTimers::fire(TimerEntry& entry) noexcept {
  auto& node = static_cast<TimerNode&>(entry);
  const auto timers = node.timers;  // The node may be released below, and with it the last of them.
  timers->on_due(node);
}

void PoolTimers::on_due(TimerNode& node) {
  {
    SmallGuard guard(lock_);
    if (node.state == TimerNode::State::armed) {
      unlink_locked(node);
      node.state = TimerNode::State::due;
      node.next = nullptr;
      (last_due_ == nullptr ? first_due_ : last_due_->next) = &node;
      last_due_ = &node;
      due_count_.fetch_add(1, seq_cst);  // The store half of the handshake with a sleeper.
      pool_.tell_workers();  // Under the lock: until close() has had it, the pool is there.
      return;
    }
  }
  release(node);  // Cancelled while it was about to fire.
}

TimerNode* PoolTimers::take_due() {
  SmallGuard guard(lock_);
  TimerNode* const node = first_due_;
  if (node == nullptr) return nullptr;
  first_due_ = node->next;
  if (first_due_ == nullptr) last_due_ = nullptr;
  due_count_.fetch_sub(1, seq_cst);
  if (node->state == TimerNode::State::due) {
    node->state = TimerNode::State::running;
  }
  return node;
}

void PoolTimers::ran(TimerNode& node) {
  Job last;  // Destroyed without the lock.
  {
    SmallGuard guard(lock_);
    if (node.state == TimerNode::State::running && node.period > Duration::zero() && !closed_) {
      const auto at = now();
      switch (node.overrun) {
        case Overrun::catch_up: node.due = later(node.due, node.period); break;
        case Overrun::delay: node.due = later(at, node.period); break;
        case Overrun::skip: {
          const auto missed = at > node.due ? (at - node.due) / node.period : 0;
          node.due = later(node.due + node.period * missed, node.period);  // The first is past.
        }
      }
      try {
        arm_locked(node);
        return;
      } catch (...) {
        // No thread for the timers: cannot be, it has been armed before. If it is, the timer ends here.
      }
    }
    if (node.state == TimerNode::State::running) --count_;  // A cancelled one is not counted.
    node.state = TimerNode::State::over;
    last = std::move(node.job);
  }
  release(node);
}

bool PoolTimers::cancel(TimerNode& node) {
  Job job;  // Destroyed without the lock.
  bool is_ours = false;
  {
    SmallGuard guard(lock_);
    switch (node.state) {
      case TimerNode::State::over: return false;
      case TimerNode::State::running:
        if (node.period == Duration::zero()) return false;
        break;
      case TimerNode::State::armed:
        unlink_locked(node);
        // If it is firing at this moment, fire() gives up the list's reference.
        is_ours = TimerService::shared().cancel(node);
        job = std::move(node.job);
        break;
      case TimerNode::State::due: job = std::move(node.job); break;
    }
    node.state = TimerNode::State::over;
    --count_;
  }
  if (is_ours) release(node);
  return true;
}

bool PoolTimers::is_active(const TimerNode& node) const {
  SmallGuard guard(lock_);
  return node.state != TimerNode::State::over;
}

void PoolTimers::release(TimerNode& node) {
  // acq_rel: what others did with it happens before it is destroyed.
  if (node.references.fetch_sub(1, acq_rel) == 1) delete &node;
}

std::size_t PoolTimers::close() {
  std::size_t cancelled = 0;
  while (true) {
    TimerNode* node = nullptr;
    {
      SmallGuard guard(lock_);
      closed_ = true;
      node = armed_;
      if (node == nullptr) return cancelled;
      node->references.fetch_add(1, relaxed);  // Under the lock it has the list's.
    }
    cancelled += cancel(*node) ? 1 : 0;
    release(*node);
  }
}

std::size_t PoolTimers::drop_due() {
  std::size_t dropped = 0;
  while (TimerNode* const node = take_due()) {
    dropped += is_active(*node) ? 1 : 0;
    ran(*node);  // Closed: it is not armed again.
  }
  return dropped;
}

std::size_t PoolTimers::armed() const {
  SmallGuard guard(lock_);
  return count_;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
