#include "server/push/pusher.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "handoff/tasks/notify.hpp"
#include "net/url.hpp"
#include "tasks/core.hpp"

namespace handoff::server {

namespace {
constexpr std::size_t most_waiting = 10'000;  // Claimed, and without a thread yet.
constexpr auto notify_timeout = std::chrono::seconds(10);
}  // namespace

Pusher::Pusher(tasks::Tasks tasks, PusherOptions options, Log& log)
    : tasks_(std::move(tasks)),
      options_(std::move(options)),
      log_(log),
      client_({.most_connections = options_.threads, .response_limit = most_answered}),
      pool_({.workers = options_.threads, .capacity = most_waiting, .name = "deliveries"}),
      means_{.client = client_,
             .pool = pool_,
             .hosts = options_.hosts,
             .log = log_,
             .at_a_time = static_cast<int>(std::max<std::size_t>(options_.threads / 4, 1)),
             .grace = options_.grace,
             .has_ended = [bell = options_.bell] { bell->set(); }},
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Pusher::~Pusher() { finish(); }

void Pusher::begin_to_stop() {
  thread_.request_stop();
  const auto turn = lock_.hold();
  is_stopping_ = true;
  for (const auto& [queue, courier] : couriers_) courier->begin_to_stop();
}

void Pusher::finish() {
  begin_to_stop();
  if (thread_.joinable()) thread_.join();
  const auto turn = lock_.hold();
  couriers_.clear();  // Each waits for its own.
  leaving_.clear();
}

void Pusher::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    options_.bell->reset();
    try {
      look();
      trouble_.clear();
    } catch (const std::exception& error) {
      if (std::exchange(trouble_, error.what()) != error.what()) {
        log_.warning("cannot see what is to be delivered", {{"why", error.what()}});
      }
    }
    static_cast<void>(options_.bell->wait({.deadline = within(options_.period), .stop = stop}));
  }
}

// Notices go each to an address of its own.
std::vector<tasks::DeliveringQueue> Pusher::wanted() const {
  std::vector<tasks::DeliveringQueue> queues;
  tasks::TasksAccess::core(tasks_).store().read(
      [&](tasks::Transaction& transaction) { queues = transaction.delivering(); });
  std::erase_if(queues, [](const auto& each) { return tasks::is_reserved(each.name); });
  queues.push_back(
      {.name = std::string(tasks::notify_queue),
       .delivery = {.url = {}, .timeout = notify_timeout, .secret = options_.notify_secret}});
  return queues;
}

void Pusher::look() {
  const auto queues = wanted();
  std::vector<std::unique_ptr<Courier>> gone;  // They have ended: nobody waits for them here.
  const auto turn = lock_.hold();
  if (!is_stopping_) adopt_locked(queues);
  const auto has_ended = [](const auto& each) { return each->has_ended(); };
  const auto left = std::ranges::partition(leaving_, std::not_fn(has_ended));
  std::ranges::move(left, std::back_inserter(gone));
  leaving_.erase(left.begin(), left.end());
}

void Pusher::adopt_locked(const std::vector<tasks::DeliveringQueue>& wanted) {
  for (auto each = couriers_.begin(); each != couriers_.end();) {
    const bool stays =
        std::ranges::find(wanted, each->first, &tasks::DeliveringQueue::name) != wanted.end();
    if (stays && !each->second->has_ended()) {
      ++each;
      continue;
    }
    log_.info("no longer delivered", {{"queue", each->first}});
    each->second->begin_to_stop();
    leaving_.push_back(std::move(each->second));
    each = couriers_.erase(each);
  }
  for (const tasks::DeliveringQueue& each : wanted) start_locked(each);
}

void Pusher::start_locked(const tasks::DeliveringQueue& wanted) {
  const auto found = couriers_.find(wanted.name);
  if (found != couriers_.end()) return found->second->change(wanted.delivery);
  // Only the host: what is behind it may be a secret.
  if (const auto url = net::parse_url(wanted.delivery.url)) {
    log_.info("delivered", {{"queue", wanted.name}, {"to", url->host}});
  }
  couriers_.emplace(wanted.name,
                    std::make_unique<Courier>(tasks_, wanted.name, wanted.delivery, means_));
}

}  // namespace handoff::server
