// One result, printed as one line of JSON for bench/run.
#pragma once

#include <concepts>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string_view>

namespace bench {

class JsonLine {
 public:
  // Begins with the facts that every C++ result carries. `version` names the contender's own version.
  explicit JsonLine(std::string_view version) {
    add("version", version);
#ifdef __clang__
    add("compiler", __VERSION__);
#else
    add("compiler", "g++ " __VERSION__);
#endif
#ifdef __OPTIMIZE__
    add("optimized", std::uint64_t{1});
#else
    add("optimized", std::uint64_t{0});
#endif
  }

  // Keys and texts are ours: none contains a quote or a backslash.
  void add(std::string_view key, std::string_view text) { begin(key) << '"' << text << '"'; }
  void add(std::string_view key, std::uint64_t value) { begin(key) << value; }
  void add(std::string_view key, double value) { begin(key) << std::setprecision(9) << value; }

  void print() const { std::cout << '{' << text_.str() << "}\n" << std::flush; }

 private:
  std::ostream& begin(std::string_view key) {
    if (text_.tellp() > 0) text_ << ", ";
    return text_ << '"' << key << "\": ";
  }

  std::ostringstream text_;
};

}  // namespace bench
