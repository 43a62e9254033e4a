#include "net/http_client.hpp"

#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <thread>

#include "net/deaf_server.hpp"
#include "server/http_fixture.hpp"
#include "support/port.hpp"

namespace {

using namespace std::chrono_literals;
using handoff::net::HttpClient;
using handoff::net::HttpFailure;
using handoff::tests::DeafServer;
using handoff::tests::Port;
using http_test::eventually;
using http_test::Lazy;
using http_test::Request;
using http_test::Response;

class HttpClientTest : public http_test::HttpTest {
 protected:
  std::string url(std::string_view path) const {
    return "http://127.0.0.1:" + std::to_string(port()) + std::string(path);
  }
};

TEST_F(HttpClientTest, SendsARequestAndReturnsTheAnswer) {
  start();
  HttpClient client;
  const auto reply = client.send({.method = "PUT", .url = url("/a/b"), .body = "text"});
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(reply->body, "PUT /a/b\ntext");
  EXPECT_EQ(reply->header("content-type"), "text/plain");
  EXPECT_EQ(client.send({.url = url("/x")})->body, "GET /x");
  EXPECT_EQ(client.send({.method = "DELETE", .url = url("/x")})->body, "DELETE /x");
  EXPECT_EQ(client.send({.method = "POST", .url = url("/x")})->body, "POST /x");
}

TEST_F(HttpClientTest, SendsTheHeadersItIsGiven) {
  service.on("/who", [](Request request) -> Lazy<Response> {
    Response response{.body = request.authorization + "|" + request.content_type};
    co_return response;
  });
  start();
  HttpClient client;
  const auto reply = client.send(
      {.method = "POST",
       .url = url("/who"),
       .headers = {{"Authorization", "Bearer abc"}, {"Content-Type", "application/json"}},
       .body = "{}"});
  EXPECT_EQ(reply->body, "Bearer abc|application/json");
}

TEST_F(HttpClientTest, AnAnswerWithAnErrorStatusIsAnAnswer) {
  service.on("/full", [](Request) -> Lazy<Response> {
    Response response{.status = 503, .body = "full"};
    response.headers.emplace_back("Retry-After", "3");
    co_return response;
  });
  start();
  HttpClient client;
  const auto reply = client.send({.url = url("/full")});
  EXPECT_EQ(reply->status, 503);
  EXPECT_EQ(reply->header("retry-after"), "3");
}

TEST_F(HttpClientTest, UsesItsConnectionAgain) {
  start();
  HttpClient client;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(client.send({.url = url("/")}));
  EXPECT_EQ(http->counters().connections_total, 1u);
  EXPECT_EQ(http->counters().requests, 10u);
}

TEST_F(HttpClientTest, HasNeverMoreConnectionsThanItMay) {
  start();
  HttpClient client({.most_connections = 3});
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 12; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < 20; ++j) EXPECT_TRUE(client.send({.url = url("/")}));
      });
    }
  }
  EXPECT_LE(http->counters().connections_total, 3u);
  EXPECT_EQ(http->counters().requests, 240u);
}

TEST_F(HttpClientTest, ARedirectIsAnAnswer) {
  service.on("/old", [](Request) -> Lazy<Response> {
    Response response{.status = 302};
    response.headers.emplace_back("Location", "/new");
    co_return response;
  });
  start();
  EXPECT_EQ(HttpClient().send({.url = url("/old")})->status, 302);
  HttpClient follower({.follow_redirects = true});
  EXPECT_EQ(follower.send({.url = url("/old")})->body, "GET /new");
}

TEST_F(HttpClientTest, AnAnswerThatIsTooLargeIsRefused) {
  service.on("/large", [](Request) -> Lazy<Response> {
    Response response{.body = std::string(100'000, 'x')};
    co_return response;
  });
  start();
  HttpClient client({.response_limit = 50'000});
  const auto reply = client.send({.url = url("/large")});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, HttpFailure::Kind::too_large);
  EXPECT_EQ(client.send({.url = url("/small")})->status, 200);
}

TEST(HttpClientWithoutServer, SaysThatItCouldNotConnect) {
  const Port nobody;
  HttpClient client;
  const auto reply =
      client.send({.url = "http://127.0.0.1:" + std::to_string(nobody.number()) + "/x"});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, HttpFailure::Kind::could_not_connect);
  EXPECT_FALSE(reply.error().may_have_happened);
  EXPECT_NE(reply.error().message.find("/x: "), std::string::npos) << reply.error().message;
}

TEST(HttpClientWithoutServer, TakesNoOtherProtocols) {
  HttpClient client;
  const auto reply = client.send({.url = "file:///etc/passwd"});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, HttpFailure::Kind::could_not_connect);
}

TEST(HttpClientWithoutServer, RefusesOptionsThatMakeNoSense) {
  EXPECT_THROW(HttpClient({.most_connections = 0}), std::invalid_argument);
}

TEST(HttpClientAndADeafServer, GivesUpWhenItsTimeIsOver) {
  DeafServer deaf;
  HttpClient client({.timeout = 2s});
  auto reply = std::async(std::launch::async, [&] {
    return client.send({.method = "POST", .url = deaf.url(), .body = "x"});
  });
  deaf.read();  // So it was sent in time.
  const auto late = reply.get();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, HttpFailure::Kind::timed_out);
  EXPECT_TRUE(late.error().may_have_happened);
}

TEST(HttpClientAndADeafServer, SaysThatAnAnswerWasLost) {
  DeafServer deaf;
  HttpClient client;
  auto reply = std::async(std::launch::async, [&] {
    return client.send({.method = "POST", .url = deaf.url(), .body = "x"});
  });
  deaf.read_and_close();
  const auto lost = reply.get();
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().kind, HttpFailure::Kind::lost);
  EXPECT_TRUE(lost.error().may_have_happened);
}

TEST_F(HttpClientTest, AStopEndsTheWaitingAtOnce) {
  handoff::Event asked;
  service.on("/wait", [&](Request request) -> Lazy<Response> {
    handoff::Event gone;
    const std::stop_callback hurries(request.hurry, [&] { gone.set(); });
    asked.set();
    const auto told = co_await gone.async_wait();
    static_cast<void>(told);
    co_return Response{};
  });
  start();
  HttpClient client({.timeout = 1h, .connect_timeout = 1h});
  // Over a connection that is there already: a new one has a timer, which would wake it as well.
  ASSERT_TRUE(client.send({.url = url("/")}));
  std::stop_source stop;
  auto reply = std::async(std::launch::async, [&] {
    return client.send({.url = url("/wait"), .stop = stop.get_token()});
  });
  ASSERT_TRUE(asked.wait());
  stop.request_stop();
  eventually([&] { return reply.wait_for(0s) == std::future_status::ready; });
  const auto stopped = reply.get();
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().kind, HttpFailure::Kind::stopped);
}

TEST(HttpClientAndADeafServer, WhoWaitsForAConnectionHearsAStopToo) {
  DeafServer deaf;
  HttpClient client({.timeout = 1min, .most_connections = 1});
  std::stop_source first;
  std::stop_source second;
  auto holder = std::async(std::launch::async, [&] {
    return client.send({.url = deaf.url(), .stop = first.get_token()});
  });
  deaf.read();
  auto waiter = std::async(std::launch::async, [&] {
    return client.send({.url = deaf.url(), .stop = second.get_token()});
  });
  second.request_stop();
  EXPECT_EQ(waiter.get().error().kind, HttpFailure::Kind::stopped);
  first.request_stop();
  EXPECT_EQ(holder.get().error().kind, HttpFailure::Kind::stopped);
}

TEST_F(HttpClientTest, AStreamCallsForEachPartAsItComes) {
  service.on("/wait/stream", [](Request) -> Lazy<Response> {
    Response response{.body = "first;", .content_type = "text/event-stream"};
    const auto left = std::make_shared<int>(3);
    response.next_part = [left]() -> Lazy<std::optional<std::string>> {
      if ((*left)-- == 0) co_return std::nullopt;
      std::optional<std::string> part("more;");
      co_return part;
    };
    co_return response;
  });
  start();
  HttpClient client;
  std::string all;
  const auto reply = client.stream({.url = url("/wait/stream")}, [&](std::string_view part) {
    all += part;
    return true;
  });
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(reply->body, "");
  EXPECT_EQ(all, "first;more;more;more;");
}

TEST_F(HttpClientTest, AStreamEndsWhenItsReaderHasEnoughOrIsAskedToStop) {
  service.on("/wait/stream", [](Request request) -> Lazy<Response> {
    Response response{.body = "first;", .content_type = "text/event-stream"};
    const auto never = std::make_shared<handoff::Event>();
    response.next_part = [never, hurry = request.hurry]() -> Lazy<std::optional<std::string>> {
      const std::stop_callback hurries(hurry, [&] { never->set(); });
      const auto told = co_await never->async_wait();
      static_cast<void>(told);
      co_return std::nullopt;
    };
    co_return response;
  });
  start();
  HttpClient client;
  const auto enough =
      client.stream({.url = url("/wait/stream")}, [&](std::string_view) { return false; });
  ASSERT_FALSE(enough);
  EXPECT_EQ(enough.error().kind, HttpFailure::Kind::stopped);

  std::stop_source stop;
  const auto stopped =
      client.stream({.url = url("/wait/stream"), .stop = stop.get_token()}, [&](std::string_view) {
        stop.request_stop();
        return true;
      });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().kind, HttpFailure::Kind::stopped);
}

TEST_F(HttpClientTest, WhatAReaderOfAStreamThrowsEndsItAndIsItsOwn) {
  start();
  HttpClient client;
  EXPECT_THROW(
      static_cast<void>(client.stream(
          {.url = url("/x")}, [](std::string_view) -> bool { throw std::out_of_range("mine"); })),
      std::out_of_range);
  EXPECT_EQ(client.send({.url = url("/x")})->body, "GET /x");
}

TEST_F(HttpClientTest, ARefusedStreamIsAnAnswerWithItsBody) {
  service.on("/wait/no", [](Request) -> Lazy<Response> {
    Response response{.status = 401, .body = "who are you"};
    co_return response;
  });
  start();
  HttpClient client;
  const auto reply = client.stream({.url = url("/wait/no")}, [](std::string_view) { return true; });
  EXPECT_EQ(reply->status, 401);
  EXPECT_EQ(reply->body, "who are you");
}

TEST(HttpClientAndADeafServer, AStreamThatIsSilentIsGivenUp) {
  const DeafServer deaf;
  HttpClient client;
  const auto reply = client.stream({.url = deaf.url()}, [](std::string_view) { return true; }, 1s);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, HttpFailure::Kind::timed_out);
}

}  // namespace
