// Where the shared state of futures comes from and goes to.
//
// It is made by the thread that submits and, if the future was dropped, freed by a worker: the pattern malloc likes least. So a
// worker keeps what it frees, and passes it on in batches to those who submit. All of it is ordinary memory: what finds
// no place is freed as usual, and nothing is lost if a pool ends first.
//
// Invariants:
// - Blocks are of one size; a larger state is allocated as usual.
// - A worker's list is its own. `returned_` is pushed to and emptied as a whole, so that nothing can come back in between.
//   What producers have taken from it is guarded by the lock under which they make jobs.
#pragma once

#include <cstddef>

#include "handoff/detail/core/atomic.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

struct FreeBlock {
  FreeBlock* next;
};

inline constexpr std::size_t future_block_size = 256;

// Blocks that one thread has freed. That thread's own.
class FreedBlocks {
 public:
  static constexpr std::size_t batch = 64;

  FreedBlocks() = default;
  FreedBlocks(const FreedBlocks&) = delete;
  FreedBlocks& operator=(const FreedBlocks&) = delete;
  ~FreedBlocks();

  void put(FreeBlock& block);
  void* take();  // Null if there is none.
  bool has_batch() const { return count_ >= batch; }
  // All of them, the last in `last`.
  FreeBlock* take_all(FreeBlock*& last);

 private:
  FreeBlock* first_ = nullptr;
  FreeBlock* last_ = nullptr;
  std::size_t count_ = 0;
};

// A pool's blocks on their way from its workers to those who submit.
class ReturnedBlocks {
 public:
  static constexpr std::size_t most_batches = 64;

  ReturnedBlocks() = default;
  ReturnedBlocks(const ReturnedBlocks&) = delete;
  ReturnedBlocks& operator=(const ReturnedBlocks&) = delete;
  ~ReturnedBlocks();

  void put_batch(FreedBlocks& blocks);
  void* take();  // By who holds the producers' lock. Null if there is none.

 private:
  atomic<FreeBlock*> returned_{nullptr};
  atomic<std::size_t> batches_{0};
  FreeBlock* taken_ = nullptr;  // Guarded by the producers' lock.
};

// The blocks of this thread, if it is a worker, or of the pool; else fresh memory. See the invariants for who may call it.
void* allocate_future(std::size_t size, ReturnedBlocks& returned);
void free_future(void* memory, std::size_t size) noexcept;

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
