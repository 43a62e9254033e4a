// How payloads and results are stored: encrypted, or compressed. Without one they are JSON that everybody who has the file can read.
//
//   class Sealed final : public handoff::tasks::PayloadCodec {
//     std::string_view name() const override { return "sealed-2026"; }                       // of the key: it is stored with what it has encoded
//     std::string encode(std::string_view json) const override { return seal(json, key_); }  // any bytes
//     std::expected<std::string, std::string> decode(std::string_view name, std::string_view bytes) const override { ... }
//   };
//   auto tasks = handoff::tasks::open("sqlite:shop.db", {.codec = std::make_shared<Sealed>(keys)});
//
// - It is applied above the store: to payloads and results, and to nothing else. Kinds, unique keys, notes, logs and messages of errors are stored as they are.
// - What was stored before there was a codec is read as it is. What was encoded under an older name is decoded too, if decode() knows that name: so keys can be changed.
// - A task whose payload cannot be decoded fails with a message that says why, and is tried again as any other: a worker that has the key may come. The payload stays as it is.
// - get() and list() then show what is stored, and say why in Task::undecoded.
//
// Thread safety: any member, any thread, at once.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

class PayloadCodec {
 public:
  PayloadCodec() = default;
  PayloadCodec(const PayloadCodec&) = delete;
  PayloadCodec& operator=(const PayloadCodec&) = delete;
  virtual ~PayloadCodec() = default;

  // 1 to 64 of A-Z a-z 0-9 . _ -
  virtual std::string_view name() const = 0;
  // If it throws, the task is refused, or the handler has failed.
  virtual std::string encode(std::string_view json) const = 0;
  // What was encoded under that name; or why that cannot be.
  virtual std::expected<std::string, std::string> decode(std::string_view name,
                                                         std::string_view bytes) const = 0;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
