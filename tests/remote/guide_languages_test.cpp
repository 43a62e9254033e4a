// The C++ of docs/guide/languages.md: the report that is there in curl, Node and Python, too. tests/docs/snippets keeps them equal;
// that what is sent and stored is the same as theirs is tested here.
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <string>

#include "handoff/tasks/tasks.hpp"
#include "handoff/tasks/worker.hpp"
#include "handoff/thread.hpp"
#include "remote/served.hpp"

namespace {

namespace tasks = handoff::tasks;
using namespace std::chrono_literals;

struct Monthly {
  static constexpr auto kind = "monthly";
  int month = 0;
};
BOOST_DESCRIBE_STRUCT(Monthly, (), (month))

struct ReportFile {
  std::string file;
};
BOOST_DESCRIBE_STRUCT(ReportFile, (), (file))

void add_to_report(int month, int day) {
  if (month < 1 || month > 12) {
    throw std::out_of_range("there is no month " + std::to_string(month) + ", so no day " +
                            std::to_string(day) + " of it");
  }
}

void tell(const std::string& message) { FAIL() << message; }

class LanguagesGuide : public ::testing::Test {
 protected:
  void work(const std::stop_token& stop) {
    tasks::Tasks store = tasks::open(where).value();

    tasks::Worker worker{store, {.queues = {{"report", 4}}}};

    worker.handle<Monthly>([](const Monthly& wanted, tasks::Context& context) -> tasks::Finish {
      for (int day = 1; day <= 30; ++day) {
        // Cancelled, too late, or the lease is lost.
        if (context.stop().stop_requested()) throw std::runtime_error("interrupted");
        add_to_report(wanted.month, day);
        context.progress(day / 30.0, "day " + std::to_string(day));
      }
      return ReportFile{"2026-" + std::to_string(wanted.month) + ".pdf"};  // Kept with the task.
    });

    // Claims no more, lets handlers finish for 25 s, gives back the rest.
    auto report = worker.run(stop, 25s);

    EXPECT_EQ(report.done, 1u);
    EXPECT_EQ(report.given_back, 0u);
  }

  handoff::tests::Served server;
  const std::string where = server.url();
};

TEST_F(LanguagesGuide, AReportIsHandedInMadeAndWaitedForAsInTheOtherLanguages) {
  const int month = 11;
  std::stop_source stop;

  auto store = tasks::open(where);  // A server: HANDOFF_TOKEN, if there are tokens
  if (!store) return tell(store.error().message);

  auto made = store->enqueue(Monthly{month}, {.queue = "report"});
  if (!made) return tell(made.error().message);

  EXPECT_EQ(server.store().get(made->id)->queue, "report");
  EXPECT_EQ(server.store().get(made->id)->kind, "monthly");
  EXPECT_EQ(server.store().get(made->id)->payload, R"({"month":11})");
  handoff::Thread worker([&] { work(stop.get_token()); });

  auto task = store->wait(made->id, 5min);  // Until it is done, dead or cancelled.
  if (!task || !task->result) return tell("no report");
  auto report = tasks::from_json<ReportFile>(*task->result);

  stop.request_stop();
  worker.join();
  EXPECT_EQ(report->file, "2026-11.pdf");
  EXPECT_EQ(server.store().get(made->id)->result, R"({"file":"2026-11.pdf"})");
}

TEST_F(LanguagesGuide, AReportThatAnotherLanguageHandedInIsMadeToo) {
  const auto made =
      server.store()
          .enqueue({.queue = "report", .kind = "monthly", .payload = R"({"month": 3})"})
          .value();
  std::stop_source stop;
  handoff::Thread worker([&] { work(stop.get_token()); });
  const auto task = server.store().wait(made.id, 1min);
  stop.request_stop();
  worker.join();
  EXPECT_EQ(task->result, R"({"file":"2026-3.pdf"})");
}

}  // namespace
