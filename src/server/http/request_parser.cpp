// The grammar is Beast's. Added to it: what it lets pass although it is dangerous (transfer codings that are not chunked, and so
// bodies that would be taken for requests; headers in trailers; fields without end), and what is asked of every request of ours.
#include "server/http/request_parser.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <optional>

namespace handoff::server {

namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using Text = boost::beast::string_view;

// A body of unknown or large size gets its memory as it comes: who announces much need not send it.
constexpr std::size_t largest_first_reserve = 64 * 1024;

Method method_of(http::verb verb) {
  switch (verb) {
    case http::verb::get:
    case http::verb::head: return Method::get;
    case http::verb::post: return Method::post;
    case http::verb::put: return Method::put;
    case http::verb::delete_: return Method::del;
    default: return Method::other;
  }
}

Problem problem_of(error_code error) {
  if (error == http::error::header_limit) {
    return {.status = 431, .code = "too_large", .message = "the header is too large"};
  }
  if (error == http::error::body_limit) {
    return {.status = 413, .code = "too_large", .message = "the body is too large"};
  }
  if (error == http::error::bad_version) {
    return {.status = 505,
            .message = "only HTTP/1.0 and HTTP/1.1 are spoken here, in lines that end with CR LF"};
  }
  if (error == http::error::partial_message) return {.message = "the request is incomplete"};
  if (error == http::error::bad_content_length || error == http::error::multiple_content_length) {
    return {.message = "the Content-Length is no number, or there is more than one"};
  }
  if (error == http::error::bad_transfer_encoding) {
    return {.message = "the only Transfer-Encoding is chunked, once and without a Content-Length"};
  }
  return {.message = "this is not HTTP"};
}

std::string_view view(Text text) { return {text.data(), text.size()}; }

// "http://host/path" is also a target: then that is the host, whatever the header says.
struct Place {
  std::string_view host;
  std::string_view path;
};
Place split_absolute(std::string_view target, std::string_view host) {
  if (!target.starts_with("http://") && !target.starts_with("https://")) return {host, target};
  const auto authority = target.substr(target.find("://") + 3);
  const auto path = authority.find_first_of("/?");
  if (path == std::string_view::npos) return {authority, "/"};
  return {authority.substr(0, path), authority.substr(path)};
}

}  // namespace

class RequestParser::Beast final : public http::basic_parser<true> {
 public:
  explicit Beast(RequestParser& owner) : owner_(owner) {
    eager(true);
    // Its own count begins anew whenever fields were consumed.
    header_limit(static_cast<std::uint32_t>(owner.limits_.header));
    body_limit(owner.limits_.body);
  }

  // Ours, in place of an error of Beast.
  const std::optional<Problem>& problem() const { return problem_; }

 private:
  void refuse(error_code& error, const Problem& problem) {
    problem_ = problem;
    error = http::error::bad_value;
  }

  void on_request_impl(http::verb verb, Text /*name*/, Text target, int version,
                       error_code& /*error*/) override {
    owner_.request_.method = method_of(verb);
    owner_.head_.is_head = verb == http::verb::head;
    owner_.head_.is_http_10 = version == 10;
    target_ = view(target);
  }

  void on_field_impl(http::field field, Text name, Text text, error_code& error) override {
    if (in_body_) return;  // A trailer.
    const auto value = view(text);
    auto& request = owner_.request_;
    switch (field) {
      case http::field::host: return set_host(value, error);
      case http::field::origin: origin_ = value; return;
      case http::field::expect: return set_expect(value, error);
      case http::field::transfer_encoding: return check_coding(text, error);
      case http::field::content_type: request.content_type = value; return;
      case http::field::authorization: request.authorization = value; return;
      case http::field::accept_encoding: request.accept_encoding = value; return;
      case http::field::if_none_match: request.if_none_match = value; return;
      case http::field::unknown: return set_unknown(name, value);
      default: return;
    }
  }
  // Unknown to Beast, that is.
  void set_unknown(Text name, std::string_view value) {
    if (boost::beast::iequals(name, "traceparent")) owner_.request_.traceparent = value;
    if (boost::beast::iequals(name, "Last-Event-ID")) owner_.request_.last_event_id = value;
  }

  void set_host(std::string_view value, error_code& error) {
    if (host_) return refuse(error, {.message = "there is more than one Host"});
    host_ = value;
  }
  void set_expect(std::string_view value, error_code& error) {
    if (!boost::beast::iequals({value.data(), value.size()}, "100-continue")) {
      return refuse(error, {.status = 417, .message = "only 100-continue can be expected"});
    }
    owner_.head_.expects_continue = !owner_.head_.is_http_10;
  }
  // Beast takes a body in any other coding for none, and what it consists of for the next request.
  void check_coding(Text value, error_code& error) const {
    if (owner_.head_.is_http_10 || !boost::beast::iequals(value, "chunked")) {
      error = http::error::bad_transfer_encoding;
    }
  }

  void on_header_impl(error_code& error) override {
    in_body_ = true;
    owner_.head_.keep_alive = keep_alive();
    if (const auto problem = check_head()) refuse(error, *problem);
  }
  std::optional<Problem> check_head() {
    if (!host_ && !owner_.head_.is_http_10) return Problem{.message = "the Host is missing"};
    const std::string_view host = host_ ? std::string_view(*host_) : "localhost";
    const auto place = split_absolute(target_, host);
    if (!owner_.hosts_.allows(place.host)) {
      return Problem{
          .status = 421, .code = "forbidden", .message = "this server does not go by that Host"};
    }
    if (origin_ && !HostPolicy::is_same(*origin_, place.host)) {
      return Problem{
          .status = 403, .code = "forbidden", .message = "requests from other origins are refused"};
    }
    return set_target(place.path);
  }
  std::optional<Problem> set_target(std::string_view path) {
    auto target = server::parse_target(path);
    if (!target) return Problem{.message = "the path cannot be read"};
    owner_.request_.path = std::move(target->path);
    owner_.request_.segments = std::move(target->segments);
    owner_.request_.query = std::move(target->query);
    return std::nullopt;
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>& length,
                         error_code& /*error*/) override {
    owner_.request_.body.reserve(std::min<std::size_t>(length.value_or(0), largest_first_reserve));
  }
  std::size_t on_body_impl(Text part, error_code& /*error*/) override {
    owner_.request_.body.append(part.data(), part.size());
    return part.size();
  }
  std::size_t on_chunk_body_impl(std::uint64_t /*left*/, Text part, error_code& error) override {
    return on_body_impl(part, error);
  }
  void on_chunk_header_impl(std::uint64_t, Text, error_code&) override {}
  void on_finish_impl(error_code&) override {}
  void on_response_impl(int, Text, int, error_code&) override {}

  RequestParser& owner_;
  std::string target_;
  std::optional<std::string> host_;
  std::optional<std::string> origin_;
  std::optional<Problem> problem_;
  bool in_body_ = false;
};

RequestParser::RequestParser(Limits limits, const HostPolicy& hosts)
    : limits_(limits), hosts_(hosts) {
  reset();
}

RequestParser::~RequestParser() = default;

void RequestParser::reset() {
  state_ = State::nothing;
  head_ = {};
  request_ = {};
  header_bytes_ = 0;
  beast_ = std::make_unique<Beast>(*this);
}

// Empty lines before a request are no part of it: some clients end a body with one.
std::size_t RequestParser::skip_empty_lines(std::string_view bytes) const {
  std::size_t skipped = 0;
  while (state_ == State::nothing && bytes.substr(skipped).starts_with("\r\n")) skipped += 2;
  return skipped;
}

std::size_t RequestParser::feed(std::string_view bytes) {
  const auto skipped = skip_empty_lines(bytes);
  const auto rest = bytes.substr(skipped);
  if (rest.empty() || (state_ == State::nothing && rest == "\r")) return skipped;
  error_code error;
  const auto used = beast_->put(boost::asio::const_buffer(rest.data(), rest.size()), error);
  if (error && error != http::error::need_more) {
    fail(beast_->problem().value_or(problem_of(error)));
  } else {
    state_ = beast_->is_done()          ? State::whole
             : beast_->is_header_done() ? State::body
                                        : State::head;
    check_limits(used, rest.size() - used);
  }
  return skipped + used;
}

// What is left over within a head is a field that has not ended; within a body a line about a chunk, or trailers.
void RequestParser::check_limits(std::size_t used, std::size_t left) {
  if (state_ == State::head) header_bytes_ += used;
  const bool is_too_long = state_ == State::head   ? header_bytes_ + left > limits_.header
                           : state_ == State::body ? left > limits_.header
                                                   : false;
  if (is_too_long) fail(problem_of(http::error::header_limit));
}

bool RequestParser::is_body_over(std::size_t size) const {
  if (body_size() > size) return true;
  if (state_ != State::body) return false;
  const auto announced = beast_->content_length();
  return announced && *announced > size;
}

void RequestParser::feed_end() {
  if (state_ == State::head || state_ == State::body)
    fail(problem_of(http::error::partial_message));
}

void RequestParser::fail(const Problem& problem) {
  state_ = State::broken;
  problem_ = problem;
}

}  // namespace handoff::server
