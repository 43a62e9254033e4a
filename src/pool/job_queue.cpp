#include "handoff/detail/pool/job_queue.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class JobQueue::PutTurn final : public Turnstile::Turn {
 public:
  PutTurn(JobQueue& queue, JobMaker make) : queue_(queue), make_(make) {}

  bool attempt() override {
    tried_ = queue_.try_put(make_);
    return tried_ != Tried::not_yet;
  }
  bool is_ready() const override { return queue_.size() < queue_.capacity_; }
  std::uint64_t position() const override { return queue_.tail_.index(); }

  // Called by another thread, which holds the tail lock. True if the place was filled.
  bool fill_for_owner() noexcept {
    try {
      make_(queue_.place_locked());
    } catch (...) {
      error_ = std::current_exception();
    }
    tried_ = Tried::done;
    return error_ == nullptr;
  }

  std::optional<Refusal> finish() {
    if (error_) std::rethrow_exception(error_);
    if (tried_ == Tried::closed) return Refusal::closed;
    return std::nullopt;
  }

 private:
  JobQueue& queue_;
  JobMaker make_;
  Tried tried_ = Tried::not_yet;
  std::exception_ptr error_;
};

JobQueue::JobQueue(Primitive& subject, const Roster& workers, Turnstile& consumers,
                   std::size_t capacity)
    : capacity_(checked_capacity(capacity, sizeof(Job))),
      workers_(workers),
      consumers_(consumers),
      slots_(capacity_),
      producers_(subject) {}

JobQueue::~JobQueue() {
  for (auto left = tail_.index() - head_.index(); left > 0; --left) {
    slots_.empty(empty_position_);
    empty_position_ = wrapped(empty_position_ + 1);
  }
}

std::optional<Refusal> JobQueue::put_waiting(JobMaker make, const Wait& wait, WaitSite site) {
  PutTurn turn(*this, make);
  if (auto refusal = producers_.wait(turn, wait, site)) return refusal;
  return turn.finish();
}

bool JobQueue::serve_producer(std::uint64_t tail) {
  bool filled = false;
  const bool served = producers_.serve_front([&](Turnstile::Turn& turn) {
    filled = static_cast<PutTurn&>(turn).fill_for_owner();
    // Before the owner can go: once its call has returned, the job must be there for all.
    if (filled) {
      publish_index(tail);
    } else {
      tail_.unlock(tail);
    }
  });
  if (filled) tell_consumers();  // Not above: one list's lock is never taken under another's.
  return served;
}

void JobQueue::close() {
  const auto tail = tail_.lock();
  closed_.store(true, seq_cst);  // Pairs with is_closed().
  tail_.unlock(tail);
  producers_.rouse_all();
}

std::size_t JobQueue::claim(Worker& worker, std::size_t most) {
  const auto head = head_.lock();
  if (tail_seen_ - head < most) tail_seen_ = tail_.index();
  most = std::min<std::size_t>(most, static_cast<std::size_t>(tail_seen_ - head));
  std::size_t count = 0;
  for (; count < most; ++count) {
    Job* const place = worker.claimed.place(count);
    if (place == nullptr) break;
    *place = std::move(slots_[empty_position_]);
    slots_.empty(empty_position_);
    empty_position_ = wrapped(empty_position_ + 1);
  }
  if (count > 0) worker.claimed.publish(count);
  head_.unlock(head + count);
  return count;
}

bool JobQueue::take(Job& job) {
  const auto head = head_.lock();
  if (tail_seen_ == head) tail_seen_ = tail_.index();
  const bool found = tail_seen_ != head;
  if (found) {
    job = std::move(slots_[empty_position_]);
    slots_.empty(empty_position_);
    empty_position_ = wrapped(empty_position_ + 1);
  }
  head_.unlock(head + (found ? 1 : 0));
  // After the head has moved: started() must never be ahead of it.
  if (found) taken_singly_.fetch_add(1, seq_cst);
  return found;
}

bool JobQueue::is_empty() const {
  const auto head = head_.index();
  return head == tail_.index();
}

std::uint64_t JobQueue::started() const {
  std::uint64_t sum = taken_singly_.load(seq_cst);
  for (std::size_t i = 0; i < workers_.size(); ++i) sum += workers_[i].claimed.taken();
  return sum;
}

std::size_t JobQueue::size() const {
  const auto started_before = started();
  return std::min<std::size_t>(static_cast<std::size_t>(tail_.index() - started_before), capacity_);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
