#include "inbox.hpp"

#include <utility>

namespace signup {

Taken Inbox::takes(std::string_view address) {
  if (address.starts_with("nobody@")) return Taken::never;
  if (!address.starts_with("late@")) return Taken::yes;
  const bool is_first = state_.lock()->told_to_come_again.emplace(address).second;
  return is_first ? Taken::not_now : Taken::yes;
}

void Inbox::add(Received mail) { state_.lock()->mails.push_back(std::move(mail)); }
void Inbox::count_connection() { ++state_.lock()->connections; }
std::vector<Received> Inbox::mails() const { return state_.lock()->mails; }
std::uint64_t Inbox::size() const { return state_.lock()->mails.size(); }
std::uint64_t Inbox::connections() const { return state_.lock()->connections; }

}  // namespace signup
