// The code of docs/guide/pipelines.md. tests/docs/snippets keeps the two equal.
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <optional>
#include <string>

#include "handoff/pipeline.hpp"
#include "handoff/when.hpp"

namespace {

using namespace std::chrono_literals;

std::optional<std::string> next_line(std::deque<std::string>& file) {
  if (file.empty()) return std::nullopt;
  auto line = file.front();
  file.pop_front();
  return line;
}

std::optional<int> parse(const std::string& line) {
  if (line.empty()) return std::nullopt;
  return std::stoi(line);
}

handoff::Lazy<int> look_up(std::string name) {
  auto pause = co_await handoff::sleep_for(1ms);  // Say, a call to another server.
  co_return pause ? static_cast<int>(name.size()) : 0;
}

TEST(PipelinesGuide, ALine) {
  std::deque<std::string> file{"1", "", "2", "3"};
  int total = 0;
  handoff::WorkerPool pool{{.workers = 2, .capacity = 16}};

  handoff::Channel<std::string> lines{64};
  handoff::Channel<int> prices{64};

  handoff::Pipeline line{pool, {.name = "import"}};
  line.source(lines, [&] { return next_line(file); });        // std::optional: none ends it.
  line.stage(lines, prices, 4, parse, {.keep_order = true});  // std::optional: none filters out.
  line.sink(prices, 1, [&](int price) { total += price; });
  auto done = line.run();  // Throws the first error.

  EXPECT_TRUE(done);
  EXPECT_EQ(total, 6);
}

TEST(PipelinesGuide, ACoroutineAsAStage) {
  std::deque<std::string> file{"a", "bb"};
  int total = 0;
  handoff::WorkerPool pool{{.workers = 2, .capacity = 16}};
  handoff::Channel<std::string> names{1};
  handoff::Channel<int> sizes{1};
  handoff::Pipeline line{pool};
  line.source(names, [&] { return next_line(file); });
  line.stage(names, sizes, 2, look_up);
  line.sink(sizes, 1, [&](int size) { total += size; });
  EXPECT_TRUE(line.run());
  EXPECT_EQ(total, 3);
}

}  // namespace
