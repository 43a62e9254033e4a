#include "tasks/keeper.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "handoff/clock.hpp"
#include "handoff/log.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

namespace {

constexpr int chores_at_once = 500;  // In one transaction: others wait for its end.
constexpr Millis prune_period = std::chrono::minutes(1);
constexpr Millis after_failure = std::chrono::seconds(1);
// After a commit was seen others are not looked for so long: a busy process would wake itself with each of its own.
constexpr int deaf_ms = 5;

int checked(int descriptor, const char* what) {
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), what);
  return descriptor;
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }

 private:
  const int number_;
};

// Whatever there is to be read, is gone. True if there was something. Of a timer that somebody has set the clock is something, too.
bool empty(int descriptor) {
  std::array<char, 4096> bytes;
  bool had_some = false;
  while (::read(descriptor, bytes.data(), bytes.size()) > 0 || errno == ECANCELED) had_some = true;
  return had_some;
}

}  // namespace

// Wakes the thread: by the time, which may be set; by others here; by other processes.
class Keeper::Alarm {
 public:
  explicit Alarm(const std::string& store)
      : told_(checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")),
        timer_(checked(::timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK),
                       "timerfd_create")),
        files_(store.empty() ? -1 : ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    if (store.empty()) return;
    // Also told when a process that had it open is gone, however it went.
    bell_ = ::inotify_add_watch(files_.get(), (store + "-processes").c_str(),
                                IN_MODIFY | IN_CLOSE_WRITE);
    const int wal = ::inotify_add_watch(files_.get(), (store + "-wal").c_str(), IN_MODIFY);
    if (bell_ >= 0 && wal >= 0) return;
    handoff::detail::log_line("tasks: " + store + " cannot be watched (" +
                              std::generic_category().message(errno) +
                              "): what other processes do is seen late; raise "
                              "fs.inotify.max_user_instances");
  }

  void tell() {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(told_.get(), &one, sizeof one));
  }

  Reason wait(std::optional<Millis> time) {
    if (std::exchange(is_told_too_, false)) return Reason::told;
    if (!set_timer(time)) return Reason::time;
    std::array<pollfd, 3> all{pollfd{.fd = told_.get(), .events = POLLIN, .revents = 0},
                              pollfd{.fd = timer_.get(), .events = POLLIN, .revents = 0},
                              pollfd{.fd = files_.get(), .events = POLLIN, .revents = 0}};
    // What comes in this time is seen after it.
    if (std::exchange(is_deaf_, false)) ::poll(all.data(), 2, deaf_ms);
    const bool looks_again = looks_ < again_ms.size();
    const int ready = ::poll(all.data(), all.size(), looks_again ? again_ms[looks_] : -1);
    // What came after poll() has looked is taken here, too: it would not be seen again.
    const bool is_told = empty(told_.get()) || all[0].revents != 0;
    const bool is_time = empty(timer_.get()) || all[1].revents != 0;
    if (ready == 0) ++looks_;
    if (all[2].revents != 0) read_signs();
    const bool has_changed = ready == 0 || all[2].revents != 0;
    if (has_changed && !looks_for_dead_until_.has_passed()) return Reason::somebody_is_gone;
    // What else there is comes next time: who hears of a change may find that it was our own, and go on sleeping.
    is_told_too_ = has_changed && (is_told || is_time);
    if (has_changed) return Reason::changed;
    return is_told ? Reason::told : Reason::time;
  }

 private:
  static constexpr std::array<int, 4> again_ms{5, 20, 100, 500};

  // False if the clock was set since the last time: the timer has forgotten that, and its time may be past.
  bool set_timer(std::optional<Millis> time) {
    itimerspec due{};
    if (time) {
      timespec now{};
      ::clock_gettime(CLOCK_REALTIME, &now);
      const auto at = std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec) +
                      std::max(*time, Millis(1));
      due.it_value.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(at).count();
      due.it_value.tv_nsec = (at % std::chrono::seconds(1)).count();
    }
    // If the clock is set meanwhile it wakes as well, and all is looked at once more.
    return ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &due,
                             nullptr) == 0 ||
           errno != ECANCELED;
  }

  // Reads all that has happened to the files.
  void read_signs() {
    is_deaf_ = true;
    bool has_rung_last = false;
    bool is_somebody_gone = false;
    alignas(inotify_event) std::array<char, 4096> bytes;
    for (;;) {
      const ssize_t count = ::read(files_.get(), bytes.data(), bytes.size());
      if (count <= 0) break;
      for (ssize_t at = 0; at < count;) {
        const auto& event = *reinterpret_cast<const inotify_event*>(bytes.data() + at);
        has_rung_last = event.wd == bell_;
        is_somebody_gone |= (event.mask & IN_CLOSE_WRITE) != 0;
        at += static_cast<ssize_t>(sizeof event + event.len);
      }
    }
    // The kernel tells of it just before it takes the locks away: that is looked for some times too.
    if (is_somebody_gone) looks_for_dead_until_ = within(std::chrono::seconds(1));
    // Who rings has committed. Of others only the beginning of a commit is seen: it is looked for some times.
    if (is_somebody_gone || !has_rung_last) {
      looks_ = 0;
    } else if (looks_for_dead_until_.has_passed()) {
      looks_ = again_ms.size() - 1;  // Somebody else may have been in the middle of a commit.
    }
  }

  const Descriptor told_;
  const Descriptor timer_;
  const Descriptor files_;
  int bell_ = -1;
  bool is_deaf_ = false;
  bool is_told_too_ = false;
  std::size_t looks_ = again_ms.size();
  Deadline looks_for_dead_until_{TimePoint()};
};

Keeper::Keeper(Batcher& batcher, Options options)
    : batcher_(batcher),
      options_(std::move(options)),
      alarm_(std::make_unique<Alarm>(options_.store)) {}

void Keeper::start() {
  thread_ = Thread([this](const std::stop_token& stop) { run(stop); });
}

Keeper::~Keeper() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  alarm_->tell();
  thread_.join();
}

void Keeper::due_in(Millis time) {
  const Millis at = options_.clock->since_boot() + time;
  const auto turn = lock_.hold();
  if (is_told_) return;
  const bool wakes_before = is_asleep_ && sleeps_until_ && *sleeps_until_ <= at;
  if (wakes_before) return;
  is_told_ = true;
  alarm_->tell();
}

void Keeper::run(const std::stop_token& stop) {
  auto reason = Reason::time;
  auto failed = Reason::time;  // What it could not do, it does with the next.
  while (!stop.stop_requested()) {
    {
      const auto turn = lock_.hold();
      is_told_ = false;
      is_asleep_ = false;
    }
    std::optional<Millis> next;
    try {
      const bool is_somebody_gone = reason == Reason::somebody_is_gone;
      if (is_somebody_gone && options_.somebody_is_gone) options_.somebody_is_gone();
      if (is_somebody_gone || reason == Reason::changed) {
        if (options_.changed_by_others) options_.changed_by_others();
      }
      next = work(stop);
    } catch (const std::exception& error) {
      handoff::detail::log_line(std::string("tasks: what is due is late: ") + error.what());
      next = after_failure;
      failed = reason;
    }
    {
      const auto turn = lock_.hold();
      is_asleep_ = true;
      if (!options_.clock->moves_by_itself()) next.reset();  // Who moves it calls work_now().
      sleeps_until_.reset();
      if (next) sleeps_until_ = options_.clock->since_boot() + *next;
    }
    reason = std::max(sleep(next), std::exchange(failed, Reason::time));
  }
}

Keeper::Reason Keeper::sleep(std::optional<Millis> time) {
  Millis began = options_.clock->since_boot();
  for (;;) {
    const auto reason = alarm_->wait(time);
    // The files also change when we write to them.
    if (reason != Reason::changed || has_others_changed()) return reason;
    if (!time) continue;
    const Millis now = options_.clock->since_boot();
    *time -= now - std::exchange(began, now);
    if (*time <= Millis(0)) return Reason::time;
  }
}

bool Keeper::has_others_changed() {
  try {
    return !options_.is_changed_by_others || options_.is_changed_by_others();
  } catch (const std::exception&) {
    return true;  // Who looks will see what is wrong.
  }
}

void Keeper::work_now() { static_cast<void>(work()); }

std::optional<Millis> Keeper::look() {
  std::optional<Millis> next;
  batcher_.read([&](Transaction& transaction) {
    next = transaction.next_due();
    const Millis until_prune = std::max(prunes_at_ - options_.clock->since_boot(), Millis(0));
    if (transaction.has_finished()) next = next ? std::min(*next, until_prune) : until_prune;
  });
  return next;
}

// Much may have piled up: who closes the store does not wait for all of it.
std::optional<Millis> Keeper::work(const std::stop_token& stop) {
  const auto turn = working_.hold();
  for (;;) {
    const auto next = look();
    if (!next || *next > Millis(0)) return next;
    bool has_more = true;
    while (has_more) {
      if (stop.stop_requested()) return std::nullopt;
      batcher_.run([&](Transaction& transaction) {
        has_more = transaction.fire(chores_at_once).has_more;
        has_more |= transaction.promote(chores_at_once).has_more;
        has_more |= transaction.reclaim(chores_at_once).has_more;
        has_more |= transaction.expire(chores_at_once).has_more;
        // By the time since boot: a clock that is set back would put it off.
        const Millis now = options_.clock->since_boot();
        if (prunes_at_ <= now) {
          const bool prunes_more = transaction.prune(chores_at_once).has_more;
          has_more |= prunes_more;
          if (!prunes_more) prunes_at_ = now + prune_period;
        }
      });
    }
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
