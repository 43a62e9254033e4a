// The log of who has changed what.
#include <algorithm>
#include <string>
#include <vector>

#include "handoff/testing/manual_clock.hpp"
#include "server/api/few_lines.hpp"
#include "server/api_fixture.hpp"

namespace handoff::tests {
namespace {

std::vector<std::string> lines_with(const std::string& text, std::string_view part) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (line.find(part) != line.npos) found.push_back(std::move(line));
    at = end + 1;
  }
  return found;
}

TEST(FewLines, AreOneASecondAndTellHowManyOthersThereWere) {
  testing::ManualClock clock;
  server::FewLines lines;
  EXPECT_EQ(lines.next(), 0u);
  EXPECT_FALSE(lines.next());
  EXPECT_FALSE(lines.next());
  clock.advance(1s);
  EXPECT_EQ(lines.next(), 2u);
  clock.advance(1s);
  EXPECT_EQ(lines.next(), 0u);
}

TEST(Audit, HasALineForEachChangeByWhoMayAndFewForTheOthers) {
  constexpr int many = 500;
  const TimePoint began = now();
  ::testing::internal::CaptureStderr();
  {
    const tasks::Tasks tasks = tasks::open("memory:").value();
    auto& core = tasks::TasksAccess::core(tasks);
    const auto bearer = [&](std::string name, server::Role role) {
      return "Authorization: Bearer " +
             server::make_token(core, std::move(name), role, {}).value() + "\r\n";
    };
    const std::string admin = bearer("boss", server::Role::admin);
    const std::string shop = bearer("shop", server::Role::produce);
    server::Log log{{.format = server::LogFormat::json}};
    server::Api api{tasks, {}, log};
    server::HttpServer http{{}, api};
    http.start();
    for (const std::string& token : {std::string(), shop, admin}) {
      raw::Client client(http.port());
      const int number = token == admin ? 3 : many;
      for (int i = 0; i < number; ++i)
        client.send(raw::request("PUT", "/v1/queues/q", "{}", token));
      for (int i = 0; i < number; ++i) {
        ASSERT_EQ(client.read_answer().status, token.empty() ? 401 : token == shop ? 403 : 200);
      }
    }
    http.stop(within(10s));
  }
  const auto lines = lines_with(::testing::internal::GetCapturedStderr(), R"("audit")");
  const auto of = [&](std::string_view token) {
    return std::ranges::count_if(
        lines, [&](const std::string& line) { return line.find(token) != line.npos; });
  };
  const auto most = 1 + std::chrono::ceil<std::chrono::seconds>(now() - began).count();
  EXPECT_GE(of("(none)"), 1);
  EXPECT_LE(of("(none)"), most);
  EXPECT_GE(of("shop"), 1);
  EXPECT_LE(of("shop"), most);
  EXPECT_EQ(of("boss"), 3);
}

}  // namespace
}  // namespace handoff::tests
