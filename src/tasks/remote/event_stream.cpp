#include "tasks/remote/event_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "handoff/tasks/payload.hpp"
#include "handoff/waits.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote {

namespace {

constexpr std::size_t largest_block = std::size_t{1} << 20;

struct TaskEventBody {
  TaskId id;
  std::string queue;
  std::string state;
  Time at;
};
BOOST_DESCRIBE_STRUCT(TaskEventBody, (), (id, queue, state, at))

struct GapBody {
  std::optional<std::uint64_t> missed;
};
BOOST_DESCRIBE_STRUCT(GapBody, (), (missed))

std::uint32_t number_of(const std::string& queue, std::vector<std::string>& queues) {
  const auto found = std::ranges::find(queues, queue);
  const auto number = static_cast<std::uint32_t>(found - queues.begin());
  if (found == queues.end()) queues.push_back(queue);
  return number;
}

}  // namespace

EventStream::EventStream(Connection& server, std::string path, Hooks hooks)
    : server_(server), path_(std::move(path)), hooks_(std::move(hooks)) {}

EventStream::~EventStream() { end(); }

void EventStream::start() {
  {
    const auto turn = lock_.hold();
    if (is_ended_) return;
    if (!thread_) thread_.emplace([this](const std::stop_token& stop) { run(stop); });
  }
  static_cast<void>(first_try_.wait());
}

void EventStream::end() {
  std::optional<Thread> ends;
  {
    const auto turn = lock_.hold();
    is_ended_ = true;
    ends = std::exchange(thread_, std::nullopt);
  }
  first_try_.set();
}

void EventStream::run(const std::stop_token& stop) {
  handoff::name_this_thread("events");
  Backoff backoff;
  while (!stop.stop_requested()) {
    const bool was_open = listen(stop);
    first_try_.set();
    if (was_open) backoff.reset();
    static_cast<void>(pause(backoff.next(), stop));
  }
}

// Until that ends. False if it was never open, or somebody who was told has thrown.
bool EventStream::listen(const std::stop_token& stop) {
  buffer_.clear();
  is_open_ = false;
  const auto part = [&](std::string_view text) { return !stop.stop_requested() && read(text); };
  try {
    static_cast<void>(server_.stream(path_, last_id_, stop, part));
    return is_open_;
  } catch (const std::exception& error) {
    note_failure(error.what());
  } catch (...) {
    note_failure("something was thrown");
  }
  last_id_.clear();  // What was told is unknown: the next time something is missed.
  return false;
}

void EventStream::note_failure(std::string_view what) {
  failures_.note(fmt::format("tasks: what happens at the server {} could not be told: {}",
                             server_.url(), what));
}

bool EventStream::read(std::string_view part) {
  if (!std::exchange(is_open_, true)) {
    // From where it was it goes on by itself; without a place, what came since the first try is unknown: start() returned then.
    if (first_try_.is_set() && last_id_.empty()) hooks_.missed(std::nullopt);
    first_try_.set();
  }
  buffer_ += part;
  Changes changes;
  std::string_view rest = buffer_;
  for (auto end = rest.find("\n\n"); end != std::string_view::npos; end = rest.find("\n\n")) {
    read_block(rest.substr(0, end), changes);
    rest.remove_prefix(end + 2);
  }
  buffer_.erase(0, buffer_.size() - rest.size());
  if (!changes.states.empty()) hooks_.happened(changes);
  return buffer_.size() < largest_block;
}

void EventStream::read_block(std::string_view block, Changes& changes) {
  std::string_view event;
  std::string_view data;
  while (!block.empty()) {
    const auto end = std::min(block.find('\n'), block.size());
    const std::string_view line = block.substr(0, end);
    block.remove_prefix(std::min(end + 1, block.size()));
    if (line.starts_with("id: ")) last_id_ = line.substr(4);
    if (line.starts_with("event: ")) event = line.substr(7);
    if (line.starts_with("data: ")) data = line.substr(6);
  }
  if (event == "gap") {
    const auto gap = from_json<GapBody>(data);
    if (!changes.states.empty()) hooks_.happened(std::exchange(changes, {}));
    hooks_.missed(gap ? gap->missed : std::nullopt);
  }
  if (event != "task") return;
  const auto task = from_json<TaskEventBody>(data);
  const auto state = task ? parse_state(task->state) : std::nullopt;
  if (!state) return;  // Of another version.
  changes.states.push_back({.id = task->id,
                            .state = *state,
                            .from = *state,
                            .queue = number_of(task->queue, changes.queues)});
  changes.at = task->at;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote
