// The code of docs/guide/who-waits.md. tests/docs/snippets keeps the two equal.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "handoff/log.hpp"
#include "handoff/queue.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/waits.hpp"

namespace {

using namespace std::chrono_literals;
using handoff::testing::eventually;

struct Email {
  int number = 0;
};

void warn(const std::string&) {}

// Says so if somebody has been waiting to add for too long: the consumers do not keep up.
bool producers_are_stuck(handoff::Duration limit) {
  const auto waits = handoff::waits();
  return std::ranges::any_of(waits, [&](const handoff::WaitInfo& wait) {
    return wait.operation == "put" && handoff::now() - wait.since > limit;
  });
}

void print_metrics() {
  for (const auto& [kind, name, stats] : handoff::snapshot()) {
    fmt::print("queue_size{{name=\"{}\"}} {}\n", name, stats.size);
    fmt::print("queue_refused_total{{name=\"{}\"}} {}\n", name, stats.refused);
  }
}

TEST(WhoWaitsGuide, NamesShowInTheTable) {
  handoff::BlockingQueue<Email> emails{{.capacity = 100, .name = "emails"}};
  std::jthread mailer([&] {
    handoff::name_this_thread("mailer 1");
    while (emails.take()) {
    }
  });
  eventually([] { return handoff::waits().size() == 1; });

  const auto waits = handoff::waits();
  EXPECT_EQ(waits[0].thread, "mailer 1");
  EXPECT_EQ(waits[0].operation, "take");
  EXPECT_EQ(waits[0].name, "emails");
  print_metrics();
  emails.close();
}

TEST(WhoWaitsGuide, AWatchdogLooksAtTheWaits) {
  handoff::BlockingQueue<Email> emails{{.capacity = 1, .name = "emails"}};
  ASSERT_TRUE(emails.put({1}));
  EXPECT_FALSE(producers_are_stuck(1ms));

  std::jthread producer([&] { (void)emails.put({2}); });
  eventually([] { return producers_are_stuck(1ms); });
  emails.close();
}

TEST(WhoWaitsGuide, TheLibrarysOwnLinesGoWhereTheProgramWantsThem) {
  auto before =
      handoff::set_log([](std::string_view line) { warn(fmt::format("handoff: {}", line)); });
  handoff::set_log(std::move(before));
}

}  // namespace
