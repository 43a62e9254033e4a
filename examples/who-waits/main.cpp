// Prints who waits for what, in a program where nothing moves. See README.md.
#include <fmt/core.h>

#include <chrono>
#include <stop_token>
#include <thread>

#include "handoff/event.hpp"
#include "handoff/mutex.hpp"
#include "handoff/queue.hpp"
#include "handoff/stats.hpp"
#include "handoff/waits.hpp"

using namespace std::chrono_literals;

struct Photo {
  int number;
};

int main() {
  handoff::BlockingQueue<Photo> uploads{{.capacity = 2, .name = "uploads"}};
  handoff::BlockingQueue<Photo> thumbnails{{.capacity = 2, .name = "thumbnails"}};
  handoff::Mutex index{{.name = "index"}};
  handoff::Event index_is_held;
  handoff::Event never;

  // Two mistakes: nobody was started to make thumbnails of uploads, and the indexer waits while it holds a lock.
  std::jthread receiver([&](std::stop_token stop) {
    handoff::name_this_thread("receiver");
    int number = 0;
    while (uploads.put({number}, {.stop = stop})) ++number;
  });
  std::jthread indexer([&](std::stop_token stop) {
    handoff::name_this_thread("indexer");
    const auto held = index.acquire({.stop = stop});
    index_is_held.set();
    while (thumbnails.take({.stop = stop})) {
    }
  });
  std::jthread searcher([&](std::stop_token stop) {
    handoff::name_this_thread("searcher");
    if (!index_is_held.wait({.stop = stop})) return;
    const auto held = index.acquire({.stop = stop});
  });

  // A server would print this on a signal, or when a health check fails.
  while (handoff::waits().size() < 3) (void)never.wait({.deadline = handoff::within(1ms)});
  (void)never.wait({.deadline = handoff::within(200ms)});
  const auto waits = handoff::waits();
  fmt::print("{}\n", handoff::to_table(waits));

  for (const auto& [kind, name, stats] : handoff::snapshot()) {
    if (name.starts_with(kind)) continue;  // Without a name.
    fmt::print("{} \"{}\": {} of {} in use, {} in, {} out, waiting: {} to add, {} to take\n", kind,
               name, stats.size, stats.capacity, stats.puts, stats.takes, stats.waiting_producers,
               stats.waiting_consumers);
  }
  return waits.size() == 3 ? 0 : 1;  // The jthreads ask their threads to stop, and join them.
}
