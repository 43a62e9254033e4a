// The log of a web server: how a line is written and read, and what we want to know of many.
//
//   1700000000123 GET /cart 200 5123
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace log_pipeline {

inline constexpr std::array<std::string_view, 6> pages{"/",     "/search", "/product",
                                                       "/cart", "/pay",    "/help"};

struct Record {
  std::uint64_t time = 0;  // Milliseconds.
  std::uint32_t bytes = 0;
  std::uint16_t status = 0;
  std::uint16_t page = 0;
};

// None if the line is broken.
std::optional<Record> parse(std::string_view line);

// Needs the records in order: an outage is a row of failures, and a pause the time between neighbours.
class Summary {
 public:
  void add(const Record& record);
  void add_broken() { ++broken_; }

  std::uint64_t lines() const { return records_ + broken_; }
  std::uint64_t broken() const { return broken_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t failures() const { return failures_; }
  std::uint64_t longest_outage() const { return longest_outage_; }  // Failures in a row.
  std::uint64_t longest_pause() const { return longest_pause_; }    // Milliseconds.
  const std::array<std::uint64_t, pages.size()>& by_page() const { return by_page_; }

  bool operator==(const Summary&) const = default;

 private:
  std::uint64_t records_ = 0;
  std::uint64_t broken_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t failures_ = 0;
  std::uint64_t outage_ = 0;  // Failures in a row up to now.
  std::uint64_t longest_outage_ = 0;
  std::uint64_t last_time_ = 0;
  std::uint64_t longest_pause_ = 0;
  std::array<std::uint64_t, pages.size()> by_page_{};
};

// Makes the lines of a log, the same for the same seed, and knows what is in them.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  // The next line, with its end. Good until the next call.
  const std::string& next();
  const Summary& so_far() const { return so_far_; }

 private:
  Record next_record();
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  std::mt19937_64 random_;
  std::uint64_t time_ = 1'700'000'000'000;
  std::uint64_t failing_ = 0;  // So many more will fail.
  std::string line_;
  Summary so_far_;
};

}  // namespace log_pipeline
