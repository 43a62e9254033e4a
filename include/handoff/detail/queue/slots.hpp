// Room for a fixed number of items, which are made and destroyed one by one by whoever holds the queue's lock.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

template <typename T>
class Slots {
 public:
  explicit Slots(std::size_t count)
      : memory_(static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t(alignof(T))))) {}

  T& operator[](std::size_t slot) const { return memory_.get()[slot]; }
  void fill(std::size_t slot, T&& item) const {
    std::construct_at(memory_.get() + slot, std::move(item));
  }
  void empty(std::size_t slot) const { std::destroy_at(memory_.get() + slot); }

 private:
  struct Free {
    void operator()(T* memory) const {
      ::operator delete(static_cast<void*>(memory), std::align_val_t(alignof(T)));
    }
  };

  const std::unique_ptr<T, Free> memory_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
