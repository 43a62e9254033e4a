// Sends mails by SMTP, with libcurl. The connection stays open for the next mail.
//
// It blocks the thread that calls it, for some seconds at worst: so it belongs to an actor with a thread of its own.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "mail.hpp"

namespace signup {

struct SmtpServer {
  std::string host;
  std::uint16_t port = 0;

  static std::optional<SmtpServer> parse(std::string_view text);  // "mail.example.com:25"
};

enum class Try : std::uint8_t {
  sent,         // The server has taken it over.
  refused,      // The server will never take it.
  later,        // The server is there, and says that it cannot now.
  unreachable,  // There is no server, or it vanished, or it takes too long.
};

struct Tried {
  Try what;
  std::string why = {};  // In words, if it was not sent.
};

class SmtpClient {
 public:
  // Throws std::runtime_error if libcurl cannot be used.
  explicit SmtpClient(const SmtpServer& server);
  ~SmtpClient();
  SmtpClient(const SmtpClient&) = delete;
  SmtpClient& operator=(const SmtpClient&) = delete;

  Tried send(const Mail& mail);

 private:
  struct Curl;
  const std::unique_ptr<Curl> curl_;
};

}  // namespace signup
