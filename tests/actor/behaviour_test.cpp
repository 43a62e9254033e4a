// Actors from functions, states that an actor becomes, and messages that come first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "desk.hpp"
#include "handoff/actor.hpp"

namespace handoff::tests {
namespace {

using ::testing::ElementsAre;

// -- Functions ------------------------------------------------------------------------------------

struct Add {
  using Reply = int;
  int number;
};

TEST(FunctionActors, KeepTheirStateInTheFunction) {
  ActorSystem system{{.workers = 1}};
  const auto total = system.spawn([sum = 0](Add add) mutable { return sum += add.number; });
  EXPECT_EQ(total.ask(Add{3}, long_enough), 3);
  EXPECT_TRUE(total.send(Add{10}));
  EXPECT_EQ(total.ask(Add{4}, long_enough), 17);
}

TEST(FunctionActors, TakeMessagesByReferenceAndMayPromiseNotToThrow) {
  ActorSystem system{{.workers = 1}};
  const auto same = system.spawn([](const Add& add) noexcept { return add.number; });
  const auto next = system.spawn([](Add&& add) { return add.number + 1; }, {.name = "next"});
  EXPECT_EQ(same.ask(Add{3}, long_enough), 3);
  EXPECT_EQ(next.ask(Add{3}, long_enough), 4);
  EXPECT_EQ(next.path(), "next");
}

TEST(FunctionActors, MayBeCoroutinesWhoseMessageLivesAsLongAsTheyDo) {
  struct Text {
    using Reply = std::string;
    std::string text;
  };
  ActorSystem system{{.workers = 1}};
  const auto gate = std::make_shared<Gate>();
  const auto echo = system.spawn([gate](const Text& given) -> Lazy<std::string> {
    co_await gate->async_pass();
    co_return given.text;
  });
  gate->open();
  const std::string text = "a text that is too long to lie in the string itself";
  EXPECT_EQ(echo.ask(Text{text}, long_enough), text);
}

TEST(FunctionActors, BeginAnewWhenTheyAreRestarted) {
  ActorSystem system{{.workers = 1}};
  const auto total = system.spawn([sum = 0](Add add) mutable {
    if (add.number < 0) throw std::runtime_error("negative");
    return sum += add.number;
  });
  EXPECT_EQ(total.ask(Add{3}, long_enough), 3);
  EXPECT_EQ(total.ask(Add{-1}, long_enough).error(), AskError::Code::failed);
  EXPECT_EQ(total.ask(Add{4}, long_enough), 4);
}

// -- States ---------------------------------------------------------------------------------------

struct Login {
  using Reply = std::string;
  std::string name;
};
struct Say {
  using Reply = std::string;
  std::string text;
};
struct Logout {};
struct WhoAmI {
  using Reply = std::string;
};

class Session;
struct LoggingIn {
  Session* session;
  std::string on(Login login);
};
struct Chatting {
  Session* session;
  std::string name;
  std::string on(const Say& say) { return name + ": " + say.text; }
  std::string on(WhoAmI) { return name; }
  void on(Logout);
};

// Say and Login are handled in a state only.
class Session : public Actor<Session, Login, Say, Logout, WhoAmI> {
 public:
  using States = std::tuple<LoggingIn, Chatting>;
  Session() { become(LoggingIn{this}); }
  std::string on(WhoAmI) { return "nobody"; }
  void on(Logout) {}
  void logged_in(std::string name) { become(Chatting{this, std::move(name)}); }
  void logged_out() { become(LoggingIn{this}); }
};

std::string LoggingIn::on(Login login) {
  session->logged_in(login.name);
  return "welcome " + login.name;
}
void Chatting::on(Logout) { session->logged_out(); }

struct Sessions : ::testing::Test {
  Seen<std::string> letters;
  ActorSystem system{{.workers = 1}, {.on_dead_letter = [this](const DeadLetter& letter) {
                       const Say* const say = letter.message.get_if<Say>();
                       letters.add((say == nullptr ? "another" : say->text) + " to " +
                                   letter.actor + ": " + std::string(letter.reason));
                     }}};
  const ActorRef<Session> session = system.spawn<Session>({.name = "session"});
};

TEST_F(Sessions, HandleByTheirStateFirst) {
  EXPECT_EQ(session.ask(WhoAmI{}, long_enough), "nobody");
  EXPECT_EQ(session.ask(Login{"bob"}, long_enough), "welcome bob");
  EXPECT_EQ(session.ask(Say{"hello"}, long_enough), "bob: hello");
  EXPECT_EQ(session.ask(WhoAmI{}, long_enough), "bob");
  EXPECT_TRUE(session.send(Logout{}));
  EXPECT_EQ(session.ask(WhoAmI{}, long_enough), "nobody");
  EXPECT_EQ(letters.size(), 0u);
}

TEST_F(Sessions, MakeDeadLettersOfWhatNeitherTheStateNorTheActorHandles) {
  EXPECT_TRUE(session.send(Say{"too early"}));
  EXPECT_EQ(session.ask(Say{"asked"}, long_enough).error(), AskError::Code::unanswered);
  EXPECT_THAT(letters.all(), ElementsAre("too early to session: not handled in this state",
                                         "asked to session: not handled in this state"));
  EXPECT_EQ(system.dead_letter_count(), 2u);
  EXPECT_EQ(system.dead_letters()[0].type, "Say");
}

struct Change {
  int times;
};
struct Look {
  using Reply = int;
};
class Chameleon;
struct Colour {
  Chameleon* owner;
  std::shared_ptr<int> number;  // Memory of its own: AddressSanitizer would tell if it is gone.
  int on(Look) { return *number; }
  void on(Change change);
};
class Chameleon : public Actor<Chameleon, Change, Look> {
 public:
  using States = std::tuple<Colour>;
  Chameleon() { next(); }
  void next() { become(Colour{this, std::make_shared<int>(++last_)}); }

 private:
  int last_ = 0;
};
void Colour::on(Change change) {
  for (int i = 0; i < change.times; ++i) owner->next();
  EXPECT_GT(*number, 0);  // The state whose handler this is lives on.
}

TEST(States, MayChangeManyTimesInOneHandler) {
  ActorSystem system{{.workers = 1}};
  const auto chameleon = system.spawn<Chameleon>();
  ASSERT_TRUE(chameleon.send(Change{10}));
  EXPECT_EQ(chameleon.ask(Look{}, long_enough), 11);
  ASSERT_TRUE(chameleon.send(Change{1}));
  EXPECT_EQ(chameleon.ask(Look{}, long_enough), 12);
}

struct Nap {
  std::shared_ptr<Gate> gate;
};
class Sleeper;
struct Asleep {
  Sleeper* owner;
  std::shared_ptr<Seen<int>> seen;
  int number;
  Lazy<> on(Nap nap) {
    co_await nap.gate->async_pass();
    seen->add(number);
  }
};
class Sleeper : public Actor<Sleeper, Nap, Note> {
 public:
  static constexpr bool reentrant = true;
  using States = std::tuple<Asleep>;
  explicit Sleeper(std::shared_ptr<Seen<int>> seen) : seen_(std::move(seen)) { become_next(0); }
  void on(Note note) { become_next(note.number); }

 private:
  void become_next(int number) { become(Asleep{this, seen_, number}); }
  const std::shared_ptr<Seen<int>> seen_;
};

TEST(States, LiveAsLongAsTheirCoroutines) {
  ActorSystem system{{.workers = 1}};
  const auto seen = std::make_shared<Seen<int>>();
  const auto gate = std::make_shared<Gate>();
  const auto sleeper = system.spawn<Sleeper>({}, seen);
  ASSERT_TRUE(sleeper.send(Nap{gate}));
  gate->await_somebody();
  for (int i = 1; i <= 10; ++i) ASSERT_TRUE(sleeper.send(Note{i}));
  const auto last = std::make_shared<Gate>();
  ASSERT_TRUE(sleeper.send(Nap{last}));
  last->await_somebody();
  gate->open();
  eventually([&] { return seen->size() == 1; });
  last->open();
  eventually([&] { return seen->size() == 2; });
  EXPECT_THAT(seen->all(), ElementsAre(0, 10));
}

// -- Priorities -----------------------------------------------------------------------------------

struct Alarm {
  static constexpr int priority = 10;
  int number;
};
struct Chore {
  static constexpr int priority = -1;
  int number;
};
struct Gone {
  using Reply = void;
  static constexpr int priority = -2;
};

class Ward : public Actor<Ward, Hold, Chore, Note, Alarm, Gone> {
 public:
  explicit Ward(std::shared_ptr<Seen<int>> seen) : seen_(std::move(seen)) {}
  void on(Hold hold) { hold.gate->pass(); }
  void on(Chore chore) { seen_->add(chore.number); }
  void on(Note note) { seen_->add(note.number); }
  void on(Alarm alarm) { seen_->add(alarm.number); }
  void on(Gone) {}

 private:
  const std::shared_ptr<Seen<int>> seen_;
};

struct Priorities : ::testing::Test {
  const std::shared_ptr<Seen<int>> seen = std::make_shared<Seen<int>>();
  const std::shared_ptr<Gate> gate = std::make_shared<Gate>();
  ActorSystem system{{.workers = 2}};

  ActorRef<Ward> held(const MailboxOptions& mailbox = {}) {
    auto ward = system.spawn<Ward>({.mailbox = mailbox}, seen);
    EXPECT_TRUE(ward.send(Hold{gate}));
    gate->await_somebody();
    return ward;
  }
  std::vector<int> handled(const ActorRef<Ward>& ward) {
    gate->open();
    eventually([&] { return system.inspect()[0].mailbox == 0; });
    EXPECT_TRUE(ward.ask(Gone{}, long_enough));
    return seen->all();
  }
};

TEST_F(Priorities, ComeFirstAndAreInOrderAmongThemselves) {
  const auto ward = held();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(ward.send(Chore{30 + i}));
    ASSERT_TRUE(ward.send(Note{20 + i}));
    ASSERT_TRUE(ward.send(Alarm{10 + i}));
  }
  EXPECT_THAT(handled(ward), ElementsAre(10, 11, 12, 20, 21, 22, 30, 31, 32));
}

TEST_F(Priorities, ShareTheRoomOfTheMailbox) {
  const auto ward = held({.capacity = 3, .when_full = WhenFull::reject});
  EXPECT_TRUE(ward.send(Chore{3}));
  EXPECT_TRUE(ward.send(Note{2}));
  EXPECT_TRUE(ward.send(Alarm{1}));
  EXPECT_EQ(ward.send(Alarm{0}), std::unexpected(Refusal::full));
  EXPECT_THAT(handled(ward), ElementsAre(1, 2, 3));
}

TEST_F(Priorities, TheOldestOfTheLeastUrgentIsDropped) {
  const auto ward = held({.capacity = 4, .when_full = WhenFull::drop_oldest});
  ASSERT_TRUE(ward.send(Alarm{1}));
  ASSERT_TRUE(ward.send(Note{2}));
  ASSERT_TRUE(ward.send(Chore{3}));
  ASSERT_TRUE(ward.send(Chore{4}));
  ASSERT_TRUE(ward.send(Alarm{5}));  // For 3,
  ASSERT_TRUE(ward.send(Alarm{6}));  // for 4,
  ASSERT_TRUE(ward.send(Alarm{7}));  // for 2.
  EXPECT_THAT(handled(ward), ElementsAre(1, 5, 6, 7));
  EXPECT_EQ(system.dropped(), 3u);
  EXPECT_EQ(system.dead_letter_count(), 3u);
}

}  // namespace
}  // namespace handoff::tests
