// Payloads and results as they are stored: JSON, or "~<codec>:<base64>", which no JSON begins like. In base64, because stores hold text.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "handoff/tasks/codec.hpp"
#include "handoff/tasks/error.hpp"
#include "handoff/tasks/schedule.hpp"
#include "handoff/tasks/task.hpp"
#include "handoff/tasks/workflow.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

class Encoding {
 public:
  explicit Encoding(std::shared_ptr<const PayloadCodec> codec) : codec_(std::move(codec)) {}

  bool is_plain() const { return codec_ == nullptr; }
  // Throws what the codec does.
  std::string encode(std::string json) const;
  // Its payload; or why that cannot be. `prefix` is put before the name of the field.
  std::optional<TaskError> encode(NewTask& task, std::string_view prefix) const;
  // Or why it cannot be.
  std::expected<std::string, std::string> decode(std::string stored) const;
  // What can be decoded of it.
  void decode(Task& task) const;
  void decode(WorkflowLook& look) const;
  void decode(ScheduleLook& look) const;

 private:
  const std::shared_ptr<const PayloadCodec> codec_;
};

std::string to_base64(std::string_view bytes);
std::expected<std::string, std::string> from_base64(std::string_view text);

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
