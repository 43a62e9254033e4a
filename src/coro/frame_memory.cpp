#include "handoff/detail/coro/frame_memory.hpp"

#include <array>
#include <utility>

#include "handoff/detail/core/small_lock.hpp"

#if defined(__SANITIZE_ADDRESS__) || (defined(HANDOFF_SIMULATED) && HANDOFF_SIMULATED)
#define HANDOFF_RECYCLES_FRAMES 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HANDOFF_RECYCLES_FRAMES 0
#endif
#endif
#if !defined(HANDOFF_RECYCLES_FRAMES)
#define HANDOFF_RECYCLES_FRAMES 1
#endif

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {

constexpr std::size_t granularity = 64;
constexpr std::size_t sizes = 16;  // Up to 1 KiB.
constexpr std::size_t batch_size = 16;
constexpr std::size_t most_kept = 2 * batch_size;
constexpr std::size_t most_batches = 64;

struct Block {
  Block* next = nullptr;
  Block* next_batch = nullptr;  // Of the first of a batch, among all.
};

constexpr std::size_t class_of(std::size_t size) { return (size - 1) / granularity; }
constexpr std::size_t bytes_of(std::size_t size_class) { return (size_class + 1) * granularity; }

// Batches for all threads.
struct alignas(cache_line) Depot {
  SmallLock lock;
  // Guarded by lock.
  Block* batches = nullptr;
  std::size_t count = 0;

  bool put(Block* batch) {
    SmallGuard guard(lock);
    if (count == most_batches) return false;
    batch->next_batch = std::exchange(batches, batch);
    ++count;
    return true;
  }
  Block* take() {
    SmallGuard guard(lock);
    if (batches == nullptr) return nullptr;
    --count;
    return std::exchange(batches, batches->next_batch);
  }
};

std::array<Depot, sizes>& depots() {
  static constinit std::array<Depot, sizes> all;  // Outlives every thread.
  return all;
}

void free_all(Block* block) {
  while (block != nullptr) ::operator delete(std::exchange(block, block->next));
}

// A thread's own.
class KeptFrames {
 public:
  ~KeptFrames() {
    is_gone_ = true;
    for (List& each : lists_) free_all(std::exchange(each.front, nullptr));
  }

  void* take(std::size_t size_class) {
    if (is_gone_) return nullptr;
    List& list = lists_[size_class];
    if (list.front == nullptr) {
      list.front = depots()[size_class].take();
      if (list.front == nullptr) return nullptr;
      list.count = batch_size;
    }
    --list.count;
    return std::exchange(list.front, list.front->next);
  }

  bool put(void* memory, std::size_t size_class) {
    if (is_gone_) return false;
    List& list = lists_[size_class];
    list.front = new (memory) Block{.next = list.front};
    if (++list.count == most_kept) hand_on_half(list, size_class);
    return true;
  }

 private:
  struct List {
    Block* front = nullptr;
    std::size_t count = 0;
  };

  static void hand_on_half(List& list, std::size_t size_class) {
    Block* const batch = list.front;
    Block* last = batch;
    for (std::size_t i = 1; i < batch_size; ++i) last = last->next;
    list.front = std::exchange(last->next, nullptr);
    list.count -= batch_size;
    if (!depots()[size_class].put(batch)) free_all(batch);
  }

  std::array<List, sizes> lists_;
  bool is_gone_ =
      false;  // The thread is ending, and frames may still be freed by what ends after this.
};

thread_local KeptFrames kept;

}  // namespace

[[gnu::noinline]] void* allocate_frame(std::size_t size) {
  const std::size_t size_class = class_of(size);
  if (HANDOFF_RECYCLES_FRAMES == 0 || size_class >= sizes) return ::operator new(size);
  if (void* const memory = kept.take(size_class)) return memory;
  return ::operator new(bytes_of(size_class));
}

[[gnu::noinline]] void free_frame(void* frame, std::size_t size) noexcept {
  const std::size_t size_class = class_of(size);
  if (HANDOFF_RECYCLES_FRAMES != 0 && size_class < sizes && kept.put(frame, size_class)) return;
  ::operator delete(frame);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
