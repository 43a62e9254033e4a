// The last events of the store, for those who read along. One ring for all readers: whoever is too slow finds a gap, and nothing is kept for it.
//
//   EventLog::Reader reader(log, log.end());
//   auto part = reader.next();                      // what came since; `missed` tells of a gap
//   co_await reader.told().async_wait(...);
//
// Thread safety: add() by those who commit, one at a time; everything else by anybody. A reader is one's own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/mutex.hpp"
#include "handoff/tasks/state.hpp"
#include "handoff/tasks/task_id.hpp"
#include "handoff/tasks/time.hpp"
#include "tasks/store.hpp"

namespace handoff::server {

struct LoggedEvent {
  std::uint64_t number = 0;  // From 1 on.
  tasks::TaskId id;
  tasks::TaskState state = tasks::TaskState::ready;
  tasks::Time at;
  std::string queue;
};

// Which events somebody wants to know of.
struct EventFilter {
  std::string queue{};                                // Empty: any.
  std::optional<std::vector<tasks::TaskId>> tasks{};  // Sorted. Nothing: any.
  std::optional<tasks::TaskState> state{};            // Nothing: any.
};

class EventLog {
 public:
  explicit EventLog(std::size_t capacity = 16'384);

  void add(const tasks::Changes& changes);
  // The number of the last one.
  std::uint64_t last() const;
  // Of this log: numbers of another one mean nothing here.
  const std::string& name() const { return name_; }

  class Reader {
   public:
    // What came after the event of that number.
    Reader(EventLog& log, std::uint64_t after);
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    ~Reader();

    struct Part {
      std::vector<LoggedEvent> events;
      std::uint64_t missed = 0;  // Before these.
      std::uint64_t after = 0;   // The event before these, and after those that were missed.
    };
    // Those that are wanted. At most so many are looked at; if there are more, told() is set.
    Part next(const EventFilter& wanted, std::size_t most = 1000);
    Event& told() { return told_; }
    // Up to which event it has looked.
    std::uint64_t seen() const { return seen_; }

   private:
    EventLog& log_;
    std::uint64_t seen_;
    Event told_;
    friend class EventLog;
  };

 private:
  struct Entry {
    tasks::TaskId id;
    tasks::Time at;
    std::uint32_t queue = 0;
    tasks::TaskState state = tasks::TaskState::ready;
  };
  std::uint32_t number_of_locked(const std::string& queue);

  const std::string name_;
  mutable Mutex lock_{{.name = "events"}};
  // Guarded by lock_.
  std::vector<Entry> ring_;
  std::uint64_t last_ = 0;
  std::vector<std::string> queues_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::vector<Reader*> readers_;
};

}  // namespace handoff::server
