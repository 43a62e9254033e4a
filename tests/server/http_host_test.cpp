// By which names the server may be called, and by pages of which origin.
#include <gtest/gtest.h>

#include <string>

#include "server/http/host_policy.hpp"
#include "server/http_fixture.hpp"

namespace {

using namespace http_test;
using handoff::server::HostPolicy;

TEST(HostPolicy, ALoopbackServerGoesByItsOwnNamesWhateverThePort) {
  const HostPolicy hosts("127.0.0.1", {});
  for (const auto* name :
       {"localhost", "LocalHost:80", "127.0.0.1", "127.0.0.1:8080", "[::1]", "[::1]:1"}) {
    EXPECT_TRUE(hosts.allows(name)) << name;
  }
  for (const auto* name :
       {"evil.example", "localhost.evil.example", "10.0.0.1", "127.0.0.1.evil.example", "", ":80",
        "[::1", "[]", "localhost:80x", "localhost:8080:80", "[::1]evil"}) {
    EXPECT_FALSE(hosts.allows(name)) << name;
  }
}

TEST(HostPolicy, AServerGoesByItsAddressAndTheNamesItWasGiven) {
  const HostPolicy hosts("10.1.2.3", {"Tasks.Example"});
  EXPECT_TRUE(hosts.allows("10.1.2.3:8080"));
  EXPECT_TRUE(hosts.allows("tasks.example"));
  EXPECT_FALSE(hosts.allows("10.1.2.4"));
  EXPECT_FALSE(hosts.allows("other.example"));
}

TEST(HostPolicy, AServerOnAllAddressesGoesByAnyAddressButNotByAnyName) {
  for (const auto* address : {"0.0.0.0", "::"}) {
    const HostPolicy hosts(address, {});
    EXPECT_TRUE(hosts.allows("10.1.2.4:8080"));
    EXPECT_TRUE(hosts.allows("[fe80::1]:8080"));
    EXPECT_FALSE(hosts.allows("evil.example:8080"));
    EXPECT_FALSE(hosts.allows("1.2.3.4.evil.example"));
  }
}

TEST(HostPolicy, AnOriginIsTheSameOnlyWithTheSameHostAndPort) {
  EXPECT_TRUE(HostPolicy::is_same("http://localhost:8080", "LOCALHOST:8080"));
  EXPECT_TRUE(HostPolicy::is_same("https://tasks.example", "tasks.example"));
  EXPECT_FALSE(HostPolicy::is_same("http://localhost:3000", "localhost:8080"));
  EXPECT_FALSE(HostPolicy::is_same("null", "localhost:8080"));
  EXPECT_FALSE(HostPolicy::is_same("http://evil.example", "localhost:8080"));
}

using HttpHost = HttpTest;

TEST_F(HttpHost, AForeignHostIsRefused) {
  start();
  const auto answer = raw::ask(port(), "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_EQ(answer.status, 421);
  EXPECT_NE(answer.body.find(R"("code":"forbidden")"), std::string::npos);
}

TEST_F(HttpHost, AConfiguredHostIsServed) {
  options.host_names = {"tasks.example"};
  start();
  EXPECT_EQ(raw::ask(port(), "GET / HTTP/1.1\r\nHost: tasks.example\r\n\r\n").status, 200);
}

TEST_F(HttpHost, TheHostOfAnAbsoluteTargetCounts) {
  start();
  EXPECT_EQ(raw::ask(port(), "GET http://localhost/a?b HTTP/1.1\r\nHost: localhost\r\n\r\n").body,
            "GET /a");
  EXPECT_EQ(
      raw::ask(port(), "GET http://evil.example/a HTTP/1.1\r\nHost: localhost\r\n\r\n").status,
      421);
}

TEST_F(HttpHost, APageOfAForeignOriginIsRefusedAndOursIsServed) {
  start();
  EXPECT_EQ(raw::get(port(), "/", "Origin: http://evil.example\r\n").status, 403);
  EXPECT_EQ(raw::get(port(), "/", "Origin: null\r\n").status, 403);
  EXPECT_EQ(raw::get(port(), "/", "Origin: http://localhost\r\n").status, 200);
}

TEST_F(HttpHost, OverIpv6ItIsServedAsWell) {
  options.address = "::1";
  start();
  raw::Client client(port(), {.address = "::1"});
  client.send("GET /six HTTP/1.1\r\nHost: [::1]\r\n\r\n");
  EXPECT_EQ(client.read_answer().body, "GET /six");
}

}  // namespace
