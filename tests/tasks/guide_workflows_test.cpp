// The code of docs/guide/{workflows,exactly-once}.md. tests/docs/snippets keeps the two equal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <chrono>
#include <map>
#include <string>

#include "handoff/tasks/tasks.hpp"
#include "handoff/tasks/worker.hpp"
#include "tasks/stores.hpp"

namespace {

namespace tasks = handoff::tasks;
using namespace std::chrono_literals;
using handoff::tests::Folder;

struct Charge {
  std::string order;
  int cents = 0;
};
BOOST_DESCRIBE_STRUCT(Charge, (), (order, cents))
struct Charged {
  std::string payment;
};
BOOST_DESCRIBE_STRUCT(Charged, (), (payment))
struct Receipt {
  std::string order;
};
BOOST_DESCRIBE_STRUCT(Receipt, (), (order))
struct Ship {
  std::string order;
};
BOOST_DESCRIBE_STRUCT(Ship, (), (order))
struct Closed {
  std::string order;
};
BOOST_DESCRIBE_STRUCT(Closed, (), (order))

class WorkflowsGuide : public ::testing::Test {
 protected:
  const Folder folder;
  const std::string where = "sqlite:" + folder.file("shop.db");
};

TEST_F(WorkflowsGuide, Steps) {
  auto store = tasks::open(where).value();
  tasks::Worker worker{store, {.queues = {{"default", 4}, {"payments", 1}}}};
  std::string receipt_for;

  worker.handle<Charge>([](const Charge& charge, tasks::Context&) -> tasks::Finish {
    return Charged{"payment of " + charge.order};
  });
  worker.handle<Receipt>([&](const Receipt&, tasks::Context& context) {
    auto charged = context.input<Charged>("charge");  // What the step "charge" returned.
    receipt_for = charged.payment;
  });
  worker.handle<Ship>([](const Ship&, tasks::Context&) {});
  worker.handle<Closed>([](const Closed&, tasks::Context&) {});

  tasks::Workflow checkout{"checkout-17"};
  checkout.step("charge", Charge{"17", 4200}, {.task = {.queue = "payments"}})
      .then("receipt", Receipt{"17"})                   // After "charge",
      .step("ship", Ship{"17"}, {.after = {"charge"}})  // and this one beside it.
      .step("close", Closed{"17"}, {.after = {"receipt", "ship"}});

  auto started = store.start(checkout);  // All steps, or none.
  if (!started) FAIL() << started.error().message;
  worker.run_until_idle();

  auto ended = store.wait_workflow(started->id, 1min);
  EXPECT_EQ(ended->state, tasks::TaskState::done);
  EXPECT_EQ(receipt_for, "payment of 17");

  const auto look = store.workflow(started->id);
  for (const tasks::StepLook& each : look->steps) {
    EXPECT_EQ(each.state, tasks::TaskState::done) << each.name;
  }
}

// A saga by hand: the step that undoes another is a task of its own.
TEST_F(WorkflowsGuide, Undoing) {
  auto store = tasks::open(where).value();
  tasks::Worker worker{store, {.queues = {{"default", 1}}}};
  std::vector<std::string> refunded;

  worker.handle<Charge>([](const Charge& charge, tasks::Context&) -> tasks::Finish {
    return Charged{"payment of " + charge.order};
  });
  worker.handle("Refund", [&](const tasks::Json& payload, tasks::Context&) -> tasks::Finish {
    refunded.emplace_back(payload.text());
    return {};
  });

  worker.handle<Ship>([&](const Ship& ship, tasks::Context& context) -> tasks::Finish {
    if (ship.order != "sold out") return {};
    auto charged = context.input<Charged>("charge");
    auto refund = store.enqueue({.kind = "Refund",
                                 .payload = '"' + charged.payment + '"',
                                 .unique_key = "refund " + ship.order,  // Once, if this runs twice,
                                 .unique_for = 24h});                   // also after it is done.
    if (!refund) throw std::runtime_error(refund.error().message);      // Then try again.
    return tasks::Fail{"sold out"};
  });

  tasks::Workflow checkout{"checkout-18"};
  checkout.step("charge", Charge{"sold out", 100}).then("ship", Ship{"sold out"});
  auto started = store.start(checkout);
  worker.run_until_idle();
  EXPECT_EQ(store.workflow(started->id)->state, tasks::TaskState::dead);
  EXPECT_EQ(refunded.size(), 1u);
}

// -- exactly-once.md ------------------------------------------------------------------------------

struct FakePayments {
  std::map<std::string, int> by_key;
  void charge(const std::string& key, int cents) { by_key.emplace(key, cents); }
};

TEST_F(WorkflowsGuide, AKeyForTheOtherSide) {
  auto store = tasks::open(where).value();
  tasks::Worker worker{store, {.queues = {{"default", 1}}}};
  FakePayments payments;

  worker.handle<Charge>([&](const Charge& charge, tasks::Context& context) {
    payments.charge(context.id().to_string(), charge.cents);  // The same key at every attempt.
  });

  auto task = store.enqueue(Charge{"17", 100});
  worker.run_until_idle();
  EXPECT_TRUE(payments.by_key.contains(task->id.to_string()));
}

TEST_F(WorkflowsGuide, AMarkInYourOwnTransaction) {
  auto store = tasks::open(where).value();
  tasks::Worker worker{store, {.queues = {{"default", 1}}}};
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(folder.file("books.db").c_str(), &connection), SQLITE_OK);
  const auto run = [&](const std::string& sql) {
    if (sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
      throw std::runtime_error(sqlite3_errmsg(connection));
    }
    return sqlite3_changes(connection);
  };
  run("create table handled(task text primary key)");
  run("create table account(cents integer); insert into account values(0)");

  worker.handle<Charge>([&](const Charge& charge, tasks::Context& context) {
    run("begin immediate");
    // Who was here before has left a mark.
    if (run("insert or ignore into handled values('" + context.id().to_string() + "')") == 1) {
      run("update account set cents = cents + " + std::to_string(charge.cents));
    }
    run("commit");
  });

  auto task = store.enqueue(Charge{"17", 100});
  worker.run_until_idle();
  ASSERT_TRUE(store.retry(task->id));  // As after a crash between the commit and the outcome.
  worker.run_until_idle();
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(connection, "select cents from account", -1, &statement, nullptr);
  sqlite3_step(statement);
  EXPECT_EQ(sqlite3_column_int(statement, 0), 100);
  sqlite3_finalize(statement);
  sqlite3_close(connection);
}

}  // namespace
