// Does a claim take longer when there are many tasks in the file, or limits on the queue?
//
// Stores that differ in one thing take turns in one process, a claim of 100 each: what differs is microseconds. Nine of ten tasks are finished, the others are ready.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../support/arguments.hpp"
#include "../support/json_line.hpp"
#include "../support/percentile.hpp"
#include "../support/report_errors.hpp"
#include "../support/tasks/disk_folder.hpp"
#include "../support/tasks/payload.hpp"
#include "tasks/stores/sqlite/sqlite_store.hpp"

namespace {

using namespace handoff::tasks;

constexpr int batch = 100;
constexpr std::uint64_t groups = 100;

class Queue {
 public:
  Queue(const std::string& path, const QueueSettings& limits, bool has_groups)
      : store_({.path = path}), has_groups_(has_groups) {
    QueueSettings settings = limits;
    settings.capacity = 1'000'000'000;
    settings.capacity_bytes = std::int64_t{1} << 40;
    settings.keep_count = 1'000'000'000;
    store_.transact([&](Transaction& each) { each.configure("mail", settings); });
  }

  void add(std::uint64_t count) {
    for (std::uint64_t made = 0; made < count;) {
      std::vector<NewTask> some;
      for (; made < count && some.size() < 1000; ++made) {
        some.push_back({.queue = "mail", .kind = "welcome", .payload = bench::task_payload});
        if (has_groups_) some.back().group = "group " + std::to_string(made % groups);
      }
      store_.transact([&](Transaction& each) {
        if (auto done = each.insert(some); !done) {
          throw std::runtime_error(done.error().message);
        }
      });
    }
  }
  // Microseconds of one claim, with its commit. What was claimed before is finished.
  double claim() { return measure(batch); }
  void finish(std::uint64_t count) {
    for (std::uint64_t done = 0; done < count; done += 1000) measure(1000);
    finish_last();
  }

 private:
  double measure(int most) {
    finish_last();
    const auto began = std::chrono::steady_clock::now();
    store_.transact([&](Transaction& each) {
      claimed_ =
          each.claim({.queue = "mail", .most = most, .lease_for = {}, .worker = "bench"}).tasks;
    });
    const auto ended = std::chrono::steady_clock::now();
    if (std::ssize(claimed_) != most) {
      throw std::runtime_error("claimed only " + std::to_string(claimed_.size()));
    }
    return std::chrono::duration<double, std::micro>(ended - began).count();
  }
  void finish_last() {
    std::vector<Outcome> outcomes;
    for (const Claimed& each : claimed_) {
      outcomes.push_back({.id = each.id, .lease = each.lease, .text = "null"});
    }
    claimed_.clear();
    store_.transact([&](Transaction& each) { each.finish(outcomes); });
  }

  sqlite::SqliteStore store_;
  const bool has_groups_;
  std::vector<Claimed> claimed_;
};

void take_turns(Queue& first, Queue& second, std::uint64_t claims, const std::string& names) {
  std::vector<double> first_us;
  std::vector<double> second_us;
  for (std::uint64_t i = 0; i < claims; ++i) {
    first_us.push_back(first.claim());
    second_us.push_back(second.claim());
  }
  const double before = bench::percentile(first_us, 50);
  const double after = bench::percentile(second_us, 50);
  bench::JsonLine line{"this commit"};
  line.add(names + "_before_us", before);
  line.add(names + "_after_us", after);
  line.add(names + "_ratio", after / before);
  line.print();
}

void compare_depth(const bench::DiskFolder& folder, std::uint64_t tasks, std::uint64_t claims) {
  constexpr std::uint64_t few = 10'000;
  Queue shallow{folder.file("few.db"), {}, false};
  Queue deep{folder.file("many.db"), {}, false};
  for (const auto& [queue, count] : {std::pair(&shallow, few), std::pair(&deep, tasks)}) {
    queue->add(count);
    queue->finish(count / 10 * 9 / 1000 * 1000);
    queue->add(claims * batch);  // Those that are claimed: it stays as deep as it is.
  }
  take_turns(shallow, deep, claims, "depth");
}

void compare_limits(const bench::DiskFolder& folder, std::uint64_t claims) {
  QueueSettings limits;
  limits.rate = 10'000'000;
  limits.burst = 10'000'000;
  limits.concurrency = 1000;
  limits.group_concurrency = 10;
  Queue unlimited{folder.file("unlimited.db"), {}, true};
  Queue limited{folder.file("limited.db"), limits, true};
  unlimited.add(claims * batch);
  limited.add(claims * batch);
  take_turns(unlimited, limited, claims, "limits");
}

}  // namespace

int main(int argc, char** argv) {
  return bench::report_errors([&] {
    const bench::Arguments arguments{argc, argv};
    const std::uint64_t claims = arguments.number("claims", 200);
    const bench::DiskFolder folder;
    if (arguments.number("limits", 2) == 1) {
      compare_limits(folder, claims);
    } else {
      compare_depth(folder, arguments.number("tasks", 1'000'000), claims);
    }
  });
}
