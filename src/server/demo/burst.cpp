#include "server/demo/burst.hpp"

#include <vector>

#include "server/demo/chance.hpp"

namespace handoff::server::demo {

namespace {
constexpr int at_once = 20;    // Those of one moment share a commit.
constexpr int per_tick = 200;  // Ten thousand a second.
constexpr std::chrono::milliseconds tick{20};
}  // namespace

bool Burst::start() {
  const auto turn = lock_.hold();
  if (is_over_ || goes_on_.exchange(true)) return false;
  thread_ = Thread([this](const std::stop_token& stop) {
    run(stop);
    goes_on_ = false;
  });
  return true;
}

void Burst::run(const std::stop_token& stop) {
  const std::vector<tasks::NewTask> some(
      at_once, {.queue = std::string(queue), .kind = "click", .payload = "{}"});
  for (int sent = 0; sent < clicks;) {
    for (int i = 0; i < per_tick; i += at_once, sent += at_once) {
      static_cast<void>(tasks_.enqueue(some));  // What there is no room for is counted.
    }
    if (!pass(tick, stop)) return;
  }
}

void Burst::end() {
  const auto turn = lock_.hold();
  is_over_ = true;
  thread_ = Thread();
}

}  // namespace handoff::server::demo
