// How the server ends: what was asked is answered, the rest is closed, and nothing takes longer than it may.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>

#include "server/http_fixture.hpp"
#include "support/port.hpp"

namespace {

using namespace http_test;
using handoff::Event;
using handoff::within;

class HttpStop : public HttpTest {
 protected:
  HttpStop() {
    options.port = kept.number();
    service.on("/slow", [this](Request) -> Lazy<Response> {
      ++asked;
      const auto was_set = co_await go.async_wait();
      if (!was_set) ++abandoned;
      Response response{.body = "slow"};
      response.on_lost = [this] { ++lost; };
      co_return response;
    });
  }
  std::future<void> stop_soon(handoff::Deadline deadline) {
    return std::async(std::launch::async, [this, deadline] { http->stop(deadline); });
  }
  void expect_refusal() {
    EXPECT_TRUE(eventually([&] {
      try {
        const raw::Client late(port());
        return false;
      } catch (const std::system_error&) {
        return true;
      }
    }));
  }

  const handoff::tests::Port kept;  // Nobody else listens there once the server does not.
  Event go;
  std::atomic<int> asked = 0;
  std::atomic<int> abandoned = 0;
  std::atomic<int> lost = 0;
};

TEST_F(HttpStop, IdleConnectionsAreClosedAtOnce) {
  start();
  raw::Client fresh(port());
  raw::Client used(port());
  used.send(raw::request("GET", "/"));
  EXPECT_EQ(used.read_answer().status, 200);
  eventually([&] { return http->counters().connections_open == 2; });
  http->stop(within(10s));
  EXPECT_TRUE(fresh.is_closed_by_server());
  EXPECT_TRUE(used.is_closed_by_server());
  EXPECT_EQ(http->counters().connections_open, 0U);
}

TEST_F(HttpStop, OpenRequestsAreAnsweredAndNewOnesNotAccepted) {
  start();
  raw::Client client(port());
  client.send(raw::request("GET", "/slow"));
  eventually([&] { return asked == 1; });
  auto stopped = stop_soon(within(10s));
  expect_refusal();
  go.set();
  const auto answer = client.read_answer();
  EXPECT_EQ(answer.body, "slow");
  EXPECT_EQ(answer.header("connection"), "close");
  stopped.get();
  EXPECT_EQ(lost, 0);
}

TEST_F(HttpStop, ARequestThatIsStillComingIsReadAndAnswered) {
  start();
  raw::Client client(port());
  client.send("POST /p HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbo");
  eventually([&] { return http->counters().bytes_received > 50; });
  auto stopped = stop_soon(within(10s));
  expect_refusal();
  client.send("dy");
  EXPECT_EQ(client.read_answer().body, "POST /p\nbody");
  stopped.get();
}

TEST_F(HttpStop, ThoseWhoWaitAreHurried) {
  service.on("/wait", [this](Request request) -> Lazy<Response> {
    const std::stop_callback hurried(request.hurry, [this] { go.set(); });
    ++asked;
    const auto was_set = co_await go.async_wait();
    co_return Response{.status = was_set ? 204 : 500};
  });
  start();
  raw::Client client(port());
  client.send(raw::request("GET", "/wait"));
  eventually([&] { return asked == 1; });
  http->stop(within(10s));
  EXPECT_EQ(client.read_answer().status, 204);
}

TEST_F(HttpStop, AtTheDeadlineTheRestIsCut) {
  start();
  raw::Client half(port());
  half.send("POST /p HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbo");
  raw::Client slow(port());
  slow.send(raw::request("GET", "/slow"));
  eventually([&] { return asked == 1; });
  http->stop(within(10ms));
  EXPECT_TRUE(half.is_closed_by_server());
  EXPECT_TRUE(slow.is_closed_by_server());
  http.reset();
  EXPECT_EQ(abandoned, 1);
}

TEST_F(HttpStop, AReaderOfAStreamWhoDoesNotReadHoldsUpNothing) {
  options.limits.progress = 1h;
  std::atomic<int> parts = 0;
  service.on("/wait", [&](Request) -> Lazy<Response> {
    Response response{.content_type = "text/event-stream"};
    response.next_part = [&]() -> Lazy<std::optional<std::string>> {
      ++parts;
      co_return std::string(20'000'000, 'x');
    };
    co_return response;
  });
  start();
  raw::Client client(port(), {.receive_buffer = 4096});
  client.send(raw::request("GET", "/wait"));
  eventually([&] { return parts == 1; });
  http->stop(within(1h));
  EXPECT_EQ(http->counters().connections_open, 0U);
}

TEST_F(HttpStop, WhoAnswersJustAfterTheCutLearnsThatItIsLost) {
  service.on("/wait", [this](Request request) -> Lazy<Response> {
    Response response{.body = std::string(20'000'000, 'x')};
    const std::stop_callback hurried(request.hurry, [this] { go.set(); });
    ++asked;
    const auto was_set = co_await go.async_wait();
    static_cast<void>(was_set);
    response.on_lost = [this] { ++lost; };
    co_return response;
  });
  start();
  raw::Client client(port(), {.receive_buffer = 4096});
  client.send(raw::request("GET", "/wait"));
  eventually([&] { return asked == 1; });
  http->stop(within(10ms));
  EXPECT_EQ(lost, 1);
}

TEST_F(HttpStop, StoppingAgainAndFromSeveralThreadsIsFine) {
  start();
  raw::Client client(port());
  client.send(raw::request("GET", "/slow"));
  eventually([&] { return asked == 1; });
  auto patient = stop_soon(within(1h));
  auto impatient = stop_soon(within(10ms));
  impatient.get();
  patient.get();
  http->stop(within(10s));
}

TEST_F(HttpStop, AServerThatWasNeverStartedStops) {
  HttpServer idle(options, service);
  idle.stop(within(1h));
  EXPECT_NE(idle.port(), 0);
}

TEST_F(HttpStop, ThePortIsFreeAgain) {
  start();
  raw::get(port(), "/");
  http->stop(within(10s));
  http.reset();
  start();
  EXPECT_EQ(raw::get(port(), "/").status, 200);
}

}  // namespace
