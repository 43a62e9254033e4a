// The arguments of one measurement: "--name value" pairs, each with a default.
#pragma once

#include <charconv>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bench {

class Arguments {
 public:
  // Throws std::invalid_argument for anything but pairs of "--name value".
  Arguments(int count, char** values) {
    for (int i = 1; i < count; i += 2) {
      const std::string_view name = values[i];
      if (!name.starts_with("--") || i + 1 == count) {
        throw std::invalid_argument("expected --name value, got " + std::string{name});
      }
      given_.emplace(name.substr(2), values[i + 1]);
    }
  }

  // Throws std::invalid_argument unless the value is a whole number of at least 1.
  std::uint64_t number(std::string_view name, std::uint64_t otherwise) const {
    const auto found = given_.find(name);
    if (found == given_.end()) return otherwise;
    const std::string& text = found->second;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value == 0) {
      throw std::invalid_argument("--" + std::string{name} +
                                  " must be a whole number of at least 1, got " + text);
    }
    return value;
  }

 private:
  std::map<std::string, std::string, std::less<>> given_;
};

}  // namespace bench
