// The dashboard as browsers and others get it.
#include "server/api_fixture.hpp"
#include "server/web/web_answer.hpp"

namespace handoff::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr server::WebFile script{.path = "/assets/index-1f.js",
                                 .content_type = "text/javascript; charset=utf-8",
                                 .hash = "1f",
                                 .plain = "console.log('hello')",
                                 .gzip = "(compressed)"};
constexpr server::WebFile page{.path = "/index.html",
                               .content_type = "text/html; charset=utf-8",
                               .hash = "2e",
                               .plain = "<p>",
                               .gzip = "(longer)"};

std::string header(const server::Response& response, std::string_view name) {
  const auto found = std::ranges::find(response.headers, name, &server::Pairs::value_type::first);
  return found == response.headers.end() ? "(none)" : found->second;
}

server::Request asking(std::string accept, std::string tag = "") {
  server::Request request;
  request.accept_encoding = std::move(accept);
  request.if_none_match = std::move(tag);
  return request;
}

TEST(WebAnswer, IsCompressedForThoseWhoCanReadIt) {
  const auto small = web_answer(script, asking("br, gzip"));
  EXPECT_EQ(small.body, "(compressed)");
  EXPECT_EQ(header(small, "Content-Encoding"), "gzip");
  EXPECT_EQ(header(small, "Vary"), "Accept-Encoding");
  const auto plain = web_answer(script, asking(""));
  EXPECT_EQ(plain.body, script.plain);
  EXPECT_EQ(header(plain, "Content-Encoding"), "(none)");
  EXPECT_NE(header(plain, "ETag"), header(small, "ETag"));
  EXPECT_EQ(web_answer(page, asking("gzip")).body, page.plain);  // What would only grow is left.
}

TEST(WebAnswer, ReadsWhatAClientAccepts) {
  for (const auto* each : {"gzip", "br , GZIP", "gzip;q=0.5", "deflate, *", "gzip; q=1"}) {
    EXPECT_TRUE(server::accepts_gzip(each)) << each;
  }
  for (const auto* each : {"", "br", "gzip;q=0", "gzip; q=0.000, br", "xgzip", "identity"}) {
    EXPECT_FALSE(server::accepts_gzip(each)) << each;
  }
}

TEST(WebAnswer, IsNotSentTwice) {
  const std::string tag = header(web_answer(script, asking("gzip")), "ETag");
  const auto again = web_answer(script, asking("gzip", "\"other\", W/" + tag));
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(header(again, "ETag"), tag);
  EXPECT_EQ(web_answer(script, asking("gzip", "*")).status, 304);
  EXPECT_EQ(web_answer(script, asking("", tag)).status, 200);  // That one was compressed.
  EXPECT_EQ(web_answer(script, asking("gzip", "\"1\"")).status, 200);
}

TEST(WebAnswer, IsKeptForEverIfItsNameHasAHash) {
  EXPECT_THAT(header(web_answer(script, asking("")), "Cache-Control"), HasSubstr("immutable"));
  EXPECT_EQ(header(web_answer(page, asking("")), "Cache-Control"), "no-cache");
}

class Pages : public ApiTest {};

TEST_F(Pages, LetNothingElseIn) {
  const Reply front = get("/");
  EXPECT_EQ(front.status, 200);
  EXPECT_EQ(front.answer.header("content-type"), "text/html; charset=utf-8");
  const std::string policy = front.answer.header("content-security-policy");
  EXPECT_THAT(policy, HasSubstr("default-src 'self'"));
  EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(policy, HasSubstr("base-uri 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_EQ(front.answer.header("x-content-type-options"), "nosniff");
  EXPECT_EQ(front.answer.header("referrer-policy"), "no-referrer");
  EXPECT_THAT(front.answer.body, Not(HasSubstr("<style")));
  EXPECT_EQ(get("/assets/nothing.js").status, 404);
}

// With a dashboard inside its page names its parts, and all of them are there; without, it says so.
TEST_F(Pages, AreWholeOrSayWhatIsMissing) {
  if (server::web_files().empty()) {
    EXPECT_THAT(get("/").answer.body, HasSubstr("without its dashboard"));
    return;
  }
  for (const server::WebFile& each : server::web_files()) {
    const std::string path(each.path == "/index.html" ? "/" : each.path);
    EXPECT_EQ(get(path).answer.body, each.plain) << path;
    const Reply small = get(path, "Accept-Encoding: gzip\r\n");
    const bool is_smaller = each.gzip.size() < each.plain.size();
    EXPECT_EQ(small.answer.body, is_smaller ? each.gzip : each.plain) << path;
    EXPECT_EQ(each.gzip.substr(0, 2), "\x1f\x8b") << path;
    const std::string tag = "If-None-Match: " + small.answer.header("etag") + "\r\n";
    EXPECT_EQ(get(path, tag + "Accept-Encoding: gzip\r\n").status, 304) << path;
    if (each.path.starts_with("/assets/")) {
      EXPECT_THAT(get("/").answer.body, HasSubstr(std::string(each.path.substr(1))));
    }
  }
}

}  // namespace
}  // namespace handoff::tests
