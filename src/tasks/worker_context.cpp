// What a handler knows of its task, and can say while it runs.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "handoff/tasks/limits.hpp"
#include "tasks/utf8.hpp"
#include "tasks/worker_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

namespace {
constexpr Millis news_period = std::chrono::seconds(1);
}  // namespace

const TaskId& Context::id() const { return run_.task.id; }
const std::string& Context::queue() const { return run_.task.queue; }
const std::string& Context::kind() const { return run_.task.kind; }
int Context::attempt() const { return run_.task.attempt; }
int Context::max_attempts() const { return run_.task.max_attempts; }
const std::string& Context::group() const { return run_.task.group; }
const std::string& Context::trace() const { return run_.task.trace; }
std::stop_token Context::stop() const { return run_.limits.stop; }
void Context::progress(double fraction, std::string_view note) {
  run_.worker->note_progress(run_, fraction, note);
}
void Context::log(std::string_view line) { run_.worker->note_line(run_, line); }
bool Context::extend(std::chrono::milliseconds time) { return run_.worker->extend(run_, time); }

// Wakes the loop only if it does not know already when there is something to write.
void WorkerCore::has_news_locked(Context::Run& run) {
  if (run.news_due) return;
  run.news_due = clock() + news_period;
  bell_.set();
}

void WorkerCore::note_progress(Context::Run& run, double fraction, std::string_view note) {
  const auto turn = lock_.hold();
  run.progress = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0;
  if (!note.empty()) run.note = readable_utf8(note, limits::note_size);
  has_news_locked(run);
}

void WorkerCore::note_line(Context::Run& run, std::string_view line) {
  LogLine said{
      .number = 0, .at = core_.clock().now(), .line = readable_utf8(line, limits::log_line_size)};
  const auto turn = lock_.hold();
  if (run.lines.size() == limits::log_lines) run.lines.pop_front();
  run.lines.push_back(std::move(said));
  has_news_locked(run);
}

bool WorkerCore::extend(Context::Run& run, Millis time) {
  if (const auto good = check_lease(time, "time"); !good) {
    throw std::invalid_argument(good.error().message);
  }
  if (run.is_late || run.is_given_back) return false;
  const Extension extension{.id = run.task.id, .lease = run.task.lease, .lease_for = time};
  Recorded recorded = Recorded::stale;
  core_.batcher().run([&](Transaction& transaction) {
    recorded = transaction.extend(std::span(&extension, 1)).front();
  });
  if (recorded != Recorded::yes) {
    run.stop.request_stop();
    return false;
  }
  return true;  // The loop goes on extending it, which makes no lease shorter.
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
