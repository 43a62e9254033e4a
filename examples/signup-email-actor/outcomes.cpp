#include "outcomes.hpp"

namespace signup {

void Outcomes::add(const Mail& mail, Outcome outcome, std::string_view why) {
  auto state = state_.lock();
  if (!state->by_mail.try_emplace(mail.id, outcome).second) {
    ++state->sums.twice;
    return;
  }
  ++state->sums.counts[static_cast<std::size_t>(outcome)];
  if (outcome == Outcome::failed) ++state->sums.whys[std::string(why)];
}

void Outcomes::tried_in_vain() { ++state_.lock()->sums.failed_tries; }

void Outcomes::set_waiting(std::uint64_t waiting) { state_.lock()->sums.waiting = waiting; }

Outcomes::Snapshot Outcomes::snapshot() const { return state_.lock()->sums; }

std::vector<std::uint64_t> Outcomes::all_with(Outcome outcome) const {
  std::vector<std::uint64_t> mails;
  const auto state = state_.lock();
  for (const auto& [mail, told] : state->by_mail) {
    if (told == outcome) mails.push_back(mail);
  }
  return mails;
}

}  // namespace signup
