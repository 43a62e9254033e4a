// Objects with members that are JSON already: payloads and results. What is written around them would be too deep for JsonWriter, if they are as deep as may be.
//
//   JsonParts parts;
//   parts.add("payload", task.payload);
//   std::move(parts).joined_to(TaskJson{...})           // {"id":...,"payload":...}
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "handoff/tasks/payload.hpp"

namespace handoff::server {

class JsonParts {
 public:
  // `name` needs no escapes: a field's, or a step's. `json` is valid.
  void add(std::string_view name, std::string_view json) {
    text_.append(text_.empty() ? "\"" : ",\"").append(name).append("\":").append(json);
  }
  std::string object() && { return "{" + text_ + "}"; }
  // Behind the members of a described struct, of which all texts are known to be UTF-8.
  template <typename T>
  std::string joined_to(const T& value) && {
    auto json = tasks::to_json(value);
    std::string all = json ? std::move(*json).text() : R"({"error":"it cannot be shown as JSON"})";
    all.pop_back();
    if (!text_.empty()) all.append(all.size() > 1 ? "," : "").append(text_);
    return all + "}";
  }

 private:
  std::string text_;
};

}  // namespace handoff::server
