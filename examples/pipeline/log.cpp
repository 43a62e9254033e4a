#include "log.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace log_pipeline {

namespace {
// Takes the next word off the line.
std::string_view next_word(std::string_view& line) {
  const auto end = std::min(line.find(' '), line.size());
  const auto word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

template <typename Number>
bool read_number(std::string_view word, Number& number) {
  const auto read = std::from_chars(word.data(), word.data() + word.size(), number);
  return read.ec == std::errc() && read.ptr == word.data() + word.size();
}
}  // namespace

std::optional<Record> parse(std::string_view line) {
  Record record;
  if (!read_number(next_word(line), record.time)) return std::nullopt;
  if (next_word(line) != "GET") return std::nullopt;
  const auto page = std::ranges::find(pages, next_word(line));
  if (page == pages.end()) return std::nullopt;
  record.page = static_cast<std::uint16_t>(page - pages.begin());
  if (!read_number(next_word(line), record.status)) return std::nullopt;
  if (!read_number(next_word(line), record.bytes) || !line.empty()) return std::nullopt;
  return record;
}

void Summary::add(const Record& record) {
  if (records_++ > 0) longest_pause_ = std::max(longest_pause_, record.time - last_time_);
  last_time_ = record.time;
  bytes_ += record.bytes;
  ++by_page_[record.page];
  outage_ = record.status >= 500 ? outage_ + 1 : 0;
  failures_ += outage_ > 0;
  longest_outage_ = std::max(longest_outage_, outage_);
}

Record Generator::next_record() {
  time_ += below(20) + (below(100'000) == 0 ? below(60'000) : 0);
  if (failing_ == 0 && below(10'000) == 0) failing_ = 1 + below(200);
  const bool fails = failing_ > 0;
  failing_ -= fails;
  return {.time = time_,
          .bytes = static_cast<std::uint32_t>(200 + below(20'000)),
          .status = static_cast<std::uint16_t>(fails            ? 503
                                               : below(50) == 0 ? 404
                                                                : 200),
          .page = static_cast<std::uint16_t>(below(pages.size()))};
}

const std::string& Generator::next() {
  if (below(1'000) == 0) {  // The server was killed in the middle of a line.
    line_ = "17000000\n";
    so_far_.add_broken();
    return line_;
  }
  const Record record = next_record();
  line_ = fmt::format("{} GET {} {} {}\n", record.time, pages[record.page], record.status,
                      record.bytes);
  so_far_.add(record);
  return line_;
}

}  // namespace log_pipeline
