// Messages in a row, first in, first out, in chunks of memory that are there only while there are messages.
//
// A chunk is filled by senders, under the lock of the mailbox, and emptied by the actor: either all at once (take_all), and then without the lock, or one
// by one under it (front, pop). Cells of one lane are all of one size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "handoff/clock.hpp"
#include "handoff/detail/actor/message_view.hpp"
#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class ActorCell;
class ReplyCore;

// What an actor does with a message of one type. One object for each actor and message.
struct MessageHandler {
  MessageOps ops;
  // Calls the handler. Takes the reply if it has answered, or will; leaves the message to be destroyed.
  void (*handle)(ActorCell& cell, void* place, ReplyCore*& reply);
  std::uint8_t lane = 0;
};

// Of an address that is nobody's. It is never called.
inline constexpr MessageHandler no_handler{};

// The message itself lies behind it.
struct Envelope {
  const MessageHandler* handler;
  std::uintptr_t extra;  // See attachment.hpp.

  void* place() { return this + 1; }
  MessageView view() { return {handler->ops, handler->ops.get(place())}; }
};
static_assert(sizeof(Envelope) == 16);

struct Chunk {
  Chunk* next;
  TimePoint since;  // When the first of its messages came, by the coarse clock.
  std::uint32_t used;
  std::uint32_t capacity;
  std::uint32_t bytes;

  Envelope& cell(std::uint32_t position, std::uint32_t stride) {
    return *reinterpret_cast<Envelope*>(reinterpret_cast<std::byte*>(this + 1) +
                                        std::size_t{position} * stride);
  }
};
static_assert(sizeof(Chunk) % 8 == 0);

Chunk* new_chunk(std::uint32_t stride, bool is_first);
void free_chunk(Chunk* chunk) noexcept;

// Where the actor is in what it has taken.
struct Cursor {
  Chunk* chunk = nullptr;
  std::uint32_t position = 0;

  bool is_empty() const { return chunk == nullptr; }
  Envelope& current(std::uint32_t stride) const { return chunk->cell(position, stride); }
  void advance() {
    if (++position < chunk->used) return;
    free_chunk(std::exchange(chunk, chunk->next));
    position = 0;
  }
};

class Lane {
 public:
  bool is_empty() const { return front_.chunk == nullptr; }
  std::uint64_t size() const;

  // Room for one more, which is there once commit() was called. Throws std::bad_alloc, and has done nothing.
  Envelope& reserve(std::uint32_t stride) {
    if (back_ == nullptr || back_->used == back_->capacity) [[unlikely]]
      grow(stride);
    return back_->cell(back_->used, stride);
  }
  void commit() { ++back_->used; }
  // Both, with what construct(place) puts there. If that throws, nothing has happened.
  template <typename Construct>
  void add(const MessageHandler& handler, std::uintptr_t extra, std::uint32_t stride,
           const Construct& construct) {
    Envelope& envelope = reserve(stride);
    try {
      construct(envelope.place());
    } catch (...) {
      abandon_reserved();
      throw;
    }
    envelope.handler = &handler;
    envelope.extra = extra;
    commit();
  }
  // For one that could not be filled.
  void abandon_reserved();

  Envelope& front(std::uint32_t stride) const { return front_.current(stride); }
  // Once the first was moved away, or destroyed.
  void pop();
  Cursor take_all() {
    back_ = nullptr;
    return std::exchange(front_, Cursor());
  }
  // Moves the first to the end of another lane of the same actor's, `most` of them at most: whole chunks as they are. Returns how many.
  std::uint64_t move_to(Lane& other, std::uint64_t most, std::uint32_t stride);
  // When the oldest came, about.
  TimePoint since() const { return front_.chunk->since; }

 private:
  void grow(std::uint32_t stride);

  Cursor front_;
  Chunk* back_ = nullptr;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
