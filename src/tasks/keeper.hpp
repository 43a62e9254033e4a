// Keeps time for a store: one thread that sleeps until something is due, or another process has changed the file.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "handoff/mutex.hpp"
#include "handoff/tasks/clock.hpp"
#include "handoff/thread.hpp"
#include "tasks/batcher.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

class Keeper {
 public:
  struct Options {
    std::string store;  // The file, if other processes may have it too.
    const TaskClock* clock = &TaskClock::real();
    std::function<bool()> is_changed_by_others{};  // Asked when the files have changed.
    std::function<void()> changed_by_others;       // Then told.
    std::function<void()> somebody_is_gone;        // A process that had the file too.
  };

  Keeper(Batcher& batcher, Options options);
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  // Its thread calls back: whoever it calls must know of it by then.
  void start();
  // Something is due then that was not before.
  void due_in(Millis time);
  // All that is due now, by the calling thread. For tests, which have a clock of their own.
  void work_now();

 private:
  class Alarm;
  enum class Reason : std::uint8_t { time, told, changed, somebody_is_gone };
  void run(const std::stop_token& stop);
  Reason sleep(std::optional<Millis> time);
  bool has_others_changed();
  std::optional<Millis> work(const std::stop_token& stop = {});
  std::optional<Millis> look();

  Batcher& batcher_;
  const Options options_;
  const std::unique_ptr<Alarm> alarm_;
  Mutex working_{{.name = "the store's chores"}};
  Mutex lock_{{.name = "when something is due"}};
  // Guarded by lock_.
  std::optional<Millis> sleeps_until_;  // Since boot; nothing: until it is told.
  bool is_asleep_ = false;
  bool is_told_ = false;

  Millis prunes_at_{};  // Since boot. Guarded by working_.

  Thread thread_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
