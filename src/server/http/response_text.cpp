#include "server/http/response_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <iterator>

namespace handoff::server {

namespace {

std::string_view reason_of(int status) {
  switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "Other";
  }
}

bool may_have_body(int status) { return status >= 200 && status != 204 && status != 304; }

template <typename Number>
void append_number(std::string& text, Number number, int base = 10) {
  char digits[24];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number, base).ptr;
  text.append(std::begin(digits), end);
}

// A line break in a value would begin another header, or the body.
void append_value(std::string& text, std::string_view value) {
  const auto start = text.size();
  text += value;
  const auto is_break = [](char c) { return c == '\r' || c == '\n' || c == '\0'; };
  std::replace_if(text.begin() + static_cast<std::ptrdiff_t>(start), text.end(), is_break, ' ');
}

void append_field(std::string& text, std::string_view name, std::string_view value) {
  text.append(name).append(": ");
  append_value(text, value);
  text += "\r\n";
}

void append_status(std::string& text, int status) {
  text += "HTTP/1.1 ";
  append_number(text, status);
  text.append(" ").append(reason_of(status)).append("\r\n");
}

void append_length(std::string& text, const Response& response, const Framing& framing) {
  if (!may_have_body(response.status)) return;
  if (!response.content_type.empty()) append_field(text, "Content-Type", response.content_type);
  if (is_chunked(response, framing)) {
    text += "Transfer-Encoding: chunked\r\n";
  } else if (!response.next_part) {
    text += "Content-Length: ";
    append_number(text, response.body.size());
    text += "\r\n";
  }
}

}  // namespace

void append_head(std::string& text, const Response& response, const Framing& framing) {
  append_status(text, response.status);
  append_length(text, response, framing);
  if (!framing.date.empty()) text.append("Date: ").append(framing.date).append("\r\n");
  for (const auto& [name, value] : response.headers) append_field(text, name, value);
  if (!framing.keep_alive) {
    text += "Connection: close\r\n";
  } else if (framing.is_http_10) {
    text += "Connection: keep-alive\r\n";
  }
  text += "\r\n";
}

void append_body(std::string& text, const Response& response, const Framing& framing) {
  if (framing.without_body || !may_have_body(response.status) || response.body.empty()) return;
  if (is_chunked(response, framing)) {
    append_chunk(text, response.body);
  } else {
    text += response.body;
  }
}

void append_chunk(std::string& text, std::string_view part) {
  append_number(text, part.size(), 16);
  text.append("\r\n").append(part).append("\r\n");
}

std::string date_now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  static constexpr const char* days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", days[utc.tm_wday], utc.tm_mday,
                     months[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

}  // namespace handoff::server
