// The code of docs/guide/resource-pools.md.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <string>

#include "handoff/resource_pool.hpp"

namespace {

using namespace std::chrono_literals;

struct Connection {
  int queries = 0;
  bool is_open = true;
  void execute(const std::string&) { ++queries; }
  bool answers() const { return is_open; }
};

Connection connect(const std::string&) { return {}; }

handoff::ResourcePool<Connection> connections{
    {.capacity = 8, .max_idle_time = 10min, .test_after = 30s, .name = "connections"},
    {.make = [] { return connect("db:5432"); },
     .test = [](Connection& connection) { return connection.answers(); }}};

std::string save(std::stop_token stop) {
  auto connection = connections.borrow({.deadline = handoff::within(1s), .stop = stop});
  if (!connection) return std::string(to_string(connection.error()));
  (*connection)->execute("insert ...");
  if (!(*connection)->answers()) connection->discard();  // The next borrower makes a new one.
  return "saved";
}  // Otherwise it is given back here.

TEST(ResourcePoolsGuide, AnObjectIsBorrowedForAScope) {
  std::stop_source stop;
  EXPECT_EQ(save(stop.get_token()), "saved");
  EXPECT_EQ(connections.idle(), 1U);
  stop.request_stop();
  EXPECT_EQ(save(stop.get_token()), "stopped");
}

TEST(ResourcePoolsGuide, WhoHasBorrowedForTooLongIsListed) {
  auto held = connections.borrow();
  for (const auto& lease : connections.leases()) {
    if (handoff::now() - lease.since < 1min) continue;
    fmt::print("{} borrowed a connection at {}:{}\n", lease.thread, lease.where.file_name(),
               lease.where.line());
  }
  EXPECT_EQ(connections.leases().size(), 1U);
}

}  // namespace
