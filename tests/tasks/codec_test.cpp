// Payloads and results that are stored encoded.
#include "handoff/tasks/codec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <iterator>

#include "handoff/tasks/testing.hpp"
#include "tasks/encoding.hpp"
#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;
using handoff::testing::run_inline;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Each byte with a key, and a sum by which the key is known.
class Xor final : public PayloadCodec {
 public:
  Xor(std::string name, char key) : name_(std::move(name)), key_(key) {}
  std::string_view name() const override { return name_; }
  std::string encode(std::string_view json) const override {
    if (json == "\"secret\"") throw std::runtime_error("not that one");
    std::string bytes = "\xff" + std::string(1, '\0') + std::string(json);
    for (char& each : bytes) each = static_cast<char>(each ^ key_);
    return bytes;
  }
  std::expected<std::string, std::string> decode(std::string_view name,
                                                 std::string_view bytes) const override {
    if (name == "broken") throw std::runtime_error("decode threw");
    std::string json(bytes);
    for (char& each : json) each = static_cast<char>(each ^ key_);
    if (!json.starts_with('\xff')) return std::unexpected("the key does not fit");
    return json.substr(2);
  }

 private:
  const std::string name_;
  const char key_;
};

class Codecs : public ::testing::Test {
 protected:
  Tasks open(const std::string& name, char key) {
    return tasks::open(where, {.fast = true, .codec = std::make_shared<Xor>(name, key)}).value();
  }
  TaskId add(const Tasks& tasks, const std::string& payload) {
    return tasks.enqueue({.queue = "q", .kind = "k", .payload = payload}).value().id;
  }
  // Each gives back what it got.
  WorkerReport run(const Tasks& tasks) {
    return run_inline(tasks, {"q"}, [](Worker& worker) {
      worker.handle("k", [](const Json& json, Context&) -> Finish { return json; });
    });
  }

  const Folder folder;
  const std::string where = "sqlite:" + folder.file("tasks.db");
  const Tasks plain = tasks::open(where, {.fast = true}).value();
  const Tasks sealed = open("xor", 'k');
};

TEST_F(Codecs, StoreNothingThatCanBeRead) {
  const auto id = add(sealed, R"({"to":"bob"})");
  run(sealed);
  EXPECT_EQ(sealed.get(id)->payload, R"({"to":"bob"})");
  EXPECT_EQ(sealed.get(id)->result, R"({"to":"bob"})");
  EXPECT_EQ(sealed.get(id)->undecoded, "");
  EXPECT_EQ(sealed.wait(id, 1s)->result, R"({"to":"bob"})");
  EXPECT_EQ(sealed.list()->tasks[0].payload, R"({"to":"bob"})");
  for (const char* const file : {"tasks.db", "tasks.db-wal"}) {
    std::ifstream stream(folder.file(file), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    EXPECT_EQ(bytes.find("bob"), std::string::npos) << file;
  }
}

TEST_F(Codecs, AreAppliedInAUsersTransactionToo) {
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(folder.file("tasks.db").c_str(), &connection), SQLITE_OK);
  sqlite3_busy_timeout(connection, 10'000);
  sqlite3_exec(connection, "begin immediate", nullptr, nullptr, nullptr);
  const auto id =
      sealed.enqueue_in(connection, {.queue = "q", .kind = "k", .payload = "[7]"}).value().id;
  ASSERT_EQ(sqlite3_exec(connection, "commit", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(connection);
  EXPECT_THAT(plain.get(id)->payload, StartsWith("~xor:"));
  EXPECT_EQ(sealed.get(id)->payload, "[7]");
}

TEST_F(Codecs, LoseNothingThatTheyCannotDecode) {
  const auto id = add(sealed, "[7]");
  const Tasks other = open("xor", 'z');
  const struct {
    const Tasks& tasks;
    std::string why;
  } cases[] = {{plain, "it was encoded by \"xor\": open the store with that codec"},
               {other, "it was encoded by \"xor\": the key does not fit"}};
  std::size_t errors = 0;
  for (const auto& each : cases) {
    const auto seen = each.tasks.get(id).value();
    EXPECT_EQ(seen.undecoded, "its payload cannot be decoded: " + each.why);
    EXPECT_THAT(seen.payload, StartsWith("~xor:"));
    EXPECT_EQ(each.tasks.list()->tasks[0].undecoded, seen.undecoded);
    EXPECT_EQ(run(each.tasks).failed, 1u);
    EXPECT_EQ(sealed.get(id)->errors[errors++].message, seen.undecoded);
    ASSERT_TRUE(sealed.cancel(id));
    ASSERT_TRUE(sealed.retry(id));
  }
  EXPECT_EQ(run(sealed).done, 1u);
  EXPECT_EQ(sealed.get(id)->result, "[7]");
}

TEST_F(Codecs, ReadWhatWasStoredBefore) {
  const auto unsealed = add(plain, "[1]");
  const auto older = add(sealed, "[2]");
  const Tasks newer = open("xor-2", 'k');  // Knows the older name.
  EXPECT_EQ(newer.get(unsealed)->payload, "[1]");
  EXPECT_EQ(newer.get(older)->payload, "[2]");
  EXPECT_EQ(run(newer).done, 2u);
  EXPECT_EQ(newer.get(older)->result, "[2]");
  EXPECT_THAT(plain.get(older)->result.value(), StartsWith("~xor-2:"));
}

TEST_F(Codecs, SayWhatTheyCannotEncode) {
  const auto error = sealed.enqueue({.queue = "q", .kind = "k", .payload = "\"secret\""}).error();
  EXPECT_EQ(error.message, "payload cannot be encoded: not that one");
  EXPECT_EQ(error.field, "payload");
  const auto id = add(sealed, "1");
  run_inline(sealed, {"q"}, [](Worker& worker) {
    worker.handle("k", [](const Json&, Context&) -> Finish { return std::string("secret"); });
  });
  EXPECT_EQ(sealed.get(id)->errors[0].message, "not that one");
}

TEST_F(Codecs, DoNoHarmWhereTheyThrow) {
  const Tasks throws = open("broken", 'k');
  const auto id = add(throws, "1");
  EXPECT_EQ(throws.get(id)->undecoded,
            "its payload cannot be decoded: it was encoded by \"broken\": decode threw");
}

TEST_F(Codecs, HaveANameThatCanBeStored) {
  const auto opened = tasks::open(where, {.codec = std::make_shared<Xor>("a:b", 'k')});
  EXPECT_EQ(opened.error().field, "codec");
}

TEST(Base64, IsThatOfTheStandard) {
  const std::pair<std::string, std::string> cases[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"},
                                                       {"\xff\xfe\xfd", "//79"}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
  std::string all;
  for (int i = 0; i < 1000; ++i) {
    all += static_cast<char>(i * 7);
    ASSERT_EQ(from_base64(to_base64(all)), all);
  }
  for (const char* const wrong : {"Zg=", "Zg", "Z===", "Z*==", "Zm=v", "===="}) {
    EXPECT_FALSE(from_base64(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace handoff::tests
