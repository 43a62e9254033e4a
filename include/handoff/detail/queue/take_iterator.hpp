// What range-for over a queue steps with: each step takes an item, and the end is a queue that is closed and drained.
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

template <typename Queue, typename T>
class TakeIterator {
 public:
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::input_iterator_tag;

  explicit TakeIterator(Queue& queue) : queue_(&queue) { ++*this; }
  T& operator*() const { return *item_; }
  TakeIterator& operator++() {
    item_.reset();
    if (auto next = queue_->take()) item_.emplace(std::move(*next));
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const TakeIterator& it, std::default_sentinel_t) { return !it.item_; }

 private:
  Queue* queue_;
  mutable std::optional<T> item_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
