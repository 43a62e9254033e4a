#include "tasks/quoted.hpp"

#include <fmt/core.h>

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

std::string quoted(std::string_view text, std::size_t most) {
  std::string shown = "\"";
  for (const char c : text.substr(0, most)) {
    if (c < ' ' || c > '~' || c == '"' || c == '\\')
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      shown += c;
  }
  if (text.size() > most) shown += "...";
  return shown + "\"";
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
