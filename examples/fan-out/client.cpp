#include "client.hpp"

#include <fmt/core.h>

#include <exception>
#include <utility>

#include "handoff/when.hpp"

namespace fan_out {

namespace {
// Counts while it lives.
class CountedIn {
 public:
  explicit CountedIn(std::atomic<std::uint64_t>& count) : count_(count) { ++count_; }
  ~CountedIn() { --count_; }
  CountedIn(const CountedIn&) = delete;
  CountedIn& operator=(const CountedIn&) = delete;

 private:
  std::atomic<std::uint64_t>& count_;
};
}  // namespace

handoff::Lazy<> Client::fetch_all(std::uint64_t pages,
                                  const std::function<void(const Fetched&)>& tell) {
  const auto stop = co_await handoff::current_stop();
  for (std::uint64_t page = 1; page <= pages && !stop.stop_requested(); ++page) {
    const auto fetched = co_await fetch(page);
    tell(fetched);
  }
}

handoff::Lazy<Fetched> Client::fetch(std::uint64_t page) {
  Fetched fetched;
  fetched.page = page;
  fetched.asked.resize(mirrors_.size());
  const auto began = handoff::now();
  try {
    std::vector<handoff::Lazy<std::string>> all;
    for (std::size_t i = 0; i < mirrors_.size(); ++i) all.push_back(ask(i, page, fetched.asked[i]));
    // The first answer wins. When this is over, the others have ended too.
    const auto first = co_await handoff::first_success(std::move(all));
    fetched.winner = first.index;
    fetched.has_winner = first.result == fmt::format("page {}", page);
  } catch (const Cancelled&) {
    fetched.was_stopped = true;
  } catch (const std::exception&) {  // All of them have failed.
  }
  fetched.still_asked = asked_now_;
  fetched.took = handoff::now() - began;
  co_return fetched;
}

// One mirror. What is no answer is thrown: to first_success() any result is a success.
handoff::Lazy<std::string> Client::ask(std::size_t mirror, std::uint64_t page, Ending& ending) {
  const CountedIn counted(asked_now_);
  ending = Ending::failed;
  try {
    auto answer = co_await ask(mirrors_[mirror].port(), page);
    ending = Ending::answered;
    co_return answer;
  } catch (const Cancelled&) {
    ending = Ending::cancelled;
    throw;
  }
}

handoff::Lazy<std::string> Client::ask(std::uint16_t port, std::uint64_t page) {
  ++dialled_;
  const auto mirror = co_await connect_to(poller_, port);
  ++connected_;
  send_line(mirror, fmt::format("get {}", page));
  auto answer = co_await read_line(poller_, mirror);
  if (!answer.starts_with("page")) throw std::runtime_error("the mirror said: " + answer);
  co_return answer;  // Here the socket is closed, and also if we are cancelled: the mirror notices.
}

}  // namespace fan_out
