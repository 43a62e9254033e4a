// Requests and answers on a connection: their order, their framing, and how they may be wrong.
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "server/http_fixture.hpp"

namespace {

using namespace http_test;

using HttpMessage = HttpTest;

// -- One after the other --------------------------------------------------------------------------

TEST_F(HttpMessage, ARequestGetsItsAnswer) {
  start();
  const auto answer = raw::post(port(), "/v1/tasks", "{}");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.version, "HTTP/1.1");
  EXPECT_EQ(answer.body, "POST /v1/tasks\n{}");
  EXPECT_EQ(answer.header("content-type"), "text/plain");
  EXPECT_EQ(answer.header("date").size(), std::string("Sun, 06 Nov 1994 08:49:37 GMT").size());
  EXPECT_FALSE(answer.has("connection"));
}

TEST_F(HttpMessage, AConnectionIsUsedForManyRequests) {
  start();
  raw::Client client(port());
  for (int i = 0; i < 100; ++i) {
    client.send(raw::request("POST", "/" + std::to_string(i),
                             std::string(static_cast<std::size_t>(i * 37), 'x')));
    EXPECT_TRUE(client.read_answer().body.starts_with("POST /" + std::to_string(i)));
  }
  EXPECT_EQ(http->counters().connections_total, 1U);
  EXPECT_EQ(http->counters().requests, 100U);
}

TEST_F(HttpMessage, PipelinedRequestsAreAnsweredInOrder) {
  start();
  raw::Client client(port());
  std::string all;
  for (int i = 0; i < 200; ++i) all += raw::request("POST", "/" + std::to_string(i), "body");
  client.send(all);
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(client.read_answer().body, "POST /" + std::to_string(i) + "\nbody");
  }
}

TEST_F(HttpMessage, AnAnswerThatTakesLongerHoldsBackThoseBehindIt) {
  handoff::Event go;
  service.on("/slow", [&](Request) -> Lazy<Response> {
    const auto was_set = co_await go.async_wait();
    static_cast<void>(was_set);
    co_return Response{.body = "slow"};
  });
  start();
  raw::Client client(port());
  client.send(raw::request("GET", "/slow") + raw::request("GET", "/fast"));
  EXPECT_EQ(raw::get(port(), "/other").status, 200);
  EXPECT_FALSE(client.has_input());
  go.set();
  EXPECT_EQ(client.read_answer().body, "slow");
  EXPECT_EQ(client.read_answer().body, "GET /fast");
}

TEST_F(HttpMessage, ARequestMayComeByteByByte) {
  start();
  raw::Client client(port());
  for (const char c : raw::request("POST", "/a?b=c", "hello")) client.send({&c, 1});
  EXPECT_EQ(client.read_answer().body, "POST /a\nhello");
}

TEST_F(HttpMessage, AClientThatHasFinishedSendingGetsItsAnswer) {
  start();
  raw::Client client(port());
  client.send(raw::request("GET", "/1") + raw::request("GET", "/2"));
  client.finish_sending();
  EXPECT_EQ(client.read_answer().body, "GET /1");
  EXPECT_EQ(client.read_answer().body, "GET /2");
  EXPECT_TRUE(client.is_closed_by_server());
}

TEST_F(HttpMessage, ConnectionCloseIsTheLastRequest) {
  start();
  raw::Client client(port());
  client.send(raw::request("GET", "/1", {}, "Connection: close\r\n"));
  EXPECT_EQ(client.read_answer().header("connection"), "close");
  EXPECT_TRUE(client.is_closed_by_server());
}

TEST_F(HttpMessage, Http10ClosesUnlessAskedNotTo) {
  start();
  raw::Client client(port());
  client.send("GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(client.read_answer().header("connection"), "keep-alive");
  client.send("GET /2 HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.read_answer().header("connection"), "close");
  EXPECT_TRUE(client.is_closed_by_server());
}

TEST_F(HttpMessage, EmptyLinesBeforeARequestAreIgnored) {
  start();
  raw::Client client(port());
  client.send("\r\n\r\n" + raw::request("GET", "/1") + "\r\n" + raw::request("GET", "/2"));
  EXPECT_EQ(client.read_answer().body, "GET /1");
  EXPECT_EQ(client.read_answer().body, "GET /2");
}

// -- Bodies ---------------------------------------------------------------------------------------

TEST_F(HttpMessage, ABodyMayComeInChunksWithTrailers) {
  start();
  raw::Client client(port());
  client.send(
      "PUT /c HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\n1;name=value\r\n \r\nA\r\n0123456789\r\n0\r\nHost: evil.example\r\n\r\n");
  EXPECT_EQ(client.read_answer().body, "PUT /c\nhello 0123456789");
  client.send(raw::request("GET", "/next"));
  EXPECT_EQ(client.read_answer().body, "GET /next");
}

TEST_F(HttpMessage, ALargeBodyArrivesAsItWasSent) {
  start();
  std::string body(7'000'000, ' ');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>('a' + i % 23);
  EXPECT_EQ(raw::post(port(), "/big", body).body, "POST /big\n" + body);
}

TEST_F(HttpMessage, AGetMayHaveABody) {
  start();
  EXPECT_EQ(raw::ask(port(), raw::request("GET", "/g", "body")).body, "GET /g\nbody");
}

TEST_F(HttpMessage, HeadIsAGetWithoutTheBody) {
  start();
  raw::Client client(port());
  client.send(raw::request("HEAD", "/h") + raw::request("GET", "/h"));
  const auto to_head = client.read_answer(true);
  EXPECT_EQ(to_head.status, 200);
  EXPECT_EQ(to_head.header("content-length"), "6");
  EXPECT_EQ(client.read_answer().body, "GET /h");
}

TEST_F(HttpMessage, NoContentHasNoLength) {
  service.on("/none", [](Request) -> Lazy<Response> {
    co_return Response{.status = 204, .body = "ignored"};
  });
  start();
  raw::Client client(port());
  client.send(raw::request("GET", "/none") + raw::request("GET", "/next"));
  const auto none = client.read_answer();
  EXPECT_EQ(none.status, 204);
  EXPECT_FALSE(none.has("content-length"));
  EXPECT_EQ(client.read_answer().body, "GET /next");
}

TEST_F(HttpMessage, WhoAsksWhetherToSendABodyIsToldToGoOn) {
  start();
  raw::Client client(port());
  client.send(
      "POST /e HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 100);
  client.send("body");
  EXPECT_EQ(client.read_answer().body, "POST /e\nbody");
}

TEST_F(HttpMessage, WhoAsksWhetherToSendTooMuchIsToldNotTo) {
  start();
  raw::Client client(port());
  client.send(
      "POST /e HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\nExpect: "
      "100-continue\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 413);
  EXPECT_TRUE(client.is_closed_by_server());
}

// -- What a handler gets and gives ----------------------------------------------------------------

TEST_F(HttpMessage, AHandlerGetsTheHeadersItMayNeed) {
  Request seen;
  service.on("/a b", {});
  service.on("/see", [&](Request request) -> Lazy<Response> {
    seen = std::move(request);
    co_return Response{};
  });
  start();
  raw::ask(port(), raw::request("DELETE", "/see?wait=30s&q=a%20b", {},
                                "authorization: Bearer x\r\nTraceparent: 00-1-2-01\r\n"
                                "Last-Event-ID: 17\r\nContent-Type: text/x\r\n"));
  EXPECT_EQ(seen.method, Method::del);
  EXPECT_EQ(seen.segments, std::vector<std::string>{"see"});
  EXPECT_EQ(seen.query.at(1).second, "a b");
  EXPECT_EQ(seen.authorization, "Bearer x");
  EXPECT_EQ(seen.traceparent, "00-1-2-01");
  EXPECT_EQ(seen.last_event_id, "17");
  EXPECT_EQ(seen.content_type, "text/x");
  EXPECT_EQ(seen.peer, "127.0.0.1");
  EXPECT_FALSE(seen.hurry.stop_possible());
}

TEST_F(HttpMessage, AHeaderOfAnAnswerCannotBeginAnother) {
  service.on("/h", [](Request) -> Lazy<Response> {
    Response response;
    response.headers.emplace_back("Location", "/x\r\nSet-Cookie: evil=1");
    co_return response;
  });
  start();
  const auto answer = raw::get(port(), "/h");
  EXPECT_EQ(answer.header("location"), "/x  Set-Cookie: evil=1");
  EXPECT_FALSE(answer.has("set-cookie"));
}

TEST_F(HttpMessage, WhatAHandlerThrowsIsLoggedAndNotTold) {
  service.on("/throws", [](Request) -> Lazy<Response> {
    throw std::runtime_error("the password is 1234");
    co_return Response{};
  });
  service.on("/throws-at-once",
             [](Request) -> Lazy<Response> { throw std::runtime_error("at once"); });
  start();
  raw::Client client(port());
  client.send(raw::request("GET", "/throws") + raw::request("GET", "/throws-at-once") +
              raw::request("GET", "/next"));
  const auto failed = client.read_answer();
  EXPECT_EQ(failed.status, 500);
  EXPECT_NE(failed.body.find(R"("code":"internal")"), std::string::npos);
  EXPECT_EQ(failed.body.find("1234"), std::string::npos);
  EXPECT_EQ(client.read_answer().status, 500);
  EXPECT_EQ(client.read_answer().body, "GET /next");
  ASSERT_EQ(lines().size(), 2U);
  EXPECT_NE(lines()[0].find("1234"), std::string::npos);
}

TEST_F(HttpMessage, TheBytesAndRequestsAreCounted) {
  start();
  const auto text = raw::request("GET", "/");
  raw::ask(port(), text);
  EXPECT_EQ(http->counters().requests, 1U);
  EXPECT_EQ(http->counters().bytes_received, text.size());
  eventually([&] { return http->counters().bytes_sent > 50U; });
  eventually([&] { return http->counters().connections_open == 0; });
}

// -- What is no request ---------------------------------------------------------------------------

struct Wrong {
  const char* name;
  std::string text;
  int status;

  friend void PrintTo(const Wrong& wrong, std::ostream* to) { *to << wrong.name; }
};

class HttpWrong : public HttpTest, public testing::WithParamInterface<Wrong> {};

// Each is told what is wrong, after what came before it was answered, and the connection is closed.
TEST_P(HttpWrong, IsToldAndTheConnectionClosed) {
  start();
  raw::Client client(port());
  client.send(raw::request("GET", "/before"));
  client.send(GetParam().text);
  client.finish_sending();
  EXPECT_EQ(client.read_answer().body, "GET /before");
  const auto answer = client.read_answer();
  EXPECT_EQ(answer.status, GetParam().status) << answer.body;
  EXPECT_EQ(answer.header("connection"), "close");
  EXPECT_TRUE(answer.body.starts_with(R"({"error":{"code":)"));
  EXPECT_TRUE(client.is_closed_by_server());
  EXPECT_EQ(http->counters().requests, 1U);
}

std::string with(const std::string& headers, const std::string& body = {}) {
  return "POST /w HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n" + body;
}

INSTANTIATE_TEST_SUITE_P(
    Corpus, HttpWrong,
    testing::Values(
        Wrong{"Garbage", "\x16\x03\x01\x02\x01\x01\xfc\x03\x03 hello\r\n\r\n", 400},
        Wrong{"NoTarget", "GET\r\n\r\n", 400},
        Wrong{"BareLineFeeds", "GET / HTTP/1.1\nHost: localhost\n\n", 505},
        Wrong{"Http2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
        Wrong{"Http09", "GET /\r\n\r\n", 400}, Wrong{"SpaceBeforeColon", with("X : 1\r\n"), 400},
        Wrong{"NulInHeader", with(std::string("X: a\0b\r\n", 8)), 400},
        Wrong{"ControlCharacterInTarget", "GET /a\tb HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
        Wrong{"NoHost", "GET / HTTP/1.1\r\n\r\n", 400},
        Wrong{"TwoHosts", "GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400},
        Wrong{"NegativeLength", with("Content-Length: -1\r\n"), 400},
        Wrong{"LengthIsNoNumber", with("Content-Length: 1x\r\n", "a"), 400},
        Wrong{"LengthOverflows", with("Content-Length: 99999999999999999999999\r\n"), 400},
        Wrong{"TwoLengths", with("Content-Length: 1\r\nContent-Length: 2\r\n", "ab"), 400},
        Wrong{"LengthAndChunks",
              with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
        Wrong{"ChunksAndLength",
              with("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"), 400},
        Wrong{"UnknownCoding",
              with("Transfer-Encoding: gzip\r\n", "GET /smuggled HTTP/1.1\r\n\r\n"), 400},
        Wrong{"CodingAfterChunked", with("Transfer-Encoding: chunked, gzip\r\n", "0\r\n\r\n"), 400},
        Wrong{"ChunkedTwice",
              with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
              400},
        Wrong{"ChunksInHttp10", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
              400},
        Wrong{"ChunkSizeIsNoNumber", with("Transfer-Encoding: chunked\r\n", "zz\r\nhello\r\n"),
              400},
        Wrong{"ChunkLongerThanItSays",
              with("Transfer-Encoding: chunked\r\n", "2\r\nhello\r\n0\r\n\r\n"), 400},
        Wrong{"ChunkTooLarge", with("Transfer-Encoding: chunked\r\n", "ffffffff\r\n"), 413},
        Wrong{"ChunkSizeOverflows", with("Transfer-Encoding: chunked\r\n", "fffffffffffffffff\r\n"),
              400},
        Wrong{"ChunkLineWithoutEnd",
              with("Transfer-Encoding: chunked\r\n", "1;" + std::string(20'000, 'x')), 431},
        Wrong{"TrailersWithoutEnd",
              with("Transfer-Encoding: chunked\r\n", "0\r\nx: " + std::string(20'000, 'x')), 431},
        Wrong{"BodyTooLarge", with("Content-Length: 8388609\r\n"), 413},
        Wrong{"HeaderTooLarge", with("X: " + std::string(20'000, 'x') + "\r\n"), 431},
        Wrong{"LineTooLong", "GET /" + std::string(20'000, 'x'), 431},
        Wrong{"IncompleteHeader", "GET / HTTP/1.1\r\nHost: loc", 400},
        Wrong{"BodyShorterThanItSays", with("Content-Length: 10\r\n", "short"), 400},
        Wrong{"UnendedChunks", with("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n"), 400},
        Wrong{"UnknownExpectation", with("Expect: the-unexpected\r\n"), 417},
        Wrong{"DotDot", "GET /a/../b HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
        Wrong{"BadEscape", "GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
        Wrong{"NoPath", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
        Wrong{"Connect", "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400}),
    [](const auto& wrong) { return std::string(wrong.param.name); });

TEST_F(HttpMessage, AHeaderThatComesInPiecesHasALimitToo) {
  start();
  raw::Client client(port());
  client.send("GET / HTTP/1.1\r\nHost: localhost\r\n");
  bool is_taken = true;
  for (int i = 0; i < 10'000 && is_taken && !client.has_input(); ++i) {
    is_taken = client.try_send("X-" + std::to_string(i) + ": " + std::string(100, 'x') + "\r\n");
  }
  EXPECT_EQ(client.read_answer().status, 431);
}

TEST_F(HttpMessage, WhoIsRefusedWhileSendingStillGetsTheAnswer) {
  start();
  raw::Client client(port());
  client.send(with("Content-Length: 8388609\r\n"));
  static_cast<void>(client.try_send(std::string(3'000'000, 'x')));
  EXPECT_EQ(client.read_answer().status, 413);
}

}  // namespace
