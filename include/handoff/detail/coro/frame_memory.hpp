// The memory of coroutine frames and of tasks, and what is kept of where their exceptions came from.
//
// Frames come and go with every call of a coroutine: they are recycled by size, first by the thread that freed them, then in batches by
// all. What is kept is bounded: 32 blocks a size and thread, 64 batches of 16 a size for all, sizes up to 1 KiB. Larger
// frames, and all of them under AddressSanitizer, are allocated as usual.
#pragma once

#include <cstddef>
#include <exception>
#include <new>

#include "handoff/detail/core/task.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// Never inline: in the body of a coroutine the compiler might keep the address of another thread's list.
void* allocate_frame(std::size_t size);
void free_frame(void* frame, std::size_t size) noexcept;

// For a class whose objects are made for one coroutine each.
struct InFrameMemory {
  static void* operator new(std::size_t size) { return allocate_frame(size); }
  static void operator delete(void* object, std::size_t size) { free_frame(object, size); }
};

// Remembers through whom the exception came, if that was asked for: see async_trace.hpp. Called by the first coroutine it
// leaves and by each after it.
void note_trace_of(const std::exception_ptr& error, const PromiseBase& promise) noexcept;

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
