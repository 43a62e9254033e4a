// Who answers requests. What is between it and the network is http_server.hpp's.
#pragma once

#include <optional>

#include "handoff/lazy.hpp"
#include "server/http/message.hpp"

namespace handoff::server {

// Called by several threads at once. It may throw: then the answer is a 500 that tells nothing, and the log has what it was.
class Service {
 public:
  virtual Lazy<Response> answer(Request request) = 0;
  // Whether the answer may take its time by design (a long poll, an event stream), so that somebody must look whether the client is still there.
  virtual bool may_wait(const Request& request) const = 0;
  // Asked before a large body is read, of which `head` has the beginning at most: an answer in its place, if it is not worth the memory. The connection is closed after it.
  virtual std::optional<Response> refuse_large(const Request& head) = 0;
  // What goes wrong before there is a request (too large, not HTTP, too many connections, a foreign Host): the body and the headers of such an answer, in the API's own shape.
  virtual Response refuse(int status, std::string_view code, std::string_view message) const = 0;

 protected:
  ~Service() = default;
};

}  // namespace handoff::server
