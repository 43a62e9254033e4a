#include "mail.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>

namespace signup {

namespace {

// <cctype> asks the locale, and these must not.
bool is_letter_or_digit(char each) {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
         (each >= '0' && each <= '9');
}

bool is_local_part(std::string_view text) {
  constexpr std::string_view others = "!#$%&'*+-/=?^_`{|}~.";
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [&](char each) {
    return is_letter_or_digit(each) || others.find(each) != std::string_view::npos;
  });
}

bool is_domain(std::string_view text) {
  if (text.empty() || text.front() == '.' || text.back() == '.') return false;
  if (text.find("..") != std::string_view::npos) return false;
  return std::ranges::all_of(
      text, [](char each) { return is_letter_or_digit(each) || each == '-' || each == '.'; });
}

}  // namespace

std::optional<EmailAddress> EmailAddress::parse(std::string_view text) {
  const auto at = text.find('@');
  if (text.size() > 254 || at == std::string_view::npos) return std::nullopt;
  if (!is_local_part(text.substr(0, at)) || !is_domain(text.substr(at + 1))) return std::nullopt;
  return EmailAddress(text);
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 100 && std::ranges::all_of(text, [](char each) {
    return static_cast<unsigned char>(each) >= 0x20 && each != 0x7f;
  });
}

std::string text_of(const Mail& mail) {
  // The name stands in the text only: a header would have to encode it. By its Message-ID, a mail that comes twice can be told.
  return fmt::format(
      "From: The shop <{}>\r\n"
      "To: <{}>\r\n"
      "Subject: Welcome\r\n"
      "Message-ID: <welcome-{}@example.com>\r\n"
      "MIME-Version: 1.0\r\n"
      "Content-Type: text/plain; charset=utf-8\r\n"
      "Content-Transfer-Encoding: 8bit\r\n"
      "\r\n"
      "{},\r\n"
      "\r\n"
      "welcome to the shop.\r\n",
      sender_address, mail.to.text(), mail.id, mail.name);
}

}  // namespace signup
