// Actors on real threads, in random topologies: one message at a time, in order, and none is lost, whatever ends them.
#include "handoff/actor.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "handoff/lazy.hpp"
#include "handoff/log.hpp"
#include "handoff/testing/eventually.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using testing::eventually;

class ActorStress : public ::testing::TestWithParam<unsigned> {
 protected:
  ActorStress() : log_before_(set_log([](std::string_view) {})) {}
  ~ActorStress() override { set_log(std::move(log_before_)); }

 private:
  LogSink log_before_;
};

// -- Nets -----------------------------------------------------------------------------------------

constexpr std::size_t nodes = 12;
constexpr std::size_t threads = 3;
constexpr std::size_t senders = nodes + threads;

struct Hop {
  std::uint32_t sender;
  std::uint32_t number;  // The sender's, of all it has sent.
  std::uint32_t left;    // How often it is passed on.
};
struct Seen {
  using Reply = std::uint64_t;
};

struct Totals {
  std::atomic<std::uint64_t> accepted = 0;
  std::atomic<std::uint64_t> handled = 0;
  std::atomic<std::uint64_t> dead = 0;
  std::atomic<std::uint64_t> out_of_order = 0;
  SystemHooks hooks() {
    return {.on_failure = {}, .on_dead_letter = [this](const DeadLetter& letter) {
              if (letter.message.get_if<Hop>() != nullptr) ++dead;
            }};
  }
};

using Node = Address<Hop, Seen>;
struct Net {
  std::array<Node, nodes> all;
  std::array<std::array<std::uint8_t, 2>, nodes> ways;
  Totals totals;
};

// Its state is plain: ThreadSanitizer would see a second thread in it, or one that does not see what the first did.
class State {
 public:
  State(Net* net, std::uint32_t own) : net_(net), own_(own) {}

  void take(const Hop& hop) {
    ++handled_;
    ++net_->totals.handled;
    auto& last = last_[hop.sender];
    if (hop.number <= last) ++net_->totals.out_of_order;
    last = hop.number;
  }
  Hop next(const Hop& hop) { return {.sender = own_, .number = ++sent_, .left = hop.left - 1}; }
  const Node& way(std::size_t i) const { return net_->all[net_->ways[own_][i]]; }
  void count(const std::expected<void, Refusal>& sent) {
    if (sent) ++net_->totals.accepted;
  }
  std::uint64_t handled() const { return handled_; }

 private:
  Net* net_;
  std::uint32_t own_;
  std::uint32_t sent_ = 0;
  std::uint64_t handled_ = 0;
  std::array<std::uint32_t, senders> last_{};
};

// Passes on by plain sends, and asks now and then, as a thread.
class PlainNode : public Actor<PlainNode, Hop, Seen> {
 public:
  PlainNode(Net* net, std::uint32_t own) : state_(net, own) {}
  void on(Hop hop) {
    state_.take(hop);
    for (std::size_t i = 0; i < 2 && hop.left > 0; ++i) {
      state_.count(state_.way(i).send(state_.next(hop)));
    }
    if (hop.number % 64 == 0) static_cast<void>(state_.way(0).ask(Seen{}, 10ms));
  }
  std::uint64_t on(Seen) { return state_.handled(); }

 private:
  State state_;
};

// The same as a coroutine.
class AsyncNode : public Actor<AsyncNode, Hop, Seen> {
 public:
  AsyncNode(Net* net, std::uint32_t own) : state_(net, own) {}
  Lazy<> on(Hop hop) {
    state_.take(hop);
    for (std::size_t i = 0; i < 2 && hop.left > 0; ++i) {
      const auto sent = co_await state_.way(i).async_send(state_.next(hop), within(1s));
      state_.count(sent);
    }
    if (hop.number % 16 == 0) {
      const auto seen = co_await state_.way(1).async_ask(Seen{}, 10ms);
      static_cast<void>(seen);
    }
  }
  std::uint64_t on(Seen) { return state_.handled(); }

 private:
  State state_;
};

void spawn_nodes(ActorSystem& system, Net& net, std::mt19937& draw) {
  for (std::uint32_t i = 0; i < nodes; ++i) {
    for (auto& way : net.ways[i]) way = static_cast<std::uint8_t>(draw() % nodes);
    ActorOptions options;
    options.mailbox = {.capacity = 1 + draw() % 8, .when_full = static_cast<WhenFull>(draw() % 4)};
    options.dedicated_thread = draw() % 8 == 0;
    if (draw() % 2 == 0) {
      net.all[i] = system.spawn<PlainNode>(options, &net, i);
    } else {
      net.all[i] = system.spawn<AsyncNode>(options, &net, i);
    }
  }
}

std::vector<std::jthread> start_senders(Net& net, unsigned seed) {
  std::vector<std::jthread> all;
  for (std::uint32_t t = 0; t < threads; ++t) {
    all.emplace_back([&net, t, seed] {
      std::mt19937 draw(seed + 100 + t);
      for (std::uint32_t number = 1; number <= 100; ++number) {
        const Node& to = net.all[draw() % nodes];
        const Hop hop{.sender = static_cast<std::uint32_t>(nodes) + t, .number = number, .left = 3};
        if (to.send(hop, {.deadline = within(1s), .stop = {}})) ++net.totals.accepted;
        if (number % 32 == 0) static_cast<void>(to.ask(Seen{}, 10ms));
      }
    });
  }
  return all;
}

// Every third is shut down while all is under way; of the others one is stopped.
TEST_P(ActorStress, AllThatIsAcceptedIsHandledOnceInOrderOrAccountedFor) {
  const unsigned seed = GetParam();
  std::mt19937 draw(seed);
  Net net;
  Totals& totals = net.totals;
  std::uint64_t handed_back = 0;
  {
    ActorSystem system{{.workers = 1 + seed % 3, .name = "net"}, totals.hooks()};
    spawn_nodes(system, net, draw);
    const auto end = [&](const Shutdown& how) {
      const auto report = system.shutdown(how);
      EXPECT_TRUE(report.still_alive.empty()) << to_string(report);
      for (const auto& each : report.handed_back) {
        handed_back += each.message.get_if<Hop>() != nullptr ? 1 : 0;
      }
    };
    {
      const auto running = start_senders(net, seed);
      if (seed % 3 == 0) end(interrupt(1min));
      if (seed % 3 == 1) net.all[draw() % nodes].stop();
      static_cast<void>(to_table(system.inspect()));
    }
    end(finish_within(1min));
  }
  EXPECT_EQ(totals.accepted, totals.handled + totals.dead + handed_back);
  EXPECT_EQ(totals.out_of_order, 0U);
}

INSTANTIATE_TEST_SUITE_P(Nets, ActorStress, ::testing::Range(0U, 12U));

// -- Coming and going -----------------------------------------------------------------------------

struct Work {
  int number;
};
struct Told {
  using Reply = int;
};

// Has a child, watches it, has timers, fails now and then.
class Worker : public Actor<Worker, Work, Told> {
 public:
  explicit Worker(int depth) : depth_(depth) {}
  void on_start() {
    static_cast<void>(every(100us, Work{0}));
    if (depth_ == 0) return;
    child_ = spawn<Worker>({.name = "child"}, depth_ - 1);
    watch(child_);
  }
  void on(Work work) {
    ++handled_;
    if (work.number % 16 == 15) throw std::runtime_error("now and then");
    if (child_ && work.number > 0) static_cast<void>(child_.send(Work{work.number - 1}));
  }
  int on(Told) { return told_; }
  void on(const Terminated&) { ++told_; }

 private:
  int depth_;
  int handled_ = 0;
  int told_ = 0;
  ActorRef<Worker> child_;
};

void come_and_go(ActorSystem& system, unsigned seed) {
  std::mt19937 draw(seed);
  for (int i = 0; i < 40; ++i) {
    const auto policy = supervise({.directive = static_cast<Directive>(draw() % 4),
                                   .one_for_all = draw() % 2 == 0,
                                   .backoff = draw() % 2 * 50us});
    const auto worker = system.spawn<Worker>({.children = policy}, static_cast<int>(draw() % 3));
    auto end = system.watch(worker);
    for (int n = 0; n < 8; ++n) static_cast<void>(worker.send(Work{static_cast<int>(draw() % 16)}));
    if (const auto child = system.find<Worker>(worker.path() + "/child")) child->stop();
    static_cast<void>(worker.ask(Told{}, 1ms));
    draw() % 2 == 0 ? worker.stop() : worker.stop_when_drained();
    if (draw() % 4 == 0) static_cast<void>(end.get());
  }
}

TEST(ActorCrowd, ActorsMayComeAndGoUntilTheSystemEnds) {
  auto log = set_log([](std::string_view) {});
  for (unsigned round = 0; round < 4; ++round) {
    ActorSystem system{{.workers = 2, .name = "crowd"}};
    {
      std::vector<std::jthread> all;
      for (unsigned t = 0; t < 3; ++t) {
        all.emplace_back([&system, round, t] { come_and_go(system, 10 * round + t); });
      }
      if (round % 2 == 0) {
        eventually([&] { return system.size() > 3; });
        EXPECT_TRUE(system.shutdown(interrupt(1min)).still_alive.empty());
      }
      for (int i = 0; i < 10; ++i) static_cast<void>(to_table(system.inspect()));
    }
    EXPECT_TRUE(system.shutdown(finish_within(1min)).still_alive.empty());
    EXPECT_EQ(system.size(), 0U);
  }
  set_log(std::move(log));
}

}  // namespace
}  // namespace handoff
