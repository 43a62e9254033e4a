#include "sign_up.hpp"

#include <utility>

namespace signup {

Answer SignUps::sign_up(std::string_view name, std::string_view address) {
  if (!is_name(name)) return Answer::bad_name;
  auto to = EmailAddress::parse(address);
  if (!to) return Answer::bad_address;

  Mail mail{.id = count_++, .to = std::move(*to), .name = std::string(name)};
  // Refused if thousands wait already, or if we are ending: a mail that was refused is still ours.
  if (const auto handed_over = emails_.send(std::move(mail)); !handed_over) {
    const bool is_full = handed_over.error() == handoff::Refusal::full;
    outcomes_->add(mail, is_full ? Outcome::failed : Outcome::handed_back, "too many at once");
  }
  return Answer::welcome;
}

}  // namespace signup
