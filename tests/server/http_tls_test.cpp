// The same over TLS, with a certificate made for the test.
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>

#include "server/http_fixture.hpp"
#include "server/self_signed.hpp"

namespace {

using namespace http_test;
using handoff::tests::SelfSigned;

class TlsClient final : public raw::Client {
 public:
  explicit TlsClient(std::uint16_t port, int newest = 0) : Client(port) {
    context_.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_security_level(context_.get(), 0);
    SSL_CTX_set_max_proto_version(context_.get(), newest);
    session_.reset(SSL_new(context_.get()));
    SSL_set_fd(session_.get(), fd());
    is_connected = SSL_connect(session_.get()) == 1;
  }
  void finish_sending() override { SSL_shutdown(session_.get()); }
  int version() const { return SSL_version(session_.get()); }

  bool is_connected = false;

 protected:
  ssize_t read_some(char* to, std::size_t size) override {
    return SSL_read(session_.get(), to, static_cast<int>(size));
  }
  ssize_t write_some(std::string_view bytes) override {
    return SSL_write(session_.get(), bytes.data(), static_cast<int>(bytes.size()));
  }
  // What is left in the session does not make the socket readable.
  bool has_buffered_input() const override { return SSL_pending(session_.get()) > 0; }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* session) const { SSL_free(session); }
  };
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> session_;
};

class HttpTls : public HttpTest {
 protected:
  HttpTls() {
    options.tls_certificate = ours.certificate;
    options.tls_key = ours.key;
  }
  std::string what_is_wrong() {
    try {
      const HttpServer server(options, service);
      return "nothing";
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }

  SelfSigned ours{"ours"};
};

TEST_F(HttpTls, RequestsAreAnsweredOneAfterTheOtherAndPipelined) {
  start();
  TlsClient client(port());
  ASSERT_TRUE(client.is_connected);
  EXPECT_EQ(client.version(), TLS1_3_VERSION);
  client.send(raw::request("POST", "/1", "body"));
  EXPECT_EQ(client.read_answer().body, "POST /1\nbody");
  client.send(raw::request("GET", "/2") + raw::request("GET", "/3"));
  EXPECT_EQ(client.read_answer().body, "GET /2");
  EXPECT_EQ(client.read_answer().body, "GET /3");
}

TEST_F(HttpTls, LargeBodiesGoBothWays) {
  start();
  TlsClient client(port());
  const std::string body(4'000'000, 'x');
  client.send(raw::request("POST", "/big", body));
  EXPECT_EQ(client.read_answer().body, "POST /big\n" + body);
}

TEST_F(HttpTls, OldVersionsAreRefused) {
  start();
  EXPECT_TRUE(TlsClient(port(), TLS1_2_VERSION).is_connected);
  EXPECT_FALSE(TlsClient(port(), TLS1_1_VERSION).is_connected);
}

TEST_F(HttpTls, AClientThatDoesNotShakeHandsIsClosed) {
  options.limits.header_read = 40ms;
  start();
  raw::Client silent(port());
  EXPECT_TRUE(silent.is_closed_by_server());
  raw::Client plain(port());
  plain.send(raw::request("GET", "/"));
  EXPECT_EQ(plain.read_to_end().find("HTTP/1.1"), std::string::npos);
}

TEST_F(HttpTls, OneConnectionTooManyIsToldToComeBackLater) {
  options.limits.connections = 1;
  start();
  const TlsClient first(port());
  TlsClient second(port());
  EXPECT_EQ(second.read_answer().status, 503);
  EXPECT_TRUE(second.is_closed_by_server());
}

TEST_F(HttpTls, AClientThatGoesAwayOrSaysGoodbyeEndsTheWait) {
  std::atomic<int> waiting = 0;
  std::atomic<int> ended = 0;
  service.on("/wait", [&](Request request) -> Lazy<Response> {
    handoff::Event hurried;
    const std::stop_callback on_hurry(request.hurry, [&] { hurried.set(); });
    ++waiting;
    const auto was_set = co_await hurried.async_wait();
    static_cast<void>(was_set);
    ++ended;
    co_return Response{.status = 204};
  });
  start();
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    for (const bool says_goodbye : {true, false}) {
      TlsClient client(port(), version);
      client.send(raw::request("GET", "/wait"));
      const int before = ended;
      eventually([&] { return waiting == before + 1; });
      if (says_goodbye) {
        client.finish_sending();
      } else {
        client.close();
      }
      eventually([&] { return ended == before + 1; });
    }
  }
}

TEST_F(HttpTls, IdleConnectionsAreClosedInOrderWhenTheServerStops) {
  start();
  TlsClient client(port());
  client.send(raw::request("GET", "/"));
  EXPECT_EQ(client.read_answer().status, 200);
  http->stop(handoff::within(10s));
  EXPECT_TRUE(client.is_closed_by_server());
}

TEST_F(HttpTls, AHandshakeThatIsUnderWayDoesNotHoldUpTheEnd) {
  options.limits.header_read = 1h;
  start();
  raw::Client silent(port());
  eventually([&] { return http->counters().connections_open == 1; });
  http->stop(handoff::within(1h));
  EXPECT_TRUE(silent.is_closed_by_server());
}

TEST_F(HttpTls, FilesThatCannotBeUsedAreNamed) {
  const SelfSigned other("other");
  options.tls_key = other.key;
  EXPECT_NE(what_is_wrong().find(other.key), std::string::npos);
  options.tls_key = "/nowhere/key.pem";
  EXPECT_NE(what_is_wrong().find("/nowhere/key.pem"), std::string::npos);
  options.tls_certificate = "/nowhere/certificate.pem";
  EXPECT_NE(what_is_wrong().find("/nowhere/certificate.pem"), std::string::npos);
  options.tls_certificate = "";
  EXPECT_THROW(HttpServer(options, service), std::invalid_argument);
}

}  // namespace
