#include "handoff/select.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

void Select::list() {
  // Memory first: the lists change together or not at all.
  cases_.reserve(owned_.size());
  numbers_.reserve(owned_.size());
  channels_.resize(owned_.size());
  cases_.clear();
  numbers_.clear();
  for (std::size_t number = 0; number < owned_.size(); ++number) {
    if (!owned_[number]) continue;
    cases_.push_back(owned_[number].get());
    numbers_.push_back(number);
  }
}

void Select::check() const {
  if (cases_.empty()) throw std::logic_error("a select without a case would wait for ever");
}

Selected Select::wait(const Wait& wait, std::source_location where) {
  check();
  auto selected = detail::run_select(cases_, channels_, wait, where);
  if (selected) *selected = numbers_[*selected];
  return selected;
}

detail::Awaitable<detail::SelectListOperation> Select::async_wait(Deadline deadline,
                                                                  std::source_location where) {
  check();
  const auto until = detail::select_until(deadline, cases_);
  return detail::Awaitable<detail::SelectListOperation>(
      detail::WaitSite{"select", where}, until.deadline, until,
      std::span<detail::SelectCase* const>(cases_), std::span<detail::ChannelCase*>(channels_),
      std::span<const std::size_t>(numbers_));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
