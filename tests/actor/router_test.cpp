#include "handoff/router.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/testing/eventually.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using ::testing::Each;
using ::testing::ElementsAre;

struct Parcel {
  int customer = 0;
  int route_key() const { return customer; }
};
struct Seen {
  using Reply = std::vector<int>;
};
struct Hold {
  std::shared_ptr<Event> until;
};
struct Notice {
  std::shared_ptr<int> text;  // Whoever reads the same copy sees the same address.
};
struct Copies {
  using Reply = std::vector<const Notice*>;
};

class Clerk : public Actor<Clerk, Parcel, Seen, Hold, Notice, Copies> {
 public:
  void on(Parcel parcel) { seen_.push_back(parcel.customer); }
  std::vector<int> on(Seen) { return seen_; }
  void on(const Hold& hold) { static_cast<void>(hold.until->wait()); }
  void on(const Notice& notice) { copies_.push_back(&notice); }
  std::vector<const Notice*> on(Copies) { return copies_; }

 private:
  std::vector<int> seen_;
  std::vector<const Notice*> copies_;
};

std::vector<std::vector<int>> seen_by_each(const Router<Clerk>& router) {
  std::vector<std::vector<int>> all;
  for (const auto& each : router.actors()) all.push_back(each.ask(Seen{}, 1min).value());
  return all;
}

struct ActorRouter : ::testing::Test {
  Router<Clerk> clerks(std::size_t size, Route route, ActorOptions options = {}) {
    return spawn_router<Clerk>(system, {.size = size, .route = route}, options);
  }
  ActorSystem system{{.workers = 2}};
};

TEST_F(ActorRouter, RoundRobinGoesFromOneToTheNext) {
  const auto router = clerks(3, Route::round_robin);
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(router.send(Parcel{i}));
  EXPECT_THAT(seen_by_each(router),
              ElementsAre(ElementsAre(0, 3), ElementsAre(1, 4), ElementsAre(2, 5)));
}

TEST_F(ActorRouter, CopiesOfARouterShareItsTurn) {
  const auto router = clerks(2, Route::round_robin);
  const auto copy = router;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE((i % 2 == 0 ? router : copy).send(Parcel{i}));
  EXPECT_THAT(seen_by_each(router), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
}

TEST_F(ActorRouter, LeastLoadedPassesOverOneThatHasMuchToDo) {
  const auto router = clerks(2, Route::least_loaded);
  const auto free = std::make_shared<Event>();
  ASSERT_TRUE(router.actors()[0].send(Hold{free}));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(router.actors()[0].send(Parcel{0}));  // Wait behind it.
  for (int i = 1; i <= 4; ++i) {
    ASSERT_TRUE(router.send(Parcel{i}));
    ASSERT_TRUE(router.actors()[1].ask(Seen{}, 1min));  // It has handled it, and has nothing to do.
  }
  free->set();
  EXPECT_THAT(router.actors()[1].ask(Seen{}, 1min).value(), ElementsAre(1, 2, 3, 4));
}

TEST_F(ActorRouter, MessagesOfOneKeyGoToTheSameOne) {
  const auto router = clerks(4, Route::by_key);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(router.send(Parcel{i % 10}));
  std::vector<int> homes(10, 0);
  for (const auto& each : seen_by_each(router)) {
    std::vector<int> here(10, 0);
    for (const int customer : each) ++here[static_cast<std::size_t>(customer)];
    for (std::size_t customer = 0; customer < here.size(); ++customer) {
      if (here[customer] == 0) continue;
      EXPECT_EQ(here[customer], 10) << "all of customer " << customer;
      ++homes[customer];
    }
  }
  EXPECT_THAT(homes, Each(1));
}

TEST_F(ActorRouter, AMessageWithoutAKeyCannotBeRoutedByKey) {
  const auto router = clerks(2, Route::by_key);
  EXPECT_THROW(static_cast<void>(router.ask(Seen{}, 1min)), std::logic_error);
}

TEST_F(ActorRouter, ABroadcastReachesAllWithOneCopy) {
  const auto router = clerks(3, Route::round_robin);
  EXPECT_EQ(router.broadcast(Notice{std::make_shared<int>(7)}), 3U);
  std::vector<const Notice*> copies;
  for (const auto& each : router.actors()) {
    const auto seen = each.ask(Copies{}, 1min).value();
    ASSERT_EQ(seen.size(), 1U);
    copies.push_back(seen[0]);
  }
  EXPECT_THAT(copies, Each(copies[0]));
}

TEST_F(ActorRouter, TheCopyOfABroadcastIsGoneAfterTheLastHasHandledIt) {
  const auto router = clerks(3, Route::broadcast);
  auto text = std::make_shared<int>(7);
  EXPECT_TRUE(router.send(Notice{text}));
  for (const auto& each : router.actors()) ASSERT_TRUE(each.ask(Seen{}, 1min));
  const auto report = system.shutdown(finish_within(1min));
  EXPECT_TRUE(report.is_complete()) << to_string(report);
  EXPECT_EQ(text.use_count(), 1);
}

TEST_F(ActorRouter, ABroadcastCountsThoseWhoHaveAccepted) {
  const auto router =
      clerks(3, Route::round_robin,
             {.mailbox = {.capacity = 1, .when_full = WhenFull::reject}, .name = "clerks"});
  const auto free = std::make_shared<Event>();
  const auto& busy = router.actors()[1];
  ASSERT_TRUE(busy.send(Hold{free}));
  // There is room for one behind it once it is at work, and for no other.
  handoff::testing::eventually([&] { return busy.send(Parcel{1}).has_value(); });
  EXPECT_EQ(router.broadcast(Notice{}), 2U);
  free->set();
}

TEST_F(ActorRouter, OneThatHasStoppedIsPassedOver) {
  const auto router = clerks(2, Route::round_robin);
  auto ended = system.watch(router.actors()[0]);
  router.actors()[0].stop();
  ASSERT_TRUE(ended.get());
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(router.send(Parcel{i}));
  EXPECT_THAT(router.actors()[1].ask(Seen{}, 1min).value(), ElementsAre(0, 1, 2, 3));
}

TEST_F(ActorRouter, IsClosedOnceAllHaveStopped) {
  const auto router = clerks(2, Route::round_robin);
  router.stop_when_drained();
  Parcel parcel{1};
  EXPECT_EQ(router.send(std::move(parcel)), std::unexpected(Refusal::closed));
}

TEST_F(ActorRouter, ItsActorsAreNamedByNumber) {
  const auto router = clerks(2, Route::round_robin, {.name = "clerks"});
  const auto second = system.find<Clerk>("clerks/2");
  ASSERT_TRUE(second);
  EXPECT_EQ(*second, router.actors()[1]);
}

TEST_F(ActorRouter, NeedsAtLeastOneActor) {
  EXPECT_THROW(clerks(0, Route::round_robin), std::invalid_argument);
  EXPECT_THROW(clerks(4097, Route::round_robin), std::invalid_argument);
  EXPECT_THROW(Router<Clerk>({}, Route::round_robin), std::invalid_argument);
}

}  // namespace
}  // namespace handoff
