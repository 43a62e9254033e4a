// What a browser gets.
#pragma once

#include <optional>
#include <string_view>

namespace chat::page {

struct File {
  std::string_view path;
  std::string_view type;
  std::string_view text;
};

std::optional<File> find(std::string_view path);

}  // namespace chat::page
