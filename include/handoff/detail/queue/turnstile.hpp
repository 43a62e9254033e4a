// One side of a queue: where its producers, or its consumers, wait their turn.
//
// Waking a thread costs a thousand times what a hand-over does, so the wake policy decides the
// speed of a queue: at most one waiter of a side is on its way at a time. It holds the token. It does
// what it came for, lets the token go and, if there is more to do, wakes the next.
//
// hint   = some | token | spinner    some: the list is not empty.  token: a sleeper is on its way.  spinner: one that
//          found nothing spins for a few microseconds, and will see what comes. It needs no token: a sleeper on its
//          way may have to wait for a core.
// notify = after publishing: if hint is exactly `some`, take the token and give the front its turn.
// wait   = link, set `some`; look again; park.     (Publisher: publish, then read hint. Waiter: write hint,
//          then look. Both sequentially consistent, so one of the two sees the other.)
//
// Order among waiters, which is the promise of every queue that stands on this:
// - They are woken first come, first served, and keep their place until they leave.
// - One that runs may overtake those who sleep: that is what makes a queue fast. But a sleeper that
//   has been overtaken `max_overtakes` times, or has lost `max_lost_turns` turns (it was woken, and what it
//   was woken for had gone), is next: any later operation of that side, waiting or not, first does the sleeper's
//   operation for it (serve_front) and then its own.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/core/steps.hpp"
#include "handoff/detail/core/wait_list.hpp"
#include "handoff/refusal.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class Turnstile {
 public:
  static constexpr std::uint64_t max_overtakes = 1 << 20;
  static constexpr std::uint32_t max_lost_turns = 4;

  // An operation that has to wait, as the turnstile sees it.
  class Turn {
   public:
    // Tries the operation. True once it is finished, done or refused for good. May throw.
    virtual bool attempt() = 0;
    // Whether an operation of this side could go on now: somebody else should be woken.
    virtual bool is_ready() const = 0;
    // How many operations of this side have been done so far.
    virtual std::uint64_t position() const = 0;

   protected:
    ~Turn() = default;
  };

  // A waiter's stay at the turnstile, in steps. However it ends, by success, refusal or a throwing attempt, it is
  // taken off the list then, and the turn that came with it is passed on.
  class Visit : public Steps {
   public:
    Visit(Turnstile& turnstile, Turn& turn) : turnstile_(turnstile), turn_(turn) {}
    ~Visit() { leave(); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

    // For a thread, before begin(): true if the operation succeeded while spinning.
    bool spin();
    bool begin(Waiter& waiter) override;
    bool go_on(Waiter& waiter, WaitState outcome) override;
    // Once finished: why the wait ended first.
    const std::optional<Refusal>& refusal() const { return refusal_; }
    // Without having waited.
    void refuse(Refusal refusal) { refusal_ = refusal; }

    // -- For select, which stands at several places with one waiter ------------------------------
    void stand_in_line(Waiter& waiter);
    // Takes the turn that was given, if one was, and tries. True if the operation is done, or was done for it.
    bool look();
    void leave();
    // Once whoever is giving turns at this moment has gone.
    void pass_lock() const { SmallGuard guard(turnstile_.list_.lock()); }

   private:
    class LeaveAtEnd;

    // From now on others are not woken for what is published: we see to it, or to it that somebody does.
    void hold(std::uint32_t bit) {
      held_ |= bit;
      owes_a_look_ = true;
    }
    void let_go() {
      if (held_ != 0) turnstile_.hint_.fetch_and(~std::exchange(held_, 0), seq_cst);
    }
    bool take_turn();

    Turnstile& turnstile_;
    Turn& turn_;
    std::optional<Link> link_;  // While it stands in line.
    std::optional<Refusal> refusal_;
    std::uint32_t held_ = 0;  // token, spinner or both.
    bool owes_a_look_ =
        false;  // Something may have been published while we held it, for others too.
  };

  explicit Turnstile(Primitive& subject) : subject_(subject) {}

  // To be asked after publishing something that a waiter of this side may want.
  bool someone_sleeps() const { return hint_.load(seq_cst) == some; }
  void notify();
  // Everybody looks again: the queue has closed, say.
  void rouse_all();

  // Waits on this thread until turn.attempt() has succeeded or somebody has served it; the caller has tried once.
  // A refusal means that the wait ended first.
  std::optional<Refusal> wait(Turn& turn, const Wait& wait, WaitSite site);

  // From this position on, an operation of this side must try serve_front() first. Relaxed: a late look lets one more
  // operation overtake, no more.
  std::uint64_t overtake_limit() const { return overtake_limit_.load(relaxed); }

  // Calls give(turn) for the waiter at the front, if it sleeps or is being woken, and lets it go.
  // `give` must not throw and must not touch this turnstile. False if the front is up and looking for itself.
  template <typename Give>
  bool serve_front(Give give);

  WaitTotals totals() const { return list_.totals(); }
  void report(std::vector<WaitInfo>& waits) const { list_.report(subject_, waits); }

  Primitive& subject() const { return subject_; }

 private:
  static constexpr std::uint32_t some = 1;
  static constexpr std::uint32_t token = 2;
  static constexpr std::uint32_t spinner = 4;

  // What comes with a turn: a thread is on its way at once, a coroutine when its executor finds the time.
  static std::uint32_t token_of(const Link& link) {
    return link.waiter->coroutine() == nullptr ? token : 0;
  }
  bool try_become_spinner();
  bool give_turn_locked(Unpark& unpark);
  bool someone_can_take_a_turn_locked() const;
  void link(Link& link, std::uint64_t ticket);
  void unlink_locked(Link& link);
  void refresh_limit_locked();

  alignas(cache_line) atomic<std::uint32_t> hint_{0};
  // How well spinning has paid lately. Only the spinner reads and writes it; its bit of the hint orders them.
  std::int32_t spin_credit_ = 0;
  atomic<std::uint64_t> overtake_limit_{UINT64_MAX};
  Primitive& subject_;
  alignas(cache_line) WaitList list_;
};

template <typename Give>
bool Turnstile::serve_front(Give give) {
  Unpark unpark;
  {
    SmallGuard guard(list_.lock());
    Link* const front = list_.front_locked();
    if (front == nullptr || !front->waiter->serve(unpark)) return false;
    // Under the lock: the waiter cannot leave before it has what it came for.
    give(*static_cast<Turn*>(front->cell));
    front->is_served = true;
    unlink_locked(*front);
  }
  unpark();
  return true;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
