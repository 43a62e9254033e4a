#include "tasks/time_zone.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "tasks/ascii.hpp"
#include "tasks/nearest.hpp"
#include "tasks/quoted.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {
namespace {

namespace chrono = std::chrono;
namespace fs = std::filesystem;
using chrono::seconds;
using chrono::sys_seconds;

constexpr const char* database = "/usr/share/zoneinfo";
constexpr std::size_t longest_name = 64;
constexpr std::size_t largest_file = std::size_t{1} << 20;  // The largest there is has 4 KiB.

// Whether it is safe to open a file of that name below the database.
bool is_name(std::string_view name) {
  const auto fits = [](char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '+' || c == '/';
  };
  return !name.empty() && name.size() <= longest_name && std::ranges::all_of(name, fits) &&
         name.front() != '/' && name.back() != '/' && name.find("//") == std::string_view::npos;
}

// The same zones again: with leap seconds in "right", which system_clock does not count.
bool is_copy(std::string_view name) {
  return name.starts_with("right/") || name.starts_with("posix/");
}

std::optional<std::string> contents(std::string_view name) {
  const fs::path path = fs::path(database) / name;
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > largest_file || error)
    return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.good() && !file.eof()) return std::nullopt;
  return bytes;
}

}  // namespace

// The parts of a file, which has a header and data for those who know 32 bits, and then the same again in 64.
class TimeZone::Parser {
 public:
  explicit Parser(std::string_view bytes) : rest_(bytes) {}

  std::expected<TimeZone, std::string> parse() {
    auto header = read_header();
    if (!header) return std::unexpected("it does not begin as a time zone file does");
    std::size_t size_of_time = 4;
    if (header->version >= '2') {
      if (!skip(size_of_data(*header, 4))) return std::unexpected("it ends too early");
      header = read_header();
      if (!header) return std::unexpected("its second header is missing");
      size_of_time = 8;
    }
    if (size_of_data(*header, size_of_time) > rest_.size())
      return std::unexpected("it ends too early");
    if (header->leap_seconds != 0) return std::unexpected("it counts leap seconds");
    if (auto good = read_data(*header, size_of_time); !good) return std::unexpected(good.error());
    if (size_of_time == 8)
      if (auto good = read_rule(); !good) return std::unexpected(good.error());
    return std::move(zone_);
  }

 private:
  struct Header {
    char version;
    std::size_t utc_flags, standard_flags, leap_seconds, times, types, letters;
  };

  bool skip(std::size_t size) {
    if (size > rest_.size()) return false;
    rest_.remove_prefix(size);
    return true;
  }

  // The caller knows that it is there. Big-endian, two's complement.
  std::int64_t take_number(std::size_t size) {
    const bool is_negative = static_cast<signed char>(rest_.front()) < 0;
    std::uint64_t number = is_negative ? ~std::uint64_t{0} : 0;
    for (std::size_t i = 0; i < size; ++i)
      number = number << 8 | static_cast<unsigned char>(rest_[i]);
    rest_.remove_prefix(size);
    return static_cast<std::int64_t>(number);
  }

  std::optional<Header> read_header() {
    if (rest_.size() < 44 || !rest_.starts_with("TZif")) return std::nullopt;
    Header header{};
    header.version = rest_[4];
    rest_.remove_prefix(20);
    for (auto* count : {&header.utc_flags, &header.standard_flags, &header.leap_seconds,
                        &header.times, &header.types, &header.letters})
      *count = static_cast<std::uint32_t>(take_number(4));
    return header;
  }

  // No overflow: the counts have 32 bits.
  static std::size_t size_of_data(const Header& header, std::size_t size_of_time) {
    return header.times * (size_of_time + 1) + header.types * 6 + header.letters +
           header.leap_seconds * (size_of_time + 4) + header.standard_flags + header.utc_flags;
  }

  std::expected<void, std::string> read_data(const Header& header, std::size_t size_of_time) {
    std::vector<sys_seconds> times;
    for (std::size_t i = 0; i < header.times; ++i) {
      times.emplace_back(seconds(take_number(size_of_time)));
      if (times.back() < beginning_of_time || times.back() > end_of_time)
        return std::unexpected("a time in it is out of range");
      if (i > 0 && times[i] <= times[i - 1]) return std::unexpected("its times are not in order");
    }
    const std::string_view types = rest_.substr(0, header.times);
    rest_.remove_prefix(header.times);

    std::vector<seconds> offsets;
    for (std::size_t i = 0; i < header.types; ++i) {
      offsets.emplace_back(take_number(4));
      rest_.remove_prefix(2);  // Whether it is daylight saving time, and what that is called.
      if (chrono::abs(offsets.back()) > chrono::hours(26))
        return std::unexpected("an offset in it is out of range");
    }
    if (offsets.empty()) return std::unexpected("it has no offsets");
    rest_.remove_prefix(header.letters + header.standard_flags + header.utc_flags);

    zone_.first_offset_ = offsets.front();
    for (std::size_t i = 0; i < header.times; ++i) {
      const auto type = static_cast<unsigned char>(types[i]);
      if (type >= offsets.size()) return std::unexpected("it uses an offset it does not have");
      zone_.changes_.push_back({times[i], offsets[type]});
    }
    return {};
  }

  // Between two line feeds, and empty if nobody knows what comes.
  std::expected<void, std::string> read_rule() {
    const auto end = rest_.find('\n', 1);
    if (!rest_.starts_with('\n') || end == std::string_view::npos)
      return std::unexpected("its last line is missing");
    const auto rule = rest_.substr(1, end - 1);
    if (rule.empty()) return {};
    zone_.afterwards_ = PosixZone::parse(rule);
    if (!zone_.afterwards_)
      return std::unexpected(fmt::format("its rule {} cannot be understood", quoted(rule)));
    return {};
  }

  std::string_view rest_;
  TimeZone zone_;
};

std::expected<TimeZone, std::string> TimeZone::read(std::string_view bytes) {
  return Parser(bytes).parse();
}

std::expected<TimeZone, std::string> TimeZone::find(std::string_view name) {
  if (name == "UTC") return TimeZone();
  if (!is_name(name))
    return std::unexpected(fmt::format(
        "must be the name of a time zone such as \"Europe/Berlin\", got {}", quoted(name)));
  if (const auto bytes = is_copy(name) ? std::nullopt : contents(name)) {
    if (auto zone = read(*bytes))
      return zone;
    else if (bytes->starts_with("TZif"))
      return std::unexpected(
          fmt::format("must be one that can be read, got {}: its file is damaged, {}", quoted(name),
                      zone.error()));
  }
  const auto known = time_zone_names();
  if (known.empty())
    return std::unexpected(
        fmt::format("must be UTC, got {}: the system has no time zones in {} (package tzdata)",
                    quoted(name), database));
  return std::unexpected(
      fmt::format("must be a known time zone, got {}{}", quoted(name),
                  did_you_mean(name, std::vector<std::string_view>(known.begin(), known.end()))));
}

ZoneSpan TimeZone::at(sys_seconds time) const {
  const auto next = std::ranges::upper_bound(changes_, time, {}, &Change::when);
  const bool is_last = next == changes_.end();
  ZoneSpan span{beginning_of_time, is_last ? end_of_time : next->when, first_offset_};
  if (next != changes_.begin()) {
    span.begin = std::prev(next)->when;
    span.offset = std::prev(next)->offset;
  }
  if (!is_last || !afterwards_) return span;
  const ZoneSpan by_rule = afterwards_->at(time);
  return {std::max(span.begin, by_rule.begin), by_rule.end, by_rule.offset};
}

std::vector<std::string> time_zone_names() {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::recursive_directory_iterator
           file(database, fs::directory_options::skip_permission_denied, error),
       end;
       !error && file != end; file.increment(error)) {
    const auto name = file->path().lexically_relative(database).string();
    if (is_copy(name + "/")) file.disable_recursion_pending();
    char magic[4] = {};
    if (!is_name(name) || !file->is_regular_file(error) ||
        !std::ifstream(file->path(), std::ios::binary).read(magic, 4))
      continue;
    if (std::string_view(magic, 4) == "TZif") names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
