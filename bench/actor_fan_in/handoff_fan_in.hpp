// handoff::Actor. A send to a full mailbox has the sender wait without holding a worker; so that it holds none for long
// in any case, a sender sends a hundred numbers at a time, then tells itself to go on.
#pragma once

#include <utility>
#include <vector>

#include "../support/actors/handoff.hpp"
#include "../support/actors/tally.hpp"
#include "workload.hpp"

namespace bench {

struct Number {
  std::uint64_t value;
};
struct SendSome {};

class Receiver : public handoff::Actor<Receiver, Number> {
 public:
  Receiver(std::uint64_t messages, Tally* tally) : messages_(messages), tally_(tally) {}

  void on(Number number) {
    sum_ += number.value;
    if (++taken_ == messages_) tally_->report(taken_, sum_);
  }

 private:
  const std::uint64_t messages_;
  Tally* const tally_;
  std::uint64_t taken_ = 0;
  std::uint64_t sum_ = 0;
};

class Sender : public handoff::Actor<Sender, SendSome> {
 public:
  Sender(handoff::ActorRef<Receiver> receiver, std::uint64_t first, std::uint64_t step,
         std::uint64_t last)
      : receiver_(std::move(receiver)), next_(first), step_(step), last_(last) {}

  void on(SendSome) {
    constexpr int at_a_time = 100;
    for (int i = 0; i < at_a_time && next_ <= last_; ++i) {
      if (!receiver_.send(Number{next_})) break;  // The number is still ours: it goes next time.
      next_ += step_;
    }
    if (next_ <= last_) must(self().send(SendSome{}));
  }

 private:
  handoff::ActorRef<Receiver> receiver_;
  std::uint64_t next_;
  const std::uint64_t step_;
  const std::uint64_t last_;
};

template <std::size_t capacity>
class HandoffFanIn {
 public:
  explicit HandoffFanIn(const FanInShape& shape)
      : tally_{1}, system_{{.workers = shape.workers, .name = "bench"}} {
    auto receiver = system_.spawn<Receiver>(actor_options(capacity), shape.messages, &tally_);
    for (std::uint64_t first = 1; first <= shape.senders; ++first) {
      senders_.push_back(system_.spawn<Sender>(actor_options(capacity), receiver, first,
                                               shape.senders, shape.messages));
    }
  }

  ~HandoffFanIn() { shut_down(system_); }

  JobTotals run() {
    for (auto& each : senders_) must(each.send(SendSome{}));
    return tally_.wait();
  }

  static std::string version() { return "this commit"; }

 private:
  Tally tally_;
  handoff::ActorSystem system_;
  std::vector<handoff::ActorRef<Sender>> senders_;
};

}  // namespace bench
