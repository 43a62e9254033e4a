// A select under way: one waiter that stands at several places, of which exactly one case happens.
//
// Channels: the locks of all of them are held, in the order of their addresses, while the select looks at each and, if none is
// ready, stands in all their lines. So of two selects that could meet, the second sees the first. A peer claims the waiter and does
// the case under its channel's lock; the select then leaves the other lines.
//
// Queues, events and the like give the waiter its turn, and it has to look for itself. While it does, nobody else may do a case for it: it
// looks only while its waiter is claimed, by whoever gave it the turn or by itself (`roused`). Peers at the channels pass it over
// meanwhile. So before it can be claimed again it looks at the channels too, and becomes claimable with their locks held; then it asks
// the others once more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <source_location>
#include <span>
#include <stop_token>
#include <tuple>
#include <utility>

#include "handoff/detail/channel/channel_core.hpp"
#include "handoff/detail/core/select_case.hpp"
#include "handoff/detail/core/steps.hpp"
#include "handoff/refusal.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

// Which case has happened, counted from 0; or why none has.
using Selected = std::expected<std::size_t, Refusal>;

namespace detail {

// How long a select may wait: until its deadline, or until the first of its timers.
struct SelectUntil {
  Deadline deadline;
  bool is_timer = false;
};
// `delay`: of the first timer.
SelectUntil select_until(Deadline deadline, Duration delay);
SelectUntil select_until(Deadline deadline, std::span<const SelectCase* const> cases);

class Selection final : public Steps {
 public:
  // `channels`: room for as many as there are cases.
  Selection(std::span<SelectCase* const> cases, std::span<ChannelCase*> channels);
  Selection(const Selection&) = delete;
  Selection& operator=(const Selection&) = delete;

  // Tries without waiting.
  bool ready(const std::stop_token& stop);
  // Before begin(): whether the waiter's deadline is that of its first timer.
  void set_until(const SelectUntil& until) { until_is_timer_ = until.is_timer; }
  bool begin(Waiter& waiter) override;
  bool go_on(Waiter& waiter, WaitState outcome) override;
  // Once it is over: calls the handler of the case that has happened. What it throws passes through.
  Selected finish();
  // The deadline had passed before it began to wait.
  Selected finish_at_deadline() {
    time_has_come();
    return finish();
  }

 private:
  class Locks;
  class LeaveAtEnd;
  static constexpr std::size_t none = SIZE_MAX;

  bool may_happen(const SelectCase& one) const;
  bool attempt(SelectCase& one);
  // Picks one of those that seem ready, all with the same chance, and tries it.
  bool try_one();
  bool try_channels_locked(Wakes& wakes);
  bool look_at_watched();
  bool look_again(Waiter& waiter);
  void stand_at_channels_locked(Waiter& waiter);
  bool leave_watched();
  void sort_channels();
  void leave();
  void time_has_come();
  template <typename Try>
  bool try_in_random_order(Try try_case);

  const std::span<SelectCase* const> cases_;
  std::span<ChannelCase*> channels_;  // Those that are at channels.
  std::size_t watched_ = 0;           // How many are at queues, events and the like.
  std::size_t otherwise_ = none;
  std::size_t timer_ = none;  // The first to come.
  bool until_is_timer_ = false;
  bool stands_at_watched_ = false;
  bool stands_at_channels_ = false;
  bool is_armed_ = false;
  bool was_served_ = false;  // By a peer at a channel, or at a queue.
  bool may_spin_ = true;
  Receipt receipt_;

  std::size_t happened_ = none;
  std::optional<Refusal> refusal_;
};

// The cases of a select that are known when it is compiled.
template <typename... Cases>
class CaseTable {
 public:
  template <typename... Clauses>
  explicit CaseTable(Clauses&&... clauses) : cases_(std::move(clauses)...) {}
  CaseTable(const CaseTable&) = delete;
  CaseTable& operator=(const CaseTable&) = delete;

  std::span<SelectCase* const> cases() const { return list_; }
  std::span<ChannelCase*> channels() { return channels_; }

 private:
  std::tuple<Cases...> cases_;
  const std::array<SelectCase*, sizeof...(Cases)> list_ = std::apply(
      [](auto&... each) { return std::array<SelectCase*, sizeof...(Cases)>{&each...}; }, cases_);
  std::array<ChannelCase*, sizeof...(Cases)> channels_;  // Filled in by the select.
};

// On this thread.
Selected run_select(std::span<SelectCase* const> cases, std::span<ChannelCase*> channels,
                    const Wait& wait, std::source_location where);

}  // namespace detail
}  // namespace handoff::inline HANDOFF_FLAVOUR
