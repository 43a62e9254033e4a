#include "handoff/detail/core/places.hpp"

#include <fmt/core.h>

#include "handoff/detail/core/task.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

std::vector<std::source_location> places_of(const PromiseBase& promise) {
  std::vector<std::source_location> places;
  const auto add = [&](const std::source_location& place) {
    if (place.line() != 0)
      places.push_back(place);  // One that has not awaited anything yet is nowhere.
  };
  for (const PromiseBase* each = &promise; each != nullptr;) {
    add(each->at());
    if (each->awaiter() != nullptr) {
      each = each->awaiter();
    } else {
      add(each->task().where());
      each = each->task().parent();
    }
  }
  return places;
}

std::string_view file_of(const std::source_location& where) {
  const std::string_view file = where.file_name();
  return file.substr(file.rfind('/') + 1);
}

// "handoff::Lazy<int> shop::serve(Shop&)", or from GCC "void shop::serve(shop::serve(Shop&)::_ZN4shop5serveE.Frame*)", or from
// clang "handoff::Lazy<int> (anonymous namespace)::serve(Shop&)".
std::string_view function_of(const std::source_location& where) {
  constexpr std::string_view anonymous = "(anonymous namespace)::";
  std::string_view name = where.function_name();
  if (const auto at = name.find(anonymous); at < name.find('(') + 1) {
    name = name.substr(at + anonymous.size());
  }
  name = name.substr(0, name.find('('));
  // What stands before the name: a space that is not inside of <>.
  int depth = 0;
  for (std::size_t i = name.size(); i > 0; --i) {
    const char c = name[i - 1];
    if (c == '>') ++depth;
    if (c == '<') --depth;
    if (c == ' ' && depth == 0) return name.substr(i);
  }
  return name;
}

std::string to_string(const std::source_location& where) {
  return fmt::format("{}:{} ({})", file_of(where), where.line(), function_of(where));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
