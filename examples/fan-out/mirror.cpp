#include "mirror.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "handoff/when.hpp"

namespace fan_out {

namespace {
std::optional<std::uint64_t> page_of(std::string_view request) {
  if (!request.starts_with("get ")) return std::nullopt;
  std::uint64_t page = 0;
  const auto read = std::from_chars(request.data() + 4, request.data() + request.size(), page);
  if (read.ec != std::errc()) return std::nullopt;
  return page;
}
}  // namespace

handoff::Duration delay_of(const MirrorOptions& options, std::uint64_t page) {
  std::seed_seq seed{options.seed, options.number, page};
  std::mt19937 random(seed);
  const auto part = static_cast<double>(random()) / static_cast<double>(std::mt19937::max());
  // A mirror that is broken says so soon.
  const auto most = options.is_broken ? options.longest / 10 : options.longest;
  return std::chrono::duration_cast<handoff::Duration>(most * (0.1 + 0.9 * part));
}

handoff::Lazy<> Mirror::serve(handoff::Scope& scope) {
  while (co_await poller_.readable(listener_.number())) {
    while (auto guest = accept_now(listener_)) {
      ++came_;
      if (!scope.spawn(serve_one(std::move(*guest)))) ++hung_up_;  // No room: it is hung up on.
    }
  }
}

handoff::Lazy<> Mirror::serve_one(Socket guest) {
  bool was_answered = false;
  try {
    was_answered = co_await answer(guest);
  } catch (const Cancelled&) {
  } catch (const std::system_error&) {  // The guest has hung up on us in the middle of the answer.
  }
  ++(was_answered ? answered_ : hung_up_);
}

// True if the guest was told something.
handoff::Lazy<bool> Mirror::answer(const Socket& guest) {
  const auto request = co_await read_line(poller_, guest);
  const auto page = page_of(request);
  if (!page) co_return false;

  // The page takes so long, unless the guest hangs up before: it has nothing else to say.
  const auto hung_up =
      co_await handoff::with_timeout(delay_of(options_, *page), poller_.readable(guest.number()));
  if (hung_up || hung_up.error() != handoff::Refusal::timed_out) co_return false;
  send_line(guest, options_.is_broken ? "error 503" : fmt::format("page {}", *page));
  co_return true;
}

}  // namespace fan_out
