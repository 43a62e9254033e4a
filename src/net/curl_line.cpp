#include "net/curl_line.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <stdexcept>

namespace handoff::inline HANDOFF_FLAVOUR::net {

namespace {

constexpr long most_redirects = 5;
// Servers close connections that are idle, ours after a minute: older ones are not used again.
constexpr long oldest_connection_s = 30;
constexpr int longest_sleep_ms = 60'000;

void start_curl() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) throw std::runtime_error("libcurl cannot be used");
}

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using List = std::unique_ptr<curl_slist, FreeList>;

void add_line(List& list, const std::string& line) {
  curl_slist* const longer = curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  static_cast<void>(list.release());
  list.reset(longer);
}

// A header that curl would add by itself is named with nothing behind it: then it does not. Ours wait for no "100 Continue".
List list_of(const HttpRequest& request) {
  List list;
  add_line(list, "Expect:");
  bool has_type = false;
  for (const auto& [name, value] : request.headers) {
    add_line(list, name + ": " + value);
    has_type |= curl_strequal(name.c_str(), "content-type") != 0;
  }
  if (!has_type) add_line(list, "Content-Type:");
  return list;
}

std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

struct CurlLine::Handles {
  Handles() {
    start_curl();
    multi = curl_multi_init();
    easy = curl_easy_init();
    if (multi == nullptr || easy == nullptr) {
      close();
      throw std::runtime_error("libcurl cannot be used");
    }
  }
  ~Handles() { close(); }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  void close() {
    if (easy != nullptr) curl_easy_cleanup(easy);
    if (multi != nullptr) curl_multi_cleanup(multi);
  }

  CURLM* multi = nullptr;
  CURL* easy = nullptr;
};

namespace {

// What comes back, as curl tells of it.
class Receiver {
 public:
  Receiver(CURL* easy, const HttpClient::OnPart* part, std::size_t limit)
      : easy_(easy), part_(part), limit_(limit) {
    curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, &Receiver::hear_header);
    curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
    curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &Receiver::hear_body);
    curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
  }

  HttpReply reply{};
  bool is_too_large = false;
  bool is_enough = false;  // Who streams has said so.
  // By who streams, or for want of memory: it must not go through curl's own frames.
  std::exception_ptr thrown;

 private:
  static std::size_t hear_header(char* text, std::size_t, std::size_t size, void* self) {
    auto* const us = static_cast<Receiver*>(self);
    return us->is_heard([&] { return us->add_header({text, size}), true; }) ? size : 0;
  }
  static std::size_t hear_body(char* text, std::size_t, std::size_t size, void* self) {
    auto* const us = static_cast<Receiver*>(self);
    return us->is_heard([&] { return us->add_body({text, size}); }) ? size : 0;
  }
  template <typename Hear>
  bool is_heard(Hear hear) {
    try {
      return hear();
    } catch (...) {
      thrown = std::current_exception();
      return false;
    }
  }

  void add_header(std::string_view line) {
    if (line.starts_with("HTTP/")) return reply.headers.clear();  // Of the answer after another.
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return;
    std::string name(trimmed(line.substr(0, colon)));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    reply.headers.emplace_back(std::move(name), trimmed(line.substr(colon + 1)));
  }

  bool add_body(std::string_view part) {
    long status = 0;
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
    if (part_ != nullptr && status >= 200 && status < 300) {
      is_enough = !(*part_)(part);
      return !is_enough;
    }
    is_too_large = reply.body.size() + part.size() > limit_;
    if (!is_too_large) reply.body += part;
    return !is_too_large;
  }

  CURL* const easy_;
  const HttpClient::OnPart* const part_;
  const std::size_t limit_;
};

void set_up(CURL* easy, const HttpClientOptions& options) {
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "handoff");
  curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, oldest_connection_s);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, long{options.connect_timeout.count()});
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, options.follow_redirects ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_MAXREDIRS, most_redirects);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, options.verifies_tls ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, options.verifies_tls ? 2L : 0L);
  if (!options.ca_file.empty()) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, options.ca_file.c_str());
    curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
  }
}

void set_request(CURL* easy, const HttpRequest& request, const CurlLine::Limits& limits) {
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  if (request.body.empty() && request.method == "GET") {
    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
  } else if (request.method == "HEAD") {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else {
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  if (!limits.deadline.is_never()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(limits.deadline.when() - now()).count();
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, std::max(long{left}, 1L));
  }
  if (limits.silence.count() > 0) {
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, long{limits.silence.count()});
  }
}

// One transfer, until it has ended or is to stop. Nothing in the second case.
std::optional<CURLcode> transfer(CURLM* multi, CURL* easy, const std::stop_token& stop) {
  const std::stop_callback wakes(stop, [multi] { curl_multi_wakeup(multi); });
  for (int running = 1;;) {
    if (stop.stop_requested()) return std::nullopt;
    if (curl_multi_perform(multi, &running) != CURLM_OK) return CURLE_RECV_ERROR;
    if (running == 0) break;
    if (curl_multi_poll(multi, nullptr, 0, longest_sleep_ms, nullptr) != CURLM_OK) {
      return CURLE_RECV_ERROR;
    }
  }
  int left = 0;
  while (const CURLMsg* const message = curl_multi_info_read(multi, &left)) {
    if (message->msg == CURLMSG_DONE && message->easy_handle == easy) return message->data.result;
  }
  return CURLE_RECV_ERROR;
}

HttpFailure::Kind kind_of(CURLcode code, bool was_sent) {
  using enum HttpFailure::Kind;
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT: return timed_out;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CONNECT_ERROR: return no_tls;
    default: return was_sent ? lost : could_not_connect;
  }
}

}  // namespace

CurlLine::CurlLine(const HttpClientOptions& options)
    : options_(options), handles_(std::make_unique<Handles>()) {}

CurlLine::~CurlLine() = default;

std::expected<HttpReply, HttpFailure> CurlLine::run(const HttpRequest& request,
                                                    const Limits& limits) {
  CURL* const easy = handles_->easy;
  std::array<char, CURL_ERROR_SIZE> words{};
  curl_easy_reset(easy);  // Keeps the connection.
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, words.data());
  set_up(easy, options_);
  set_request(easy, request, limits);
  const List headers = list_of(request);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.get());
  Receiver receiver(easy, limits.part, options_.response_limit);

  curl_multi_add_handle(handles_->multi, easy);
  const auto code = transfer(handles_->multi, easy, request.stop);
  long status = 0;
  long sent = 0;  // Also over a connection that broke, before one more was tried.
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &sent);
  curl_multi_remove_handle(handles_->multi, easy);  // Closes what is not complete.
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, nullptr);

  if (receiver.thrown) std::rethrow_exception(receiver.thrown);
  receiver.reply.status = static_cast<int>(status);
  if (code == CURLE_OK) return std::move(receiver.reply);
  HttpFailure failure{.message = request.url + ": ",
                      .may_have_happened = sent > 0,
                      .status = static_cast<int>(status)};
  if (!code || receiver.is_enough) {
    failure.kind = HttpFailure::Kind::stopped;
    failure.message += "stopped";
  } else if (receiver.is_too_large) {
    failure.kind = HttpFailure::Kind::too_large;
    failure.message +=
        "the answer is larger than " + std::to_string(options_.response_limit) + " bytes";
  } else {
    failure.kind = kind_of(*code, sent > 0);
    failure.message += words.front() != '\0' ? words.data() : curl_easy_strerror(*code);
  }
  return std::unexpected(std::move(failure));
}

bool HttpClient::is_built_in() { return true; }

}  // namespace handoff::inline HANDOFF_FLAVOUR::net
