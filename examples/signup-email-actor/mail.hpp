// A mail to somebody who has signed up. Its parts are checked once, when they come in: what is in here can go into a mail
// and into an SMTP command as it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signup {

// An address of plain ASCII, as in "ada@example.com": no quotes, no spaces, and above all no line ends, with which a
// visitor could put commands of his own between ours.
class EmailAddress {
 public:
  static std::optional<EmailAddress> parse(std::string_view text);
  const std::string& text() const { return text_; }

 private:
  explicit EmailAddress(std::string_view text) : text_(text) {}
  std::string text_;
};

// How somebody wants to be called: any UTF-8 without control characters, 1 to 100 bytes.
bool is_name(std::string_view text);

// The message to the EmailActor.
struct Mail {
  std::uint64_t id;
  EmailAddress to;
  std::string name;
};

inline constexpr std::string_view sender_address = "welcome@example.com";

// With its headers, and lines that end with CR LF. A line may begin with a dot: libcurl takes care of that.
std::string text_of(const Mail& mail);

}  // namespace signup
