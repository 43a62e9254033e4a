// One conversation in SMTP (RFC 5321), from the side of a small server that takes mail and keeps it.
//
//   greeting     -> MAIL: sender   -> RCPT: recipients, one or more   -> DATA: the text   -> the greeting's state again
//
// Bytes in, bytes out: no sockets here.
#pragma once

#include <string>
#include <string_view>

#include "inbox.hpp"

namespace signup {

class Dialogue {
 public:
  explicit Dialogue(Inbox& inbox) : inbox_(inbox) {}

  static std::string greeting() { return "220 localhost ready\r\n"; }
  // What to answer to what has come.
  std::string hear(std::string_view bytes);
  bool is_over() const { return is_over_; }  // Hang up, once the answer is sent.

 private:
  std::string answer(std::string_view line);
  std::string mail(std::string_view address);
  std::string recipient(std::string_view address);
  std::string data(std::string_view line);
  void forget_mail() { mail_ = {}; }

  Inbox& inbox_;
  std::string unread_;  // The beginning of a line.
  bool is_greeted_ = false;
  bool is_in_text_ = false;
  bool is_over_ = false;
  bool is_too_large_ = false;
  Received mail_;
};

}  // namespace signup
