#include "server/api/waiting.hpp"

#include <functional>
#include <utility>

namespace handoff::server {

namespace {

// Registered first, and then it looks: an end in between is seen.
class Waits {
 public:
  Waits(ApiContext& api, const tasks::TaskId& id, const std::stop_token& hurry)
      : listeners_(api.core->listeners()),
        id_(id),
        hurries_(hurry, [this] { waiting_.told.set(); }) {
    listeners_.add_wait(id_, waiting_);
  }
  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;
  ~Waits() { listeners_.remove_wait(id_, waiting_); }
  Event& told() { return waiting_.told; }

 private:
  tasks::Listeners& listeners_;
  const tasks::TaskId id_;
  tasks::Listeners::Waiting waiting_;
  std::stop_callback<std::function<void()>> hurries_;
};

using IsOver = bool (*)(ApiContext& api, const tasks::TaskId& id);

bool is_task_over(ApiContext& api, const tasks::TaskId& id) {
  bool is_over = true;
  api.core->store().read([&](tasks::Transaction& transaction) {
    const auto state = transaction.states_of(std::span(&id, 1)).front();
    is_over = !state || is_finished(*state);
  });
  return is_over;
}

bool is_workflow_over(ApiContext& api, const tasks::TaskId& id) {
  const auto look = api.tasks.workflow(id);
  return !look || is_finished(look->state);
}

Lazy<> wait_until(ApiContext& api, IsOver is_over, tasks::TaskId id, Deadline deadline,
                  std::stop_token hurry) {
  Waits waits(api, id, hurry);
  for (;;) {
    const auto look = [&api, is_over, id] { return is_over(api, id); };
    auto looked = on_pool_thread(api.pool, look);
    const bool is_finished = co_await std::move(looked);
    if (is_finished || hurry.stop_requested()) co_return;
    const auto told = co_await waits.told().async_wait(deadline);
    if (!told || hurry.stop_requested()) co_return;
    waits.told().reset();
  }
}

}  // namespace

Lazy<> wait_for_end(ApiContext& api, tasks::TaskId id, Deadline deadline, std::stop_token hurry) {
  return wait_until(api, is_task_over, id, deadline, std::move(hurry));
}

Lazy<> wait_for_workflow(ApiContext& api, tasks::TaskId id, Deadline deadline,
                         std::stop_token hurry) {
  return wait_until(api, is_workflow_over, id, deadline, std::move(hurry));
}

}  // namespace handoff::server
