// What was received and not yet used: small while a connection is idle, and larger as soon as more comes than fits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace handoff::server {

class ReadBuffer {
 public:
  bool is_empty() const { return begin_ == end_; }
  std::string_view data() const { return {bytes_.get() + begin_, end_ - begin_}; }
  void consume(std::size_t count) {
    begin_ += count;
    if (begin_ == end_) begin_ = end_ = 0;
  }

  // Where to put what comes next. There is always room for something.
  struct Room {
    char* to;
    std::size_t size;
  };
  Room room() {
    const bool is_short = capacity_ - end_ < smallest_room || (was_filled_ && capacity_ < largest);
    if (is_short) make_room();
    return {bytes_.get() + end_, capacity_ - end_};
  }
  void add(std::size_t count) {
    end_ += count;
    was_filled_ = end_ == capacity_;
  }

  // Gives back what an idle connection does not need.
  void shrink() {
    if (capacity_ <= smallest || !is_empty()) return;
    bytes_.reset();
    capacity_ = 0;
    was_filled_ = false;
  }

 private:
  static constexpr std::size_t smallest = 1024;
  static constexpr std::size_t largest = 64 * 1024;  // Unless more than that is held.
  static constexpr std::size_t smallest_room = 256;

  // Larger if it was too small for what came, else only the same in order.
  void make_room() {
    const auto held = end_ - begin_;
    const auto next = capacity_ == 0 ? smallest : std::min(capacity_ * 8, largest);
    const bool is_small = was_filled_ || held + smallest_room > capacity_;
    const auto wanted = is_small ? std::max(next, held + smallest) : capacity_;
    move_to(std::make_unique_for_overwrite<char[]>(wanted), wanted);
  }
  void move_to(std::unique_ptr<char[]> bytes, std::size_t capacity) {
    const auto held = end_ - begin_;
    if (held > 0) std::memcpy(bytes.get(), bytes_.get() + begin_, held);
    bytes_ = std::move(bytes);
    capacity_ = capacity;
    begin_ = 0;
    end_ = held;
    was_filled_ = false;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool was_filled_ = false;
};

}  // namespace handoff::server
