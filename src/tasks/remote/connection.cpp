#include "tasks/remote/connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "handoff/clock.hpp"
#include "handoff/event.hpp"
#include "handoff/tasks/payload.hpp"
#include "tasks/entropy.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote {

namespace {

using Code = TaskError::Code;

constexpr Millis connect_timeout{5000};
constexpr std::chrono::seconds longest_silence{30};  // Of a stream, which says something each ten.
constexpr std::size_t largest_answer = std::size_t{256} << 20;

struct ErrorPart {
  std::string code;
  std::string message;
  std::optional<std::string> field;
};
BOOST_DESCRIBE_STRUCT(ErrorPart, (), (code, message, field))

struct ErrorBody {
  ErrorPart error;
};
BOOST_DESCRIBE_STRUCT(ErrorBody, (), (error))

Code code_of(std::string_view name, int status) {
  using enum TaskError::Code;
  for (const Code each : {full, closed, timed_out, stopped, bad_request, not_found, conflict,
                          stale_lease, cancelled, too_large, unavailable, forbidden}) {
    if (to_string(each) == name) return each;
  }
  return status == 404 ? not_found : status == 401 ? forbidden : internal;
}

// What to do about it.
std::string_view advice_for(int status) {
  if (status == 401) {
    return "; make a token there with `handoff token create`, and give it as HANDOFF_TOKEN or "
           "OpenOptions::token";
  }
  if (status == 403) return "; use a token with that role (HANDOFF_TOKEN, OpenOptions::token)";
  return "";
}

net::HttpClientOptions client_options(const ConnectionOptions& options, std::size_t connections) {
  return {.connect_timeout = std::clamp(options.patience, Millis(100), connect_timeout),
          .most_connections = connections,
          .response_limit = largest_answer,
          .ca_file = options.ca_file};
}

// Also what stands between us and the server may say that.
bool is_passing(const Problem& problem) {
  if (problem.status == 0) return problem.error.code == Code::unavailable;
  return problem.status == 502 || problem.status == 504 ||
         (problem.status == 503 && problem.error.code != Code::full);
}

Problem over(const Wait& limits, Problem last) {
  if (limits.stop.stop_requested()) {
    last.error = {.code = Code::stopped, .message = "stopped: " + last.error.message, .field = {}};
  } else if (limits.deadline.has_passed()) {
    last.error = {.code = Code::timed_out, .message = last.error.message, .field = {}};
  }
  return last;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string all;
  for (const char each : text) {
    const bool is_plain = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
                          (each >= '0' && each <= '9') || each == '-' || each == '.' || each == '_';
    if (is_plain) {
      all += each;
    } else {
      all += fmt::format("%{:02X}", static_cast<unsigned char>(each));
    }
  }
  return all;
}

Millis Backoff::next() {
  const Millis whole = std::exchange(pause_, std::min(pause_ * 2, longest));
  return whole / 2 + Millis(static_cast<std::int64_t>(random_bits() %
                                                      static_cast<std::uint64_t>(whole.count())));
}

bool pause(Millis time, const std::stop_token& stop) {
  const auto told = Event().wait({.deadline = within(time), .stop = stop});
  return told || told.error() != Refusal::stopped;
}

Connection::Connection(ConnectionOptions options)
    : options_(std::move(options)),
      calls_(client_options(options_, options_.most_calls)),
      waits_(client_options(options_, options_.most_waits)) {}

net::HttpRequest Connection::request_of(const Question& question) const {
  net::HttpRequest request{.method = question.method,
                           .url = options_.url + question.path,
                           .headers = {},
                           .body = question.body,
                           .timeout = question.timeout,
                           .stop = question.limits.stop};
  if (!question.body.empty()) request.headers.emplace_back("Content-Type", "application/json");
  if (!options_.token.empty()) {
    request.headers.emplace_back("Authorization", "Bearer " + options_.token);
  }
  if (!question.limits.deadline.is_never()) {
    const auto left = std::chrono::ceil<Millis>(question.limits.deadline.when() - now());
    request.timeout = std::clamp(left, Millis(1), question.timeout);
  }
  return request;
}

Problem Connection::problem_of(const net::HttpReply& reply) const {
  Problem problem{.error = {}, .status = reply.status};
  if (auto body = from_json<ErrorBody>(reply.body)) {
    ErrorPart& part = body->error;
    problem.error = {.code = code_of(part.code, reply.status),
                     .message = std::move(part.message),
                     .field = std::move(part.field).value_or("")};
  } else {
    problem.error = {.code = code_of("", reply.status),
                     .message = fmt::format("{} answers with status {}: is that a handoff server?",
                                            options_.url, reply.status),
                     .field = {}};
  }
  problem.error.message += advice_for(reply.status);
  return problem;
}

Problem Connection::problem_of(const net::HttpFailure& failure, const Wait& limits) const {
  using enum net::HttpFailure::Kind;
  Problem problem{.error = {.code = Code::unavailable, .message = {}, .field = {}},
                  .status = 0,
                  .may_have_happened = failure.may_have_happened};
  // Without the path: it is about the server.
  const auto colon = failure.message.find(": ");
  const std::string why =
      colon == std::string::npos ? failure.message : failure.message.substr(colon + 2);
  problem.error.message =
      fmt::format("cannot reach the server {}: {}; is it running? `handoff serve` starts one",
                  options_.url, why);
  if (failure.kind == no_tls) {
    problem.error.message = fmt::format(
        "cannot speak TLS with the server {}: {}; whom to trust is said by --ca-file, "
        "HANDOFF_CA_FILE or OpenOptions::ca_file",
        options_.url, why);
  }
  if (failure.kind == stopped) problem.error = {Code::stopped, "the waiting was stopped", {}};
  if (failure.kind == too_large) problem.error = {Code::too_large, failure.message, {}};
  if (failure.kind == timed_out && limits.deadline.has_passed()) {
    problem.error.code = Code::timed_out;
  }
  return problem;
}

Answer Connection::ask_once(const Question& question) {
  const net::HttpRequest request = request_of(question);
  auto reply = (question.is_wait ? waits_ : calls_).send(request);
  if (!reply) return std::unexpected(problem_of(reply.error(), question.limits));
  if (reply->status >= 200 && reply->status < 300) return std::move(reply->body);
  return std::unexpected(problem_of(*reply));
}

Answer Connection::ask(const Question& question) {
  Backoff backoff;
  std::optional<Deadline> gives_up;
  for (;;) {
    auto answer = ask_once(question);
    if (answer || !is_passing(answer.error())) return answer;
    // Counted from the first failure on: before that, somebody may have waited long, and well.
    if (!gives_up) gives_up = within(options_.patience);
    const Millis time = backoff.next();
    const TimePoint next = now() + time;
    if (next >= gives_up->when() || next >= question.limits.deadline.when() ||
        !pause(time, question.limits.stop)) {
      return std::unexpected(over(question.limits, std::move(answer.error())));
    }
  }
}

Problem Connection::stream(const std::string& path, const std::string& last_event,
                           const std::stop_token& stop, const net::HttpClient::OnPart& part) {
  net::HttpRequest request = request_of({.path = path, .limits = {.deadline = {}, .stop = stop}});
  if (!last_event.empty()) request.headers.emplace_back("Last-Event-ID", last_event);
  const auto reply = waits_.stream(request, part, longest_silence);
  if (!reply) return problem_of(reply.error(), {});
  if (reply->status >= 200 && reply->status < 300) {
    return {.error = {.code = Code::unavailable, .message = "the stream has ended", .field = {}}};
  }
  return problem_of(*reply);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote
