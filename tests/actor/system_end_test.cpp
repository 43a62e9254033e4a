// The end of a system, as its destructor brings it about.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>

#include "handoff/actor.hpp"
#include "handoff/event.hpp"
#include "handoff/pool.hpp"
#include "puppet.hpp"

namespace handoff {
namespace {

using namespace tests;

TEST(ActorSystemEnd, WaitsForTheThreadsOfActorsThatHaveEnded) {
  WorkerPool pool{{.workers = 1, .capacity = 16}};
  Event let_go;
  std::optional<ActorSystem> system(std::in_place, pool);
  auto actor = system->spawn<Puppet>({.dedicated_thread = true});

  // What ends that thread has its turn on the pool, whose only worker is busy.
  Event is_busy;
  ASSERT_TRUE(pool.submit([&] {
    is_busy.set();
    (void)let_go.wait();
  }));
  ASSERT_TRUE(is_busy.wait());
  actor.stop();
  eventually([&] { return system->inspect().empty(); });

  auto ended = std::async(std::launch::async, [&] { system.reset(); });
  let_go.set();
  ended.get();
  const auto report = pool.shutdown(finish_within(10s));
  EXPECT_TRUE(report.is_complete()) << to_string(report);
}

}  // namespace
}  // namespace handoff
