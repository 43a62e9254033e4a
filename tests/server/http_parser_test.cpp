// However bytes come in pieces, they are the same requests: else two who read them could disagree where one ends.
#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <string>

#include "server/parse_all.hpp"

namespace {

using http_test::parse_all;
using http_test::parse_at_once;
using http_test::Parsed;

const std::string sample =
    "\r\nGET /a?b=c HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\r\n"
    "POST /b HTTP/1.1\r\nhost: localhost:1\r\nContent-Length: 11\r\n\r\nhello world"
    "PUT /c HTTP/1.1\r\nHost: [::1]\r\nTransfer-Encoding: chunked\r\n\r\n"
    "5;x=y\r\nhello\r\n10\r\n0123456789abcdef\r\n0\r\nTrailer: 1\r\nAuthorization: evil\r\n\r\n"
    "\r\nDELETE /d HTTP/1.0\r\n\r\n";

TEST(RequestParser, SeveralRequestsInOnePieceAreTakenOneByOne) {
  const auto parsed = parse_at_once(sample);
  EXPECT_EQ(parsed.problem, 0);
  EXPECT_EQ(parsed.requests,
            (std::vector<std::string>{"GET /a|Bearer x|&b=c", "POST /b||hello world",
                                      "PUT /c||hello0123456789abcdef", "DELETE /d||"}));
}

TEST(RequestParser, WhereTheBytesAreSplitDoesNotMatter) {
  const auto whole = parse_at_once(sample);
  for (std::size_t size = 1; size < sample.size(); ++size) {
    EXPECT_EQ(parse_all(sample, [&] { return size; }), whole) << size;
  }
}

// A few bytes changed, so that most of them are wrong somehow.
TEST(RequestParser, NorDoesItInWhatIsWrong) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
  };
  constexpr std::string_view interesting = "\r\n:;, 0159aAfF\t/\\%?&=#HTchunked\0\xff";
  for (int i = 0; i < 20'000; ++i) {
    std::string text = sample;
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      text[below(text.size())] = interesting[below(interesting.size())];
    }
    const auto whole = parse_at_once(text);
    const auto in_pieces = parse_all(text, [&] { return 1 + below(40); });
    ASSERT_EQ(in_pieces.requests, whole.requests) << testing::PrintToString(text);
    ASSERT_EQ(in_pieces.problem == 0, whole.problem == 0) << testing::PrintToString(text);
  }
}

}  // namespace
