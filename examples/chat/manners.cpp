#include "manners.hpp"

#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "crowd.hpp"
#include "messages.hpp"

namespace chat {

namespace {

// -- HTTP -----------------------------------------------------------------------------------------

// Sends it, and returns all that comes until the server hangs up.
std::string answer_to(std::uint16_t port, const std::string& request) {
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval minute{.tv_sec = 60, .tv_usec = 0};
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof(minute));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      send(client, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    std::array<char, 4096> bytes;
    for (ssize_t got = 1; got > 0;) {
      got = recv(client, bytes.data(), bytes.size(), 0);
      if (got > 0) answer.append(bytes.data(), static_cast<std::size_t>(got));
    }
  }
  close(client);
  return answer;
}

std::string get(std::string_view path, std::string_view host, std::string_view more = {}) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\n{}\r\n", path, host, more);
}

std::string upgrade_from(std::string_view origin, std::string_view host) {
  return get(
      "/chat", host,
      fmt::format("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: {}\r\n",
                  origin));
}

void check_http(std::uint16_t port, std::vector<Manner>& manners) {
  const auto host = fmt::format("localhost:{}", port);
  const auto said = [&](const std::string& request, std::string_view wanted) {
    return answer_to(port, request).find(wanted) != std::string::npos;
  };
  manners.push_back({said(get("/", host), "<title>Handoff chat</title>") &&
                         said(get("/", host), "Content-Security-Policy: default-src 'none'") &&
                         said(get("/chat.js", host), "text/javascript") &&
                         said(get("/etc/passwd", host), " 404 "),
                     "the page is served, and nothing else"});
  manners.push_back({said(get("/", "evil.example.com"), " 403 ") &&
                         said(upgrade_from("http://evil.example.com", host), " 403 ") &&
                         said(upgrade_from("null", host), " 403 "),
                     "other names and other pages are refused"});
  manners.push_back({answer_to(port, get("/", host, "X: " + std::string(9'000, 'x'))).empty() &&
                         answer_to(port, "\x16\x03 what?\r\n\r\n").empty(),
                     "what is too large or no HTTP gets no answer"});
}

// -- WebSocket ------------------------------------------------------------------------------------

// A few clients, and all that they have heard.
class Few {
 public:
  explicit Few(std::uint16_t port)
      : crowd_(port, [this](std::size_t client, std::string_view text) {
          heard_[client].emplace_back(text);
        }) {}

  std::size_t add(int receive_buffer = 0) {
    heard_.emplace_back();
    return crowd_.add(receive_buffer);
  }
  std::size_t add(std::string_view name, std::string_view room, int receive_buffer = 0) {
    const auto client = add(receive_buffer);
    crowd_.send(client, fmt::format("login {}", name));
    crowd_.send(client, fmt::format("join {}", room));
    hears(client, fmt::format("joined {}", room));
    return client;
  }
  // Waits for it.
  bool hears(std::size_t client, std::string_view beginning) {
    return crowd_.run_until([&] { return has_heard(client, beginning); });
  }
  bool has_heard(std::size_t client, std::string_view beginning) const {
    return std::ranges::any_of(heard_[client],
                               [&](const auto& each) { return each.starts_with(beginning); });
  }
  bool is_closed_with(std::size_t client, std::uint16_t code) {
    return crowd_.run_until([&] { return crowd_[client].state() == Client::State::closed; }) &&
           crowd_[client].close_code() == code;
  }
  Crowd& crowd() { return crowd_; }
  const std::vector<std::string>& heard(std::size_t client) const { return heard_[client]; }

 private:
  std::vector<std::vector<std::string>> heard_;
  Crowd crowd_;
};

void check_logging_in(std::uint16_t port, std::vector<Manner>& manners) {
  Few few(port);
  const auto ada = few.add("ada", "den");
  const auto bob = few.add();
  few.crowd().send(bob, "say I am here");
  bool is_right = few.hears(bob, "sorry first log in");
  few.crowd().send(bob, "login ada");
  is_right &= few.hears(bob, "sorry that name is taken");
  few.crowd().send(bob, "login <b>bob</b>");
  few.crowd().send(bob, "login bob");
  is_right &= few.hears(bob, "welcome bob");
  few.crowd().send(bob, "say hello?");
  is_right &= few.hears(bob, "sorry nobody hears you");
  manners.push_back({is_right, "who has not logged in cannot chat, and a name belongs to one"});

  few.crowd().send(bob, "join den");
  is_right = few.hears(bob, "joined den 2") && few.hears(ada, "came bob");
  few.crowd().send(bob, "join attic");
  is_right &= few.hears(bob, "joined attic 1") && few.hears(ada, "left bob");
  few.crowd().send(bob, "join den");
  is_right &= few.crowd().run_until([&] { return few.heard(bob).back() == "joined den 2"; });
  few.crowd().send(bob, "say <script>alert(1)</script>");
  is_right &= few.hears(ada, "said bob <script>");
  few.crowd().kill(bob);
  is_right &= few.crowd().run_until([&] { return few.heard(ada).back() == "left bob"; });
  manners.push_back({is_right, "who comes, goes and vanishes is told"});

  const auto again = few.add("bob", "den");
  few.crowd().send(again, "say " + std::string(longest_text + 1, 'x'));
  is_right = few.hears(again, "sorry up to");
  few.crowd().send(again, "say " + std::string(10 * longest_text, 'x'));
  manners.push_back({is_right && few.is_closed_with(again, 1009), "messages have a largest size"});
}

// One does not read. The others go on at their own pace, and he is cut off once he is too far behind.
void check_a_slow_client(std::uint16_t port, std::vector<Manner>& manners) {
  constexpr std::size_t most = 5'000;
  constexpr std::size_t ahead = 32;  // How far who talks is ahead of who listens.
  Few few(port);
  const auto talks = few.add("talks", "slow");
  const auto listens = few.add("listens", "slow");
  const auto sleeps = few.add("sleeps", "slow", 4'096);
  few.crowd().stop_reading(sleeps);

  const auto said_to = [&](std::size_t client) {
    return static_cast<std::size_t>(std::ranges::count_if(
        few.heard(client), [](const auto& each) { return each.starts_with("said "); }));
  };
  const std::string long_text(longest_text - 10, 'x');
  std::size_t said = 0;
  while (said < most && !few.has_heard(talks, "left sleeps")) {
    for (std::size_t i = 0; i < ahead; ++i) {
      few.crowd().send(talks, fmt::format("say {} {}", said++, long_text));
    }
    if (!few.crowd().run_until(
            [&] { return said_to(talks) == said && said_to(listens) == said; })) {
      break;
    }
  }
  bool is_right = few.has_heard(talks, "left sleeps") && few.hears(listens, "left sleeps");
  for (const auto client : {talks, listens}) {
    std::size_t next = 0;
    for (const auto& each : few.heard(client)) {
      if (!each.starts_with("said ")) continue;
      is_right &= each.starts_with(fmt::format("said talks {} ", next++));
    }
    is_right &= next == said;
  }
  manners.push_back({is_right, "who does not read is cut off, and the others miss nothing"});
}

}  // namespace

std::vector<Manner> check_manners(std::uint16_t port) {
  std::vector<Manner> manners;
  check_http(port, manners);
  check_logging_in(port, manners);
  check_a_slow_client(port, manners);
  return manners;
}

}  // namespace chat
