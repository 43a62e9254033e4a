// Counts every allocation of the process, those of the libraries included, by standing in for glibc's malloc;
// operator new ends there too. Include it in one file of a program. What a library carves out of blocks of its
// own is not seen.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace bench {

constinit inline std::atomic<std::uint64_t> allocations = 0;

inline std::uint64_t allocations_so_far() { return allocations.load(std::memory_order_relaxed); }

}  // namespace bench

extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) noexcept {
  bench::allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) noexcept {
  bench::allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, size);
}

void* realloc(void* old, std::size_t size) noexcept {
  bench::allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(old, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  bench::allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** result, std::size_t alignment, std::size_t size) noexcept {
  *result = aligned_alloc(alignment, size);
  return *result == nullptr ? ENOMEM : 0;
}

}  // extern "C"
