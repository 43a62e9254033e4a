// Counts what the program allocates. Replaces operator new, so only one file of a test program may include it.
#pragma once

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace handoff::tests {

inline thread_local int allocations = 0;                // By this thread.
inline std::atomic<long> allocations_of_all = 0;        // By all threads,
inline std::atomic<unsigned long> allocated_bytes = 0;  // and how much;
inline std::atomic<long> allocated_now = 0;             // and how much of it is not freed.

inline void* counted_new(std::size_t size, std::size_t alignment) {
  ++allocations;
  ++allocations_of_all;
  allocated_bytes += size;
  const auto rounded = (size + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  allocated_now += static_cast<long>(::malloc_usable_size(memory));
  return memory;
}
inline void counted_delete(void* memory) {
  allocated_now -= static_cast<long>(::malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace handoff::tests

// Not inlined: g++ would take free() for the wrong counterpart of a new expression.
#define HANDOFF_TEST_REPLACEMENT __attribute__((noinline))

HANDOFF_TEST_REPLACEMENT void* operator new(std::size_t size) {
  return handoff::tests::counted_new(size, alignof(std::max_align_t));
}
HANDOFF_TEST_REPLACEMENT void* operator new(std::size_t size, std::align_val_t alignment) {
  return handoff::tests::counted_new(size, static_cast<std::size_t>(alignment));
}
HANDOFF_TEST_REPLACEMENT void operator delete(void* memory) noexcept {
  handoff::tests::counted_delete(memory);
}
HANDOFF_TEST_REPLACEMENT void operator delete(void* memory, std::size_t) noexcept {
  handoff::tests::counted_delete(memory);
}
HANDOFF_TEST_REPLACEMENT void operator delete(void* memory, std::align_val_t) noexcept {
  handoff::tests::counted_delete(memory);
}
HANDOFF_TEST_REPLACEMENT void operator delete(void* memory, std::size_t,
                                              std::align_val_t) noexcept {
  handoff::tests::counted_delete(memory);
}
