// What `handoff serve` is told by flags, the environment and a file: what it refuses, and what it says then.
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

}  // namespace
}  // namespace handoff::tests
