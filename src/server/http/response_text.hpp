// Answers as they go over the wire: one text of header and body, made without a message in between.
#pragma once

#include <string>
#include <string_view>

#include "server/http/message.hpp"

namespace handoff::server {

// How the connection wants it.
struct Framing {
  bool is_http_10 = false;
  bool keep_alive = true;
  bool without_body = false;  // To a HEAD.
  std::string_view date{};    // As in a Date header; empty: none.
};

// Whether what follows the body comes in chunks. To HTTP/1.0 it comes as it is, until the connection is closed.
inline bool is_chunked(const Response& response, const Framing& framing) {
  return response.next_part && !framing.is_http_10;
}

// The header, with the length of the body unless there is more to come.
void append_head(std::string& text, const Response& response, const Framing& framing);
// The body, as a chunk if it has to be one.
void append_body(std::string& text, const Response& response, const Framing& framing);

void append_chunk(std::string& text, std::string_view part);
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

// "Sun, 06 Nov 1994 08:49:37 GMT", now.
std::string date_now();

}  // namespace handoff::server
