// What the workers of a pool share.
#include <array>
#include <memory>

#include "handoff/detail/pool/job_ring.hpp"
#include "handoff/detail/pool/join_deque.hpp"
#include "handoff/detail/pool/ready_list.hpp"
#include "weak_memory/kernel.hpp"

namespace handoff::weak_memory {
namespace {

using detail::JoinTask;

// An owner that pushes and pops, two thieves: each task is done once, by one who sees what was put into it.
struct JoinDequeKernel : Kernel<JoinDequeKernel, 3> {
  struct Task {
    Plain<int> input;
    Plain<int> runs;
  };
  std::unique_ptr<detail::JoinDeque> deque = std::make_unique<detail::JoinDeque>();
  std::array<Task, 3> tasks;

  // The deque knows addresses only.
  static JoinTask& as_join(Task& task) { return reinterpret_cast<JoinTask&>(task); }
  static void run(Task& task) {
    check(task.input.read() == 5);
    task.runs.add(1);
  }

  void push(Task& task) {
    task.input.write(5);
    check(deque->push(as_join(task)));
  }
  void pop(Task& task) {
    if (deque->pop()) run(task);
  }
  void work(unsigned index) {
    if (index == 0) {
      push(tasks[0]);
      push(tasks[1]);
      pop(tasks[1]);
      push(tasks[2]);
      pop(tasks[2]);
      pop(tasks[0]);
    } else {
      for (int i = 0; i < 2; ++i) {
        if (auto* const stolen = deque->steal()) run(reinterpret_cast<Task&>(*stolen));
      }
    }
  }
  void after() {
    check(deque->is_empty());
    for (Task& task : tasks) check(task.runs.read() == 1);
  }
};
const Added join_deque = add<JoinDequeKernel>("JoinDeque");

// Who forks looks for sleepers after it; who is about to sleep says so and then looks. One of them sees the other.
struct JoinDequeSleepKernel : Kernel<JoinDequeSleepKernel, 2> {
  std::unique_ptr<detail::JoinDeque> deque = std::make_unique<detail::JoinDeque>();
  detail::atomic<bool> sleeps{false};
  Plain<int> task;
  Plain<bool> saw_sleeper;
  Plain<bool> saw_task;

  void work(unsigned index) {
    if (index == 0) {
      check(deque->push(reinterpret_cast<JoinTask&>(task)));
      saw_sleeper.write(sleeps.load());
    } else {
      sleeps.store(true);
      saw_task.write(!deque->is_empty());
    }
  }
  void after() { check(saw_sleeper.read() || saw_task.read()); }
};
const Added join_deque_sleep = add<JoinDequeSleepKernel>("JoinDeque.sleep");

// Three jobs through two places: the owner must not fill a place before its job is out.
struct JobRingKernel : Kernel<JobRingKernel, 3> {
  Places places;
  std::unique_ptr<detail::JobRing<2>> ring = std::make_unique<detail::JobRing<2>>();
  std::array<Plain<int>, 4> runs;

  bool add(int number) {
    Job* const place = ring->place();
    if (place == nullptr) return false;
    *place = Job([this, item = Item(places, number)] {
      runs[static_cast<std::size_t>(item.value())].add(1);
    });
    ring->publish(1);
    return true;
  }
  bool take() {
    Job job;
    if (!ring->take(job)) return false;
    job();
    return true;
  }
  void work(unsigned index) {
    if (index == 0) {
      for (int i = 0; i < 4; ++i) {
        if (!add(i)) run_here(i);
      }
    } else {
      take();
      take();
    }
  }
  void run_here(int number) { runs[static_cast<std::size_t>(number)].add(1); }
  void after() {
    while (take()) {
    }
    check(ring->is_empty() && ring->size() == 0);
    for (auto& each : runs) check(each.read() == 1);
  }
};
const Added job_ring = add<JobRingKernel>("JobRing");

struct JobRingSleepKernel : Kernel<JobRingSleepKernel, 2> {
  std::unique_ptr<detail::JobRing<2>> ring = std::make_unique<detail::JobRing<2>>();
  detail::atomic<bool> sleeps{false};
  Plain<bool> saw_sleeper;
  Plain<bool> saw_job;

  void work(unsigned index) {
    if (index == 0) {
      *ring->place() = Job([] {});
      ring->publish(1);
      saw_sleeper.write(sleeps.load());
    } else {
      sleeps.store(true);
      saw_job.write(!ring->is_empty());
    }
  }
  void after() { check(saw_sleeper.read() || saw_job.read()); }
};
const Added job_ring_sleep = add<JobRingSleepKernel>("JobRing.sleep");

struct ReadyListKernel : Kernel<ReadyListKernel, 3> {
  struct Ready : detail::Runnable {
    Ready() : Runnable([](Runnable&) {}) {}
    Plain<int> input;
  };
  std::array<Ready, 3> ready;
  detail::ReadyList list;
  detail::ReadyList other;
  std::array<int, 2> taken{};

  void push(Ready& one) {
    one.input.write(1);
    list.push(one);
  }
  int take(detail::Runnable* one) {
    if (one == nullptr) return 0;
    auto& input = static_cast<Ready*>(one)->input;
    check(input.read() == 1);
    input.write(2);
    return 1;
  }
  void work(unsigned index) {
    if (index == 0) {
      for (Ready& one : ready) push(one);
    } else if (index == 1) {
      taken[0] += take(list.take());
      taken[0] += take(list.take());
    } else {
      taken[1] += take(list.take_half(other, 2));
      taken[1] += take(other.take());
    }
  }
  void after() {
    int left = 0;
    while (take(list.take()) == 1) ++left;
    check(taken[0] + taken[1] + left == 3);
  }
};
const Added ready_list = add<ReadyListKernel>("ReadyList");

struct ReadyListSleepKernel : Kernel<ReadyListSleepKernel, 2> {
  detail::Runnable ready{[](detail::Runnable&) {}};
  detail::ReadyList list;
  detail::atomic<bool> sleeps{false};
  Plain<bool> saw_sleeper;
  Plain<bool> saw_one;

  void work(unsigned index) {
    if (index == 0) {
      list.push(ready);
      saw_sleeper.write(sleeps.load());
    } else {
      sleeps.store(true);
      saw_one.write(!list.is_empty());
    }
  }
  void after() { check(saw_sleeper.read() || saw_one.read()); }
};
const Added ready_list_sleep = add<ReadyListSleepKernel>("ReadyList.sleep");

}  // namespace
}  // namespace handoff::weak_memory
