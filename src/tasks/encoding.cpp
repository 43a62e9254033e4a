#include "tasks/encoding.hpp"

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

namespace {
constexpr char mark = '~';
}

std::string Encoding::encode(std::string json) const {
  if (!codec_) return json;
  return fmt::format("{}{}:{}", mark, codec_->name(), to_base64(codec_->encode(json)));
}

std::optional<TaskError> Encoding::encode(NewTask& task, std::string_view prefix) const {
  if (!codec_) return std::nullopt;
  try {
    task.payload = encode(std::move(task.payload));
    return std::nullopt;
  } catch (const std::exception& error) {
    return TaskError{
        .code = TaskError::Code::bad_request,
        .message = fmt::format("{}payload cannot be encoded: {}", prefix, error.what()),
        .field = fmt::format("{}payload", prefix)};
  }
}

std::expected<std::string, std::string> Encoding::decode(std::string stored) const {
  if (!stored.starts_with(mark)) return stored;
  const std::size_t colon = stored.find(':');
  if (colon == std::string::npos) return std::unexpected("what is stored is cut off");
  const std::string_view name = std::string_view(stored).substr(1, colon - 1);
  if (!codec_) {
    return std::unexpected(
        fmt::format("it was encoded by \"{}\": open the store with that codec", name));
  }
  const auto bytes = from_base64(std::string_view(stored).substr(colon + 1));
  if (!bytes) return bytes;
  try {
    auto json = codec_->decode(name, *bytes);
    if (json) return json;
    return std::unexpected(fmt::format("it was encoded by \"{}\": {}", name, json.error()));
  } catch (const std::exception& error) {
    return std::unexpected(fmt::format("it was encoded by \"{}\": {}", name, error.what()));
  }
}

void Encoding::decode(Task& task) const {
  const auto decode_one = [&](const char* what, std::string& stored) {
    auto json = decode(stored);
    if (json) {
      stored = std::move(*json);
    } else {
      if (!task.undecoded.empty()) task.undecoded += "; ";
      task.undecoded += fmt::format("its {} cannot be decoded: {}", what, json.error());
    }
  };
  decode_one("payload", task.payload);
  if (task.result) decode_one("result", *task.result);
}

// Here what cannot be decoded is shown as it is stored: the tasks themselves say why.

void Encoding::decode(WorkflowLook& look) const {
  for (StepLook& each : look.steps) {
    if (!each.result) continue;
    if (auto json = decode(*each.result)) each.result = std::move(*json);
  }
}

void Encoding::decode(ScheduleLook& look) const {
  std::string& payload = look.schedule.task.payload;
  if (auto json = decode(payload)) payload = std::move(*json);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
