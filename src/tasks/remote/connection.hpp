// Asks a server, once more where that does no harm, and says what is wrong as TaskError does.
//
//   Connection server({.url = "http://127.0.0.1:8077", .token = token});
//   auto answer = server.ask({.method = "POST", .path = "/v1/tasks", .body = json});    // std::expected<Answer, Problem>
//
// - What gets no answer is asked again, with pauses that grow, until patience is over. So whoever asks says the same by asking twice: tasks have ids before they are sent.
// - What must not be asked twice (a claim) is asked once; the Problem says whether it may have happened.
// - Who waits (a claim, the end of a task) has connections of its own, so that others need not wait for them. There are never more than the options allow.
// Thread safety: any member, any thread.
#pragma once

#include <chrono>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "handoff/tasks/error.hpp"
#include "handoff/wait.hpp"
#include "net/http_client.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote {

using Millis = std::chrono::milliseconds;

struct ConnectionOptions {
  std::string url;  // Without a path: "http://127.0.0.1:8077".
  std::string token{};
  std::string ca_file{};
  Millis patience{10'000};
  std::size_t most_calls = 16;   // Connections for those who do not wait,
  std::size_t most_waits = 256;  // and for those who do.
};

struct Question {
  std::string method = "GET";
  std::string path;  // With what stands behind the question mark.
  std::string_view body{};
  Millis timeout = std::chrono::seconds(30);  // For one answer.
  bool is_wait = false;                       // The server may take its time.
  Wait limits{};                              // Of the whole, besides patience.
};

struct Problem {
  TaskError error;
  int status = 0;                  // Of the answer, if there was one.
  bool may_have_happened = false;  // There was none, and something was sent.
};

using Answer = std::expected<std::string, Problem>;  // The body.

class Connection {
 public:
  explicit Connection(ConnectionOptions options);

  Answer ask(const Question& question);
  Answer ask_once(const Question& question);
  // As net::HttpClient::stream() does. Returns why it has ended.
  Problem stream(const std::string& path, const std::string& last_event,
                 const std::stop_token& stop, const net::HttpClient::OnPart& part);

  const std::string& url() const { return options_.url; }

 private:
  net::HttpRequest request_of(const Question& question) const;
  Problem problem_of(const net::HttpReply& reply) const;
  Problem problem_of(const net::HttpFailure& failure, const Wait& limits) const;

  const ConnectionOptions options_;
  net::HttpClient calls_;
  net::HttpClient waits_;
};

// As it may stand in a path, or behind a question mark.
std::string escaped(std::string_view text);

// How long to wait before the next try: longer each time, and never the same for all.
class Backoff {
 public:
  Millis next();
  void reset() { pause_ = first; }

 private:
  static constexpr Millis first{50};
  static constexpr Millis longest{2000};
  Millis pause_ = first;
};

// Whether the time has passed; false if a stop came first.
bool pause(Millis time, const std::stop_token& stop);

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote
