// What an ActorSystem is behind its templates: who lives in it, under which names, and what it has counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "handoff/actor_info.hpp"
#include "handoff/detail/actor/asks.hpp"
#include "handoff/detail/actor/cell.hpp"
#include "handoff/detail/actor/family.hpp"
#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/pool/failure_log.hpp"
#include "handoff/event.hpp"
#include "handoff/mutex.hpp"
#include "handoff/pool.hpp"
#include "handoff/shutdown.hpp"
#include "handoff/supervision.hpp"
#include "handoff/when_full.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

struct SystemOptions {
  std::size_t workers = 0;        // Threads that run the actors; 0: one a core. Up to 1024.
  std::string_view name = {};     // How the threads are called; copied.
  Supervision supervision = {};   // For actors without a parent.
  std::size_t dead_letters = 64;  // Of so many the last ones are remembered.
  bool tracing = false;           // A trace goes along with every message: see current_trace().
  bool time_handlers =
      false;  // Measures how long handlers take, for inspect(): some 50 ns a message.
  Duration slow_handler =
      {};  // Handlers that take longer are logged; implies time_handlers. 0: none.
};

// Called in the turn of an actor, or where a message is dropped; from several threads at once.
struct SystemHooks {
  std::function<void(const Failure& failure, Directive directive)> on_failure = {};
  std::function<void(const DeadLetter& letter)> on_dead_letter = {};
};

struct MailboxOptions {
  std::size_t capacity = 1000;           // Messages accepted and not handled. From 1 to 2^31.
  WhenFull when_full = WhenFull::block;  // What send() does when there is no room.
};

struct ActorOptions {
  MailboxOptions mailbox = {};
  std::string_view name =
      {};  // To be found by, after its parent's and a slash; copied. Up to 255 bytes.
  std::shared_ptr<const Supervision> children = nullptr;  // See supervise(). Null: the default.
  bool dedicated_thread = false;  // It has a thread of its own, and may block that.
  // Messages of its plain handlers that wait for room elsewhere; past that, send() says `full`.
  std::size_t outbox = 1000;
};

// A policy for ActorOptions::children, to be shared by any number of actors. Throws std::invalid_argument if it makes no sense.
std::shared_ptr<const Supervision> supervise(Supervision policy);

namespace detail {

struct SpawnSettings {
  const ActorOptions& options;
  Executor* executor;
  std::uint64_t id;
  bool has_started;
  bool is_traced;
};

// What one actor may wait for another by.
enum class Edge : std::uint8_t { ask, room };

class SystemCore {
 public:
  SystemCore(const SystemOptions& options, SystemHooks hooks, WorkerPool* pool);
  ~SystemCore();

  // Takes in a new actor and makes its object. Throws what that throws, and std::invalid_argument if the name is taken or an option makes
  // no sense. Once the system or the parent is ending, the actor has ended from the start.
  SpawnSettings settings_of(const ActorOptions& options, const ActorType& type);
  void take_in(ActorCell& cell, const ActorOptions& options);
  // The one of that name, with a reference; null if there is none.
  ActorCell* find(std::string_view path) const;
  // In its turn, last of all.
  void has_ended(ActorCell& cell);
  void forget_name(ActorCell& cell);
  void one_is_gone();

  ActorShutdownReport shutdown(const Shutdown& how);
  void end();
  bool is_ending() const { return hands_back_.load(seq_cst); }  // From the same moment on.
  std::vector<ActorInfo> inspect() const;
  std::vector<DeadLetterNote> dead_letters() const;
  // Pairs with note_dead_letter(): who sees it counted finds it remembered.
  std::uint64_t dead_letter_count() const { return dead_letter_count_.load(acquire); }
  std::uint64_t dropped() const { return dropped_.load(relaxed); }  // A counter.
  std::size_t alive() const {
    return alive_.load(seq_cst) - (counts_itself_.load(seq_cst) ? 1 : 0);
  }

  // Says what became of a message that was accepted and will not be handled.
  void note_dead_letter(ActorCell& to, MessageView message, std::string_view reason);
  // Takes the message, if the system is ending and hands such messages back.
  bool keep_undelivered(ActorCell& to, Envelope& envelope);
  void note_dropped(const ActorCell& to);
  void note_failure(const Failure& failure, Directive directive);
  const Supervision& supervision() const { return supervision_; }
  const Wait& limits() const { return limits_; }
  bool times_handlers() const { return times_handlers_; }
  void note_slow(const ActorCell& cell, std::string_view message, Duration took);

  // From now on `from` waits for `to`. False, and there is no edge, if they would wait in a ring: then `ring` says which.
  bool add_edge(ActorCell& from, ActorCell& to, Edge kind, std::vector<std::string>* ring);
  void remove_edge(ActorCell& from, ActorCell& to, Edge kind);
  std::string edges_of(ActorCell& from);

  WorkerPool& pool() { return *pool_; }
  const std::shared_ptr<Asks>& asks() const { return asks_; }

 private:
  Family& family_of(ActorCell& cell);
  void check(const ActorOptions& options) const;
  void give_extras(ActorCell& cell, const ActorOptions& options);
  void make_object(ActorCell& cell, const ActorOptions& options);
  void stop_all(ActorCell::Stop how);

  const std::unique_ptr<WorkerPool> own_pool_;
  WorkerPool* const pool_;
  const SystemHooks hooks_;
  const Supervision supervision_;
  const std::size_t most_dead_letters_;
  const bool is_traced_;
  const bool times_handlers_;
  const Duration slow_handler_;
  std::stop_source stop_source_;
  const Wait limits_{.deadline = {}, .stop = stop_source_.get_token()};

  const std::shared_ptr<Asks> asks_ = std::make_shared<Asks>();
  Family roots_;
  // The actors, and the system itself until it is shut down: who is the last of them has seen the end, and nobody else.
  // Both change with every actor: on lines of their own, away from what all read.
  alignas(cache_line) atomic<std::size_t> alive_{1};
  alignas(cache_line) atomic<std::uint64_t> next_id_{1};
  alignas(cache_line) atomic<bool> counts_itself_{true};
  atomic<std::uint64_t> ended_{0};  // Since it is ending.
  atomic<std::uint64_t> dead_letter_count_{0};
  atomic<std::uint64_t> dropped_{0};
  atomic<bool> hands_back_{false};
  bool has_let_pool_go_ = false;  // Guarded by shutting_down_.
  Event all_gone_;
  Mutex shutting_down_;
  FailureLog dead_letter_log_;
  FailureLog drop_log_;
  FailureLog failure_log_;
  FailureLog slow_log_;

  mutable SmallLock names_lock_;
  // Guarded by names_lock_.
  std::unordered_map<std::string, ActorCell*> names_;

  mutable SmallLock notes_lock_;
  // Guarded by notes_lock_.
  std::deque<DeadLetterNote> notes_;
  std::vector<Undelivered> handed_back_;
};

// One actor waits for another for as long as this lives.
class WaitsFor {
 public:
  WaitsFor() = default;
  ~WaitsFor();
  WaitsFor(const WaitsFor&) = delete;
  WaitsFor& operator=(const WaitsFor&) = delete;

  // False if that closes a ring, which is reported then.
  bool begin_ask(ActorCell* from, ActorCell& to);
  // The same for room in its mailbox, and not reported.
  bool begin_room(ActorCell* from, ActorCell& to);

 private:
  bool begin(ActorCell* from, ActorCell& to, Edge kind, std::vector<std::string>* ring);

  ActorCell* from_ = nullptr;
  ActorCell* to_ = nullptr;
  Edge kind_ = Edge::ask;
};

}  // namespace detail
}  // namespace handoff::inline HANDOFF_FLAVOUR
