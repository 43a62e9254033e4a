// Bytes into requests. Takes them as they come, in pieces of any size, and remembers no more than the limits allow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "server/http/host_policy.hpp"
#include "server/http/message.hpp"

namespace handoff::server {

// Why there will be no answer of a handler: for Service::refuse().
struct Problem {
  int status = 400;
  std::string_view code = "bad_request";
  std::string_view message{};
};

// What the connection has to know of a request.
struct RequestHead {
  bool is_head = false;     // HEAD: a GET of which the answer has no body.
  bool is_http_10 = false;  // To which no chunks are sent.
  bool keep_alive = false;
  bool expects_continue = false;
};

class RequestParser {
 public:
  struct Limits {
    std::size_t header;
    std::size_t body;
  };
  // nothing: no byte yet. head, body: within these. whole: a request. broken: a problem, and nothing will come of it.
  enum class State : std::uint8_t { nothing, head, body, whole, broken };

  // The policy outlives it.
  RequestParser(Limits limits, const HostPolicy& hosts);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // Begins with the next request.
  void reset();
  // How many of the bytes it has used. The rest must be given again, with more behind it, or belongs to the next request.
  std::size_t feed(std::string_view bytes);
  // No more will come.
  void feed_end();
  // Something else is wrong with it.
  void fail(const Problem& problem);

  State state() const { return state_; }
  const Problem& problem() const { return problem_; }
  // From State::body on.
  const RequestHead& head() const { return head_; }
  std::size_t body_size() const { return request_.body.size(); }
  // Whether its body is larger than that, or says it will be. False before State::body.
  bool is_body_over(std::size_t size) const;
  Request& request() { return request_; }  // With what has come of its body.
  // Once it is whole.
  Request take() { return std::move(request_); }

 private:
  class Beast;

  std::size_t skip_empty_lines(std::string_view bytes) const;
  void check_limits(std::size_t used, std::size_t left);

  const Limits limits_;
  const HostPolicy& hosts_;
  State state_ = State::nothing;
  Problem problem_;
  RequestHead head_;
  Request request_;
  std::size_t header_bytes_ = 0;
  std::unique_ptr<Beast> beast_;
};

}  // namespace handoff::server
