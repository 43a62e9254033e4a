// Stops workers with a last item: one poison pill for each of them, or close(), which needs none. See README.md.
#include <fmt/core.h>

#include <atomic>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "handoff/queue.hpp"
#include "handoff/waits.hpp"

struct Photo {
  int number;
};

constexpr int worker_count = 3;
constexpr int photo_count = 10'000;

struct Report {
  int accepted = 0;
  int resized = 0;
  int handed_back = 0;

  bool tell(std::string_view way) const {
    const bool nothing_lost = accepted == resized + handed_back;
    fmt::print("{}: {} accepted = {} resized + {} handed back: {}\n", way, accepted, resized,
               handed_back, nothing_lost ? "nothing was lost" : "THE COUNTS DO NOT AGREE");
    return nothing_lost;
  }
};

// By hand: an item that means "go home". The type must have room for it, and the sender must know the workers.
Report with_pills() {
  handoff::BlockingQueue<std::optional<Photo>> photos{{.capacity = 64, .name = "photos"}};
  std::atomic<int> resized = 0;
  std::vector<std::jthread> workers;
  for (int i = 0; i < worker_count; ++i) {
    workers.emplace_back([&] {
      while (auto photo = photos.take()) {
        if (!*photo) return;  // The pill. A worker takes one and leaves, so each finds its own.
        ++resized;
      }
    });
  }

  int accepted = 0;
  for (int number = 0; number < photo_count; ++number) {
    if (photos.put(Photo{number})) ++accepted;
  }
  for (int i = 0; i < worker_count; ++i) (void)photos.put(std::nullopt);
  if (photos.put(Photo{photo_count})) ++accepted;  // Too late, but the queue cannot know that.
  workers.clear();                                 // Joins.

  return {accepted, resized, static_cast<int>(photos.drain().size())};
}

// Built in: close() refuses what comes too late, and tells every worker when the last photo is gone.
Report with_close() {
  handoff::BlockingQueue<Photo> photos{{.capacity = 64, .name = "photos"}};
  std::atomic<int> resized = 0;
  std::vector<std::jthread> workers;
  for (int i = 0; i < worker_count; ++i) {
    workers.emplace_back([&] {
      while (auto photo = photos.take()) ++resized;  // Ends with `closed`, once all are taken.
    });
  }

  int accepted = 0;
  for (int number = 0; number < photo_count; ++number) {
    if (photos.put({number})) ++accepted;
  }
  photos.close();
  if (photos.put({photo_count})) ++accepted;  // Refused with `closed`: the sender knows at once.
  workers.clear();                            // Joins.

  return {accepted, resized, static_cast<int>(photos.drain().size())};
}

// A second is more than it needs, so --test has nothing to shorten.
int main() {
  const auto pills = with_pills();
  const auto close = with_close();
  const bool counts_agree = pills.tell("pills") && close.tell("close");
  return counts_agree && pills.handed_back == 1 && close.handed_back == 0 ? 0 : 1;
}
