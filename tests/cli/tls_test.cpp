// Commands against a server that speaks TLS.
#include "cli/server_process.hpp"
#include "server/self_signed.hpp"

namespace handoff::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class OverTls : public CliTest {
 protected:
  const SelfSigned own{"over_tls"};
  const SelfSigned other{"over_tls_other"};
};

TEST_F(OverTls, AServerThatIsNotTrustedIsThereAndTheOptionThatTrustsItIsNamed) {
  Server server(store, folder, {"--tls-cert", own.certificate, "--tls-key", own.key});
  const std::string url = "https://127.0.0.1:" + std::to_string(server.port());
  const auto is_not_trusted = [&](const std::vector<std::string>& options) {
    std::vector<std::string> all{"ls", "--store", url};
    all.insert(all.end(), options.begin(), options.end());
    const Ended ended = run(all);
    EXPECT_EQ(ended.code, 4);
    EXPECT_THAT(ended.err, HasSubstr("cannot speak TLS with the server " + url));
    EXPECT_THAT(ended.err, HasSubstr("--ca-file"));
    EXPECT_THAT(ended.err, HasSubstr("HANDOFF_CA_FILE"));
    EXPECT_THAT(ended.err, Not(HasSubstr("is it running?")));
  };
  is_not_trusted({});
  is_not_trusted({"--ca-file", other.certificate});
  is_not_trusted({"--ca-file", path("none.pem")});
}

}  // namespace
}  // namespace handoff::tests
