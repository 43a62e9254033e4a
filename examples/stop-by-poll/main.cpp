// Stops a worker that has something to do even when nothing comes: it polls with a timeout, and looks at a flag
// each time. See README.md.
#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/queue.hpp"
#include "handoff/waits.hpp"

using namespace std::chrono_literals;

constexpr std::size_t batch_size = 100;

// Collects log lines and writes them in batches: when a batch is full, or when nothing came for 50 ms.
struct Writer {
  std::vector<std::string> batch;
  int written = 0;
  int batches = 0;

  void add(std::string line) {
    batch.push_back(std::move(line));
    if (batch.size() == batch_size) flush();
  }
  void flush() {
    if (batch.empty()) return;
    written += static_cast<int>(batch.size());  // A real one would call write() here.
    ++batches;
    batch.clear();
  }
};

int main(int count, char** values) {
  const bool test = count > 1 && std::string_view(values[1]) == "--test";

  handoff::BlockingQueue<std::string> lines{{.capacity = 10'000, .name = "log lines"}};
  std::atomic<bool> shutting_down = false;
  Writer writer;
  std::jthread thread([&] {
    handoff::name_this_thread("log writer");
    while (!shutting_down) {
      if (auto line = lines.poll(50ms)) {
        writer.add(std::move(*line));
      } else {
        writer.flush();  // Timed out: it is quiet, so nobody should wait for a full batch.
      }
    }
    writer.flush();
  });

  int accepted = 0;
  handoff::Event never;
  const auto end = handoff::within(test ? 200ms : 2s);
  while (!end.has_passed() || lines.stats().takes == 0) {  // Something is to be written, too.
    for (int i = 0; i < 70; ++i) {
      if (lines.put(fmt::format("request {} served", accepted))) ++accepted;
    }
    (void)never.wait({.deadline = handoff::within(20ms)});  // Until the next requests come.
  }

  shutting_down = true;  // Seen after the line in hand, or when the poll times out: 50 ms at most.
  thread.join();

  lines.close();
  const auto handed_back = static_cast<int>(lines.drain().size());
  const bool nothing_lost = accepted == writer.written + handed_back;
  fmt::print("{} accepted = {} written in {} batches + {} handed back: {}\n", accepted,
             writer.written, writer.batches, handed_back,
             nothing_lost ? "nothing was lost" : "THE COUNTS DO NOT AGREE");
  return nothing_lost && writer.written > 0 ? 0 : 1;
}
