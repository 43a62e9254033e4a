// What `handoff serve` is told by flags, the environment and a file: what it refuses, and what it says then.
#include <iterator>
#include <sstream>

#include "cli/program.hpp"

namespace handoff::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ServeConfig : public CliTest {
 protected:
  Ended check(std::vector<std::string> more, const std::vector<std::string>& environment = {}) {
    more.insert(more.begin(), {"serve", "--check"});
    return run(more, "", environment);
  }
};

TEST_F(ServeConfig, AnAddressThatIsNoneIsRefusedWhereverItIsSet) {
  const auto is_refused = [](const Ended& ended, const std::string& option) {
    EXPECT_EQ(ended.code, 2) << ended.out;
    EXPECT_THAT(ended.err, HasSubstr(option + ": listen must be an address and a port"));
    EXPECT_THAT(ended.err, HasSubstr("\"foo.example\" is no IP address to listen on"));
  };
  write("c.toml", "listen = \"foo.example:80\"\n");
  is_refused(check({"--listen", "foo.example:80"}), "--listen");
  is_refused(run({"serve", "--listen", "foo.example:80"}), "--listen");
  is_refused(check({}, {"HANDOFF_LISTEN=foo.example:80"}), "HANDOFF_LISTEN");
  is_refused(check({"--config", path("c.toml")}), "c.toml:1");
}

TEST_F(ServeConfig, AnAddressThatIsNoneNeedsNoTokens) {
  const Ended ended = run({"serve", "--listen", "300.1.1.1:80"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("\"300.1.1.1\" is no IP address"));
  EXPECT_THAT(ended.err, Not(HasSubstr("token")));
}

TEST_F(ServeConfig, AddressesAreTakenInAllTheirForms) {
  for (const auto* each : {"127.0.0.1:80", "localhost:80", "[::1]:80", "::1:80", ":80", "80"}) {
    const Ended ended = check({"--listen", each});
    EXPECT_EQ(ended.code, 0) << each << ": " << ended.err;
  }
}

// A store in memory has none, and `token create` makes none there.
TEST_F(ServeConfig, WhoeverNeedsTokensIsToldHowToMakeThemAlsoWithAStoreInMemory) {
  const Ended refused = run({"serve", "--demo", "--listen", "0.0.0.0:0"}, "", {"HANDOFF_STORE="});
  EXPECT_EQ(refused.code, 4);
  const std::string begin = "`handoff ";
  const auto at = refused.err.find(begin);
  ASSERT_NE(at, std::string::npos) << refused.err;
  std::istringstream advice(refused.err.substr(at + begin.size()));
  std::string command;
  std::getline(advice, command, '`');
  std::istringstream words(command);
  const Ended made =
      run({std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()});
  EXPECT_EQ(made.code, 0) << command << made.err;
  EXPECT_THAT(refused.err, HasSubstr("`--store sqlite:demo.db`"));
  const Ended served = check({"--demo", "--listen", "0.0.0.0:0", "--store", "sqlite:demo.db"});
  EXPECT_EQ(served.code, 0) << served.err;
}

TEST_F(ServeConfig, AVariableForTheFileThatIsSetToNothingIsNotSet) {
  write("handoff.toml", "listen = \"127.0.0.1:4711\"\n");
  EXPECT_THAT(check({}, {"HANDOFF_CONFIG="}).out, HasSubstr("127.0.0.1:4711"));
}

TEST_F(ServeConfig, AFileThatIsNoneIsRefused) {
  EXPECT_THAT(check({"--config", path("none.toml")}).err, HasSubstr("there is no such file"));
  const Ended of_folder = check({"--config", folder.string()});
  EXPECT_EQ(of_folder.code, 2);
  EXPECT_THAT(of_folder.err, HasSubstr("is a folder, and no file"));
}

TEST_F(ServeConfig, ATableIsUnknownAsAKeyIs) {
  const auto error = [&](const std::string& text) {
    write("c.toml", text);
    const Ended ended = check({"--config", path("c.toml")});
    EXPECT_EQ(ended.code, 2);
    return ended.err;
  };
  EXPECT_THAT(error("[server]\nlisten = \"127.0.0.1:1\"\n"),
              HasSubstr("c.toml:1: unknown key \"server\"; keys stand at the top, in no table"));
  EXPECT_THAT(error("[listn]\n"), HasSubstr("unknown key \"listn\"; did you mean \"listen\"?"));
  EXPECT_THAT(error("listn = 1.5\n"), HasSubstr("did you mean \"listen\"?"));
  EXPECT_THAT(error("[listen]\n"), HasSubstr("listen must be a text"));
}

}  // namespace
}  // namespace handoff::tests
