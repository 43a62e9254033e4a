#include "run.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "handoff/sizing.hpp"
#include "handoff/waits.hpp"

namespace burst {

using namespace std::chrono_literals;

// The web server. It never waits for room: a visitor gets an answer at once.
void Run::serve_visitors() {
  handoff::name_this_thread("web server");
  as_they_come(options_, stop_, [this](Click click) {
    const auto arrived = click.arrived;
    const auto posted = pool_.post([this, click = std::move(click)] { work_on(click); });
    ++(posted ? accepted_ : refused_);  // Refused: the visitor reads "try again later".
    longest_answer_ = std::max(longest_answer_, handoff::now() - arrived);
  });
  all_came_.set();
}

void Run::work_on(const Click& click) {
  waits_.add(handoff::now() - click.arrived);
  database_.answers_after(options_.time_per_click());
  ++processed_;
}

Outcome Run::operator()() {
  std::thread web(&Run::serve_visitors, this);
  watch_until_done();
  web.join();
  // All are done, or the patience or a Ctrl-C has ended the wait: then what nobody has begun is ours again.
  const auto report = pool_.shutdown(handoff::interrupt(options_.time_per_click() + 5s));
  auto last = picture();
  last.is_over = true;
  screen_.show(last);
  return {.accepted = accepted_,
          .refused = refused_,
          .processed = processed_,
          .handed_back = report.handed_back.size(),
          .pool = pool_.stats(),
          .report = to_string(report),
          .half_waited = waits_.of(0.5),
          .longest_wait = waits_.of(1),
          .longest_answer = longest_answer_,
          .most_resident = most_resident_,
          .unbounded = unbounded_ == nullptr ? Unbounded::Look{} : unbounded_->look(),
          .most_resident_unbounded = most_resident_unbounded_,
          .stopped = stop_.stop_requested()};
}

void Run::watch_until_done() {
  const handoff::Deadline end =
      handoff::within(std::chrono::duration<double>(options_.seconds + options_.patience));
  const auto is_done = [this] { return all_came_.is_set() && processed_ == accepted_; };
  example::SlowService next_picture;
  const auto pause = [&] {
    const auto due = std::min(handoff::now() + terminal_.time_between_pictures(), end.when());
    return next_picture.answers_at(due, stop_);
  };
  do {
    screen_.show(picture());
  } while (!is_done() && !end.has_passed() && pause());
  if (stop_.stop_requested()) screen_.show(picture());  // A second Ctrl-C may come at any time.
}

Side Run::pool_side() const {
  const auto stats = pool_.stats();
  return {.limit = options_.capacity,
          .waiting = stats.queued,
          .accepted = accepted_,
          .refused = refused_,
          .processed = processed_,
          .next_wait = handoff::waiting_time(
              stats.queued, handoff::per_second(static_cast<double>(options_.rate))),
          .resident = example::resident_bytes()};
}

Side Run::unbounded_side() const {
  if (unbounded_ == nullptr) return {};
  const auto look = unbounded_->look();
  const auto in_hand = std::min(options_.workers, look.accepted - look.processed);
  const auto waiting = look.accepted - look.processed - in_hand;
  return {.limit = options_.clicks,
          .waiting = waiting,
          .accepted = look.accepted,
          .refused = look.capped,
          .processed = look.processed,
          .next_wait = handoff::waiting_time(
              waiting, handoff::per_second(static_cast<double>(options_.rate))),
          .resident = look.resident};
}

Picture Run::picture() {
  Picture picture{.elapsed = handoff::now() - began_,
                  .clicks = options_.clicks,
                  .most_memory = options_.mebibytes * 1024 * 1024,
                  .pool = pool_side(),
                  .unbounded = unbounded_side(),
                  .stopping = stop_.stop_requested()};
  most_resident_ = std::max(most_resident_, picture.pool.resident);
  most_resident_unbounded_ = std::max(most_resident_unbounded_, picture.unbounded.resident);
  return picture;
}

}  // namespace burst
