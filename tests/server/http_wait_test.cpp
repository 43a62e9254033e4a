// Answers that take their time: long polls and streams, and clients that do not wait for them.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "handoff/queue.hpp"
#include "server/http_fixture.hpp"

namespace {

using namespace http_test;
using handoff::BlockingQueue;
using handoff::Event;

// Sets an event as soon as a request is asked to hurry, so that it can be awaited.
struct Hurried {
  explicit Hurried(const std::stop_token& hurry) : callback(hurry, SetEvent{&event}) {}
  struct SetEvent {
    Event* event;
    void operator()() const { event->set(); }
  };
  Event event;
  std::stop_callback<SetEvent> callback;
};

class HttpWait : public HttpTest {
 protected:
  HttpWait() {
    service.on("/wait", [this](Request request) -> Lazy<Response> {
      Hurried hurried(request.hurry);
      ++waiting;
      const auto was_set = co_await hurried.event.async_wait();
      static_cast<void>(was_set);
      ++ended;
      Response response{.status = 204};
      response.on_lost = [this] { ++lost; };
      co_return response;
    });
  }
  // In the middle of a request that waits.
  std::unique_ptr<raw::Client> waiting_client() {
    auto client = std::make_unique<raw::Client>(port());
    const int before = waiting;
    client->send(raw::request("GET", "/wait"));
    eventually([&] { return waiting == before + 1; });
    return client;
  }

  std::atomic<int> waiting = 0;
  std::atomic<int> ended = 0;
  std::atomic<int> lost = 0;
};

TEST_F(HttpWait, AClientThatGoesAwayEndsTheWait) {
  start();
  waiting_client()->close();
  eventually([&] { return ended == 1 && lost == 1; });
  waiting_client()->reset();
  eventually([&] { return ended == 2 && lost == 2; });
  eventually([&] { return http->counters().connections_open == 0; });
}

TEST_F(HttpWait, AClientThatHasFinishedSendingIsAnsweredEarlyAndLosesNothing) {
  start();
  const auto client = waiting_client();
  client->finish_sending();
  EXPECT_EQ(client->read_answer().status, 204);
  EXPECT_TRUE(client->is_closed_by_server());
  eventually([&] { return http->counters().connections_open == 0; });
  EXPECT_EQ(lost, 0);
}

TEST_F(HttpWait, AClientThatSendsItsNextRequestIsNotGone) {
  Event go;
  service.on("/wait/for", [&](Request request) -> Lazy<Response> {
    const auto was_set = co_await go.async_wait();
    static_cast<void>(was_set);
    co_return Response{.body = request.hurry.stop_requested() ? "hurried" : "waited"};
  });
  start();
  raw::Client client(port());
  client.send(raw::request("GET", "/wait/for"));
  client.send(raw::request("GET", "/next"));
  EXPECT_EQ(raw::get(port(), "/other").status, 200);
  go.set();
  EXPECT_EQ(client.read_answer().body, "waited");
  EXPECT_EQ(client.read_answer().body, "GET /next");
  client.send(raw::request("GET", "/wait/for"));
  EXPECT_EQ(client.read_answer().body, "waited");
}

TEST_F(HttpWait, AClientThatHasSentItsNextBytesAndGoesAwayEndsTheWait) {
  start();
  for (const std::string& next : {std::string("\r\n"), raw::request("GET", "/next")}) {
    const int before = lost;
    const auto client = waiting_client();
    client->send(next);
    client->close();
    eventually([&] { return lost == before + 1; });
  }
  eventually([&] { return http->counters().connections_open == 0; });
}

TEST_F(HttpWait, AClientThatHasSentItsNextRequestAndNoMoreGetsBothAnswers) {
  start();
  const auto client = waiting_client();
  client->send(raw::request("GET", "/next"));
  client->finish_sending();
  EXPECT_EQ(client->read_answer().status, 204);
  EXPECT_EQ(client->read_answer().body, "GET /next");
  EXPECT_TRUE(client->is_closed_by_server());
  EXPECT_EQ(lost, 0);
}

// Nobody had the time to look while the answer was being made.
TEST_F(HttpWait, AnAnswerToAClientThatHasSentItsNextBytesAndIsGoneIsLost) {
  Event asked;
  Event go;
  service.on("/wait/for", [&](Request) -> Lazy<Response> {
    asked.set();
    const auto was_set = go.wait({.deadline = handoff::within(10s)});
    static_cast<void>(was_set);
    Response response{.body = "late"};
    response.on_lost = [this] { ++lost; };
    co_return response;
  });
  start();
  raw::Client client(port());
  client.send(raw::request("GET", "/wait/for"));
  ASSERT_TRUE(asked.wait({.deadline = handoff::within(10s)}));
  client.send("\r\n");
  client.close();
  go.set();
  eventually([&] { return lost == 1; });
}

TEST_F(HttpWait, AnAnswerThatCannotBeWrittenIsLost) {
  Event go;
  service.on("/late", [&](Request) -> Lazy<Response> {
    const auto was_set = co_await go.async_wait();
    static_cast<void>(was_set);
    Response response{.body = "late"};
    response.on_lost = [this] { ++lost; };
    co_return response;
  });
  start();
  raw::Client client(port());
  client.send(raw::request("GET", "/late"));
  eventually([&] { return http->counters().requests == 1; });
  client.reset();
  go.set();
  eventually([&] { return lost == 1; });
}

TEST_F(HttpWait, WhatOnLostThrowsIsLogged) {
  service.on("/wait/and-throw", [](Request request) -> Lazy<Response> {
    Hurried hurried(request.hurry);
    const auto was_set = co_await hurried.event.async_wait();
    static_cast<void>(was_set);
    Response response;
    response.on_lost = [] { throw std::runtime_error("cannot give it back"); };
    co_return response;
  });
  start();
  raw::Client client(port());
  client.send(raw::request("GET", "/wait/and-throw"));
  eventually([&] { return http->counters().requests == 1; });
  client.reset();
  eventually([&] { return lines().size() == 1; });
  EXPECT_NE(lines()[0].find("cannot give it back"), std::string::npos);
}

// -- Streams --------------------------------------------------------------------------------------

class HttpStream : public HttpTest {
 protected:
  HttpStream() {
    service.on("/wait/stream", [this](Request request) -> Lazy<Response> {
      Response response{.body = "first", .content_type = "text/event-stream"};
      response.next_part = [this, hurry = request.hurry] { return take(hurry); };
      response.on_lost = [this] { ++lost; };
      co_return response;
    });
  }
  Lazy<std::optional<std::string>> take(std::stop_token hurry) {
    ++asked;
    const std::stop_callback close_queue(hurry, [this] { parts.close(); });
    auto part = co_await parts.async_take();
    if (!part) co_return std::nullopt;
    if (*part == "throw") throw std::runtime_error("the source of the stream broke");
    co_return *std::move(part);
  }
  void put(std::string part) { ASSERT_TRUE(parts.put(std::move(part))); }

  BlockingQueue<std::string> parts{{.capacity = 1000}};
  std::atomic<int> asked = 0;
  std::atomic<int> lost = 0;
};

TEST_F(HttpStream, PartsComeAsChunksAsSoonAsTheyAreThere) {
  start();
  raw::Client client(port());
  client.send(raw::request("GET", "/wait/stream"));
  const auto head = client.read_head();
  EXPECT_EQ(head.header("transfer-encoding"), "chunked");
  EXPECT_FALSE(head.has("content-length"));
  EXPECT_EQ(client.read_chunk(), "first");
  put("second");
  EXPECT_EQ(client.read_chunk(), "second");
  put("");  // Nothing to send is not the end.
  put("third");
  EXPECT_EQ(client.read_chunk(), "third");
  parts.close();
  EXPECT_EQ(client.read_chunk(), std::nullopt);
  client.send(raw::request("GET", "/next"));
  EXPECT_EQ(client.read_answer().body, "GET /next");
  EXPECT_EQ(lost, 0);
}

TEST_F(HttpStream, ToHttp10TheyComeUntilTheConnectionIsClosed) {
  start();
  raw::Client client(port());
  client.send("GET /wait/stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  put("second");
  parts.close();
  const auto answer = client.read_answer();
  EXPECT_FALSE(answer.has("transfer-encoding"));
  EXPECT_EQ(answer.header("connection"), "close");
  EXPECT_EQ(answer.body, "firstsecond");
}

TEST_F(HttpStream, ToHeadThereIsOnlyTheHeader) {
  start();
  raw::Client client(port());
  client.send(raw::request("HEAD", "/wait/stream") + raw::request("GET", "/next"));
  EXPECT_EQ(client.read_answer(true).header("transfer-encoding"), "chunked");
  EXPECT_EQ(client.read_answer().body, "GET /next");
  EXPECT_EQ(asked, 0);
}

TEST_F(HttpStream, AReaderThatGoesAwayEndsTheStream) {
  start();
  raw::Client client(port());
  client.send(raw::request("GET", "/wait/stream"));
  EXPECT_EQ(client.read_head().status, 200);
  client.close();
  eventually([&] { return parts.is_closed() && http->counters().connections_open == 0; });
}

TEST_F(HttpStream, AReaderThatStopsReadingIsCutAndNotBufferedFor) {
  options.limits.progress = 40ms;
  start();
  raw::Client client(port(), {.receive_buffer = 4096});
  client.send(raw::request("GET", "/wait/stream"));
  for (int i = 0; i < 100; ++i) put(std::string(1'000'000, 'x'));
  eventually([&] { return lost == 1; });
  EXPECT_LT(asked, 100);
  eventually([&] { return http->counters().connections_open == 0; });
}

TEST_F(HttpStream, OneThatFailsDoesNotLookWhole) {
  start();
  raw::Client client(port());
  client.send(raw::request("GET", "/wait/stream"));
  put("throw");
  const auto all = client.read_to_end();
  EXPECT_TRUE(all.ends_with("first\r\n")) << all;
  EXPECT_EQ(lines().size(), 1U);
}

}  // namespace
