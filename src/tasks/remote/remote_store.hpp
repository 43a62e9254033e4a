// A store that a server has: everything is asked for over HTTP.
//
//   remote_store         what it is to those above: transactions, waiting, workers
//   remote_transaction   one call, one request: its members by subject, in transaction_*.cpp
//   connection           requests, and what to do if there is no answer
//   claims               how workers get tasks
//   event_stream         how others hear of what happens
//   wire                 JSON
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>

#include "handoff/mutex.hpp"
#include "handoff/tasks/clock.hpp"
#include "tasks/elsewhere.hpp"
#include "tasks/remote/claims.hpp"
#include "tasks/remote/connection.hpp"
#include "tasks/remote/event_stream.hpp"
#include "tasks/store.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote {

struct RemoteOptions {
  ConnectionOptions server;
  const TaskClock* clock = &TaskClock::real();
  bool has_codec = false;
};

class RemoteStore final : public Store, public Elsewhere {
 public:
  // Asks once. Throws StoreFailure if the server cannot be reached, or does not let us in.
  explicit RemoteStore(RemoteOptions options);
  ~RemoteStore() override;

  // Who is told what happens there. Before anything else is done with it.
  struct Hooks {
    std::function<void(const Changes&)> happened;
    std::function<void()> may_have_happened;    // And nobody knows what.
    std::function<void(std::uint64_t)> missed;  // So many events were.
    std::function<void(std::span<const TaskId>)>
        cancelled;                      // Perhaps while somebody here runs them.
    std::function<void()> has_claimed;  // There is something for a worker.
  };
  void tell(Hooks hooks);

  // -- Store -------------------------------------------------------------------------------------
  Elsewhere* elsewhere() override { return this; }
  Changes transact(const std::function<void(Transaction&)>& work) override;
  void read(const std::function<void(Transaction&)>& work) override;
  Changes reclaim_from_the_dead() override { return {}; }
  bool is_changed_by_others() override { return false; }
  void close() override;

  // -- Elsewhere ---------------------------------------------------------------------------------
  std::expected<Task, TaskError> wait_for_task(const TaskId& id, const Wait& limits) override;
  std::expected<WorkflowLook, TaskError> wait_for_workflow(const WorkflowId& id,
                                                           const Wait& limits) override;
  std::expected<std::int64_t, TaskError> retry_all(const BulkFilter& filter) override;
  std::expected<std::int64_t, TaskError> cancel_all(const BulkFilter& filter,
                                                    std::string_view reason) override;
  std::expected<std::int64_t, TaskError> count(const BulkFilter& filter) override;
  void listen() override;
  void wait_for_nothing(std::int64_t worker) override;
  void end_claims(std::int64_t worker) override;

  // -- For transactions --------------------------------------------------------------------------
  Connection& server() { return server_; }
  // Asked for once nobody is left who waits for an answer. Not for what the server must still be told: tasks that are given back, workers that leave.
  std::stop_token closes() const { return closes_.get_token(); }
  bool has_codec() const { return options_.has_codec; }
  Time now() const { return options_.clock->now(); }
  std::int64_t add_worker(const WorkerRow& worker);
  void remove_worker(std::int64_t worker);
  // Throws StoreFailure.
  ClaimResult claim(const ClaimRequest& request);

 private:
  std::shared_ptr<Claims> claims_of(std::int64_t worker);  // Null: it is not known.
  // The body of what is at `path`, once that has ended or the wait is over.
  std::expected<std::string, TaskError> wait_at(const std::string& path, const Wait& limits);
  std::expected<std::int64_t, TaskError> ask_for_count(const std::string& body);

  const RemoteOptions options_;
  Connection server_;
  std::stop_source closes_;
  Hooks hooks_;
  std::unique_ptr<EventStream> events_;         // Of everything, for those who watch or wait.
  std::unique_ptr<EventStream> cancellations_;  // For workers.
  Mutex lock_{{.name = "workers of a server"}};
  // Guarded by lock_.
  std::map<std::int64_t, std::shared_ptr<Claims>> claims_;
  std::int64_t last_worker_ = 0;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote
