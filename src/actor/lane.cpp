#include "handoff/detail/actor/lane.hpp"

#include <algorithm>

#include "handoff/detail/core/coarse_clock.hpp"
#include "handoff/detail/coro/frame_memory.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {
// A mailbox with a few messages is small, and one that fills up is not made of small pieces. Both are sizes of which memory is recycled.
constexpr std::uint32_t first_bytes = 128;
constexpr std::uint32_t later_bytes = 1024;
}  // namespace

Chunk* new_chunk(std::uint32_t stride, bool is_first) {
  const std::uint32_t header = sizeof(Chunk);
  const std::uint32_t bytes = std::max(is_first ? first_bytes : later_bytes, header + stride);
  auto* const chunk = static_cast<Chunk*>(allocate_frame(bytes));
  chunk->next = nullptr;
  chunk->since = coarse_now();
  chunk->used = 0;
  chunk->capacity = (bytes - header) / stride;
  chunk->bytes = bytes;
  return chunk;
}

void free_chunk(Chunk* chunk) noexcept { free_frame(chunk, chunk->bytes); }

void Lane::grow(std::uint32_t stride) {
  Chunk* const chunk = new_chunk(stride, back_ == nullptr);
  if (back_ == nullptr) {
    front_ = {.chunk = chunk, .position = 0};
  } else {
    back_->next = chunk;
  }
  back_ = chunk;
}

// A chunk without messages must not stay: others take it that there is one in each.
void Lane::abandon_reserved() {
  if (back_ == nullptr || back_->used > 0) return;
  Chunk* before = nullptr;
  for (Chunk* each = front_.chunk; each != back_; each = each->next) before = each;
  free_chunk(back_);
  back_ = before;
  if (before == nullptr) {
    front_ = {};
  } else {
    before->next = nullptr;
  }
}

std::uint64_t Lane::move_to(Lane& other, std::uint64_t most, std::uint32_t stride) {
  std::uint64_t moved = 0;
  while (moved < most && !is_empty()) {
    Chunk* const chunk = front_.chunk;
    if (front_.position == 0 && chunk->used <= most - moved) {
      front_.chunk = std::exchange(chunk->next, nullptr);
      if (front_.is_empty()) back_ = nullptr;
      if (other.back_ == nullptr) {
        other.front_ = {.chunk = chunk, .position = 0};
      } else {
        other.back_->next = chunk;
      }
      other.back_ = chunk;
      moved += chunk->used;
      continue;
    }
    Envelope& to = other.reserve(stride);
    Envelope& from = front(stride);
    to.handler = from.handler;
    to.extra = from.extra;
    from.handler->ops.relocate(from.place(), to.place());
    other.commit();
    pop();
    ++moved;
  }
  return moved;
}

void Lane::pop() {
  front_.advance();
  if (front_.is_empty()) back_ = nullptr;
}

std::uint64_t Lane::size() const {
  std::uint64_t size = 0;
  for (const Chunk* each = front_.chunk; each != nullptr; each = each->next) size += each->used;
  return size - front_.position;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
