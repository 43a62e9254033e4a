#include "smtp_client.hpp"

#include <curl/curl.h>
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>
#include <stdexcept>

namespace signup {

namespace {

constexpr long connect_ms = 5'000;
constexpr long whole_mail_ms = 30'000;

// libcurl as a whole.
struct Library {
  Library() {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
      throw std::runtime_error("libcurl cannot be used");
    }
  }
  ~Library() { curl_global_cleanup(); }
};

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using List = std::unique_ptr<curl_slist, FreeList>;

// Gives a mail to libcurl piece by piece.
std::size_t read_some(char* to, std::size_t size, std::size_t count, void* rest_of_it) {
  auto& rest = *static_cast<std::string_view*>(rest_of_it);
  const auto part = rest.substr(0, size * count);
  std::memcpy(to, part.data(), part.size());
  rest.remove_prefix(part.size());
  return part.size();
}

}  // namespace

std::optional<SmtpServer> SmtpServer::parse(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const auto host = text.substr(0, colon);
  const auto number = text.substr(colon + 1);
  const bool is_host = std::ranges::all_of(host, [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
           (each >= '0' && each <= '9') || each == '.' || each == '-';
  });
  std::uint16_t port = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), port);
  if (!is_host || read.ec != std::errc() || read.ptr != number.data() + number.size()) {
    return std::nullopt;
  }
  if (port == 0) return std::nullopt;
  return SmtpServer{std::string(host), port};
}

struct SmtpClient::Curl {
  Curl() : handle(curl_easy_init()) {
    if (handle == nullptr) throw std::runtime_error("libcurl cannot be used");
  }
  Curl(const Curl&) = delete;
  Curl& operator=(const Curl&) = delete;
  ~Curl() { curl_easy_cleanup(handle); }

  long get(CURLINFO what) const {
    long value = 0;
    curl_easy_getinfo(handle, what, &value);
    return value;
  }

  // One try, on the connection of the mail before if that is still there.
  Tried try_once(std::string_view text) {
    curl_easy_setopt(handle, CURLOPT_READDATA, &text);
    const CURLcode code = curl_easy_perform(handle);
    if (code == CURLE_OK) return {.what = Try::sent};
    const long answer = get(CURLINFO_RESPONSE_CODE);
    if (answer >= 400 && answer < 600) {
      return {.what = answer < 500 ? Try::later : Try::refused,
              .why = fmt::format("the server said {}", answer)};
    }
    return {.what = Try::unreachable, .why = curl_easy_strerror(code)};
  }

  CURL* const handle;
};

namespace {
// Once in a program, and not gone before the last client.
void load_libcurl() { static const Library library; }
}  // namespace

SmtpClient::SmtpClient(const SmtpServer& server)
    : curl_((load_libcurl(), std::make_unique<Curl>())) {
  // The path is the name by which we greet the server.
  const auto url = fmt::format("smtp://{}:{}/localhost", server.host, server.port);
  CURL* const handle = curl_->handle;
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "smtp");
  curl_easy_setopt(handle, CURLOPT_PROXY, "");     // Whatever the environment says.
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);  // There are other threads.
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, whole_mail_ms);
  curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
  curl_easy_setopt(handle, CURLOPT_READFUNCTION, &read_some);
  curl_easy_setopt(handle, CURLOPT_MAIL_FROM, std::string(sender_address).c_str());
}

SmtpClient::~SmtpClient() = default;

Tried SmtpClient::send(const Mail& mail) {
  const List recipients(curl_slist_append(nullptr, mail.to.text().c_str()));
  if (!recipients) throw std::bad_alloc();
  curl_easy_setopt(curl_->handle, CURLOPT_MAIL_RCPT, recipients.get());
  const auto text = text_of(mail);
  auto tried = curl_->try_once(text);
  // A server hangs up on who is silent for long. That says nothing about the server: we call again, once.
  if (tried.what == Try::unreachable && curl_->get(CURLINFO_NUM_CONNECTS) == 0) {
    tried = curl_->try_once(text);
  }
  curl_easy_setopt(curl_->handle, CURLOPT_MAIL_RCPT, nullptr);
  return tried;
}

}  // namespace signup
