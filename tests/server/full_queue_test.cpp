// When to come back to a queue that was full.
#include "server/api/full_queue.hpp"

#include "server/api_fixture.hpp"

namespace handoff::tests {
namespace {

server::Meters::Look done(std::uint64_t tasks, double span) {
  server::Meters::Look look;
  look.last_minute.done = tasks;
  look.span = span;
  return look;
}

TEST(UntilRoom, IsAsLongAsTheQueueTakesForSoManyTasks) {
  EXPECT_EQ(server::until_room(10, done(120, 60)), 5s);
  EXPECT_EQ(server::until_room(11, done(120, 60)), 6s);
  EXPECT_EQ(server::until_room(11, done(4, 2)), 6s) << "of a server that has just begun";
}

TEST(UntilRoom, IsASecondAtLeastAndAMinuteAtMost) {
  EXPECT_EQ(server::until_room(1, done(600'000, 60)), 1s);
  EXPECT_EQ(server::until_room(10'000, done(1, 60)), 60s);
}

TEST(UntilRoom, IsFiveSecondsWhereNothingWasDone) {
  EXPECT_EQ(server::until_room(1, done(0, 60)), 5s);
  EXPECT_EQ(server::until_room(10'000, done(0, 60)), 5s);
}

class FullQueues : public ApiTest {
 protected:
  // A batch to "small", which has room for 40 tasks and is full.
  std::string again_in(int number) {
    std::string batch;
    for (int i = 0; i < number; ++i) {
      batch += fmt::format(R"({}{{"queue":"small","kind":"k"}})", i == 0 ? "" : ",");
    }
    return post("/v1/tasks/batch", "[" + batch + "]").answer.header("retry-after");
  }
  void fill() {
    while (tasks.enqueue({.queue = "small", .kind = "k"})) continue;
  }
  void SetUp() override {
    ASSERT_EQ(put("/v1/queues/small", R"({"capacity":40})").status, 200);
    fill();
  }
};

TEST_F(FullQueues, OfWhichNothingWasDoneSayFiveSeconds) {
  EXPECT_EQ(again_in(1), "5");
  EXPECT_EQ(again_in(40), "5");
}

TEST_F(FullQueues, SayHowLongTheyTakeWhateverTheWay) {
  const Reply claimed = claim("small", R"(,"max":2)");
  for (const auto* const which : {"0", "1"}) {
    const std::string task = fmt::format("tasks.{}.", which);
    ASSERT_EQ(post(fmt::format("/v1/tasks/{}/done", claimed.at(task + "id")),
                   fmt::format(R"({{"lease":"{}"}})", claimed.at(task + "lease")))
                  .status,
              200);
  }
  fill();
  const std::string task = R"({"queue":"small","kind":"k"})";
  const std::string steps = R"({"steps":[{"name":"a","task":)" + task + "}]}";
  // Two since the server began, or in the last minute: one takes half that time.
  const auto expect_about = [](const std::string& seconds, int least) {
    EXPECT_GE(std::atoi(seconds.c_str()), least);
    EXPECT_LE(std::atoi(seconds.c_str()), 60);
  };
  expect_about(again_in(1), 1);
  expect_about(again_in(40), 20);
  expect_about(post("/v1/tasks", task).answer.header("retry-after"), 1);
  expect_about(post("/v1/workflows", steps).answer.header("retry-after"), 1);
  EXPECT_NE(again_in(40), again_in(1));
}

}  // namespace
}  // namespace handoff::tests
