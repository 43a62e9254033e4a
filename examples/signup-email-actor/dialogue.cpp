#include "dialogue.hpp"

#include <cstddef>
#include <optional>
#include <utility>

namespace signup {

namespace {

constexpr std::size_t longest_line = 1'000;  // RFC 5321, 4.5.3.1.6
constexpr std::size_t most_recipients = 100;
constexpr std::size_t largest_mail = 100'000;

char upper(char each) {
  return each >= 'a' && each <= 'z' ? static_cast<char>(each - 'a' + 'A') : each;
}

// What follows `word` at the beginning of the line, in capitals or not.
std::optional<std::string_view> after(std::string_view line, std::string_view word) {
  if (line.size() < word.size()) return std::nullopt;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (upper(line[i]) != word[i]) return std::nullopt;
  }
  return line.substr(word.size());
}

// "<ada@example.com> SIZE=300": what is between the brackets. Parameters may follow.
std::optional<std::string> path_of(std::string_view text) {
  const auto open = text.find('<');
  const auto close = text.find('>');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  return std::string(text.substr(open + 1, close - open - 1));
}

}  // namespace

std::string Dialogue::hear(std::string_view bytes) {
  std::string answers;
  unread_ += bytes;
  std::size_t begin = 0;
  // Lines end with CR LF and nothing else: servers that are generous here can be fooled about where a mail ends.
  for (auto end = unread_.find("\r\n"); end != std::string::npos && !is_over_;
       end = unread_.find("\r\n", begin)) {
    const auto line = std::string_view(unread_).substr(begin, end - begin);
    answers += is_in_text_ ? data(line) : answer(line);
    begin = end + 2;
  }
  unread_.erase(0, begin);
  if (unread_.size() > longest_line) {
    is_over_ = true;
    answers += "500 line too long\r\n";
  }
  return answers;
}

std::string Dialogue::answer(std::string_view line) {
  if (after(line, "EHLO ") || after(line, "HELO ")) {
    is_greeted_ = true;
    forget_mail();
    return after(line, "HELO ") ? "250 localhost\r\n" : "250-localhost\r\n250 8BITMIME\r\n";
  }
  if (after(line, "NOOP")) return "250 ok\r\n";
  if (after(line, "RSET")) return forget_mail(), "250 ok\r\n";
  if (after(line, "QUIT")) return is_over_ = true, "221 goodbye\r\n";
  if (!is_greeted_) return "503 greet me first\r\n";
  if (const auto rest = after(line, "MAIL FROM:")) return mail(*rest);
  if (const auto rest = after(line, "RCPT TO:")) return recipient(*rest);
  if (!after(line, "DATA")) return "502 what?\r\n";
  if (mail_.to.empty()) return "503 to whom?\r\n";
  is_in_text_ = true;
  return "354 end it with a dot on a line of its own\r\n";
}

std::string Dialogue::mail(std::string_view address) {
  const auto from = path_of(address);
  if (!from) return "501 from whom?\r\n";
  if (!mail_.from.empty()) return "503 there is one already\r\n";
  mail_.from = *from;
  return "250 ok\r\n";
}

std::string Dialogue::recipient(std::string_view address) {
  const auto to = path_of(address);
  if (!to || to->empty()) return "501 to whom?\r\n";
  if (mail_.from.empty()) return "503 from whom?\r\n";
  if (mail_.to.size() >= most_recipients) return "452 too many recipients\r\n";
  switch (inbox_.takes(*to)) {
    case Taken::never: return "550 no such user here\r\n";
    case Taken::not_now: return "451 come again later\r\n";
    case Taken::yes: break;
  }
  mail_.to.push_back(*to);
  return "250 ok\r\n";
}

// A dot was put before each line that begins with one, so that a dot alone is the end.
std::string Dialogue::data(std::string_view line) {
  if (line != ".") {
    if (line.starts_with('.')) line.remove_prefix(1);
    is_too_large_ |= mail_.text.size() + line.size() > largest_mail;
    if (!is_too_large_) mail_.text.append(line).append("\r\n");
    return {};
  }
  is_in_text_ = false;
  const bool is_kept = !std::exchange(is_too_large_, false);
  if (is_kept) inbox_.add(std::move(mail_));
  forget_mail();
  return is_kept ? "250 kept\r\n" : "552 too large\r\n";
}

}  // namespace signup
