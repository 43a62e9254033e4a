// Counts what the program allocates. Replaces operator new, so only one file of a test program may include it.
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

namespace handoff::tests {

inline thread_local int allocations = 0;                // By this thread.
inline std::atomic<long> allocations_of_all = 0;        // By all threads,
inline std::atomic<unsigned long> allocated_bytes = 0;  // and how much.

inline void* counted_new(std::size_t size, std::size_t alignment) {
  ++allocations;
  ++allocations_of_all;
  allocated_bytes += size;
  const auto rounded = (size + alignment - 1) / alignment * alignment;
  if (void* memory = std::aligned_alloc(alignment, rounded)) return memory;
  throw std::bad_alloc();
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
HANDOFF_TEST_REPLACEMENT void operator delete(void* memory) noexcept { std::free(memory); }
HANDOFF_TEST_REPLACEMENT void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
HANDOFF_TEST_REPLACEMENT void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
HANDOFF_TEST_REPLACEMENT void operator delete(void* memory, std::size_t,
                                              std::align_val_t) noexcept {
  std::free(memory);
}
