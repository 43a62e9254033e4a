#include "handoff/detail/pool/future_memory.hpp"

#include <new>
#include <utility>

#include "handoff/detail/pool/pool_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {

// AddressSanitizer should see every use of a state that is gone.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool recycles = false;
#else
constexpr bool recycles = true;
#endif

void free_chain(FreeBlock* first) {
  while (first != nullptr) ::operator delete(std::exchange(first, first->next));
}

}  // namespace

FreedBlocks::~FreedBlocks() { free_chain(first_); }

void FreedBlocks::put(FreeBlock& block) {
  block.next = first_;
  if (first_ == nullptr) last_ = &block;
  first_ = &block;
  ++count_;
}

void* FreedBlocks::take() {
  if (first_ == nullptr) return nullptr;
  --count_;
  return std::exchange(first_, first_->next);
}

FreeBlock* FreedBlocks::take_all(FreeBlock*& last) {
  last = last_;
  count_ = 0;
  return std::exchange(first_, nullptr);
}

ReturnedBlocks::~ReturnedBlocks() {
  free_chain(returned_.load(acquire));  // Pairs with the release in put_batch().
  free_chain(taken_);
}

void ReturnedBlocks::put_batch(FreedBlocks& blocks) {
  FreeBlock* last = nullptr;
  FreeBlock* const first = blocks.take_all(last);
  // A rough bound: nobody may be taking them.
  if (batches_.load(relaxed) >= most_batches) return free_chain(first);
  batches_.fetch_add(1, relaxed);
  last->next = returned_.load(relaxed);
  // Pairs with the exchange in take(): who takes a block sees that it was freed.
  while (!returned_.compare_exchange_weak(last->next, first, release, relaxed)) {
  }
}

void* ReturnedBlocks::take() {
  if (taken_ == nullptr) {
    // A guess, and a rough count; the exchange pairs with the release in put_batch().
    if (returned_.load(relaxed) == nullptr) return nullptr;
    batches_.store(0, relaxed);
    taken_ = returned_.exchange(nullptr, acquire);
    if (taken_ == nullptr) return nullptr;
  }
  return std::exchange(taken_, taken_->next);
}

void* allocate_future(std::size_t size, ReturnedBlocks& returned) {
  if (!recycles || size > future_block_size) return ::operator new(size);
  void* const block = this_worker != nullptr ? this_worker->freed.take() : returned.take();
  return block != nullptr ? block : ::operator new(future_block_size);
}

void free_future(void* memory, std::size_t size) noexcept {
  if (!recycles || size > future_block_size || this_worker == nullptr) {
    return ::operator delete(memory);
  }
  FreedBlocks& freed = this_worker->freed;
  freed.put(*::new (memory) FreeBlock{nullptr});
  if (freed.has_batch()) this_worker->pool.returned_blocks().put_batch(freed);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
