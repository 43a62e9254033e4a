// A message whose type is known at run time only: to look at (MessageView), or to own (AnyMessage).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

namespace detail {

template <typename M>
constexpr std::string_view name_from_compiler() {
  // "... [with M = Deposit; ...]" or "... [M = Deposit]"
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  constexpr std::string_view mark = "M = ";
  const auto begin = text.find(mark) + mark.size();
  int depth = 0;
  auto end = begin;
  for (; end < text.size(); ++end) {
    const char each = text[end];
    if (each == '<' || each == '(' || each == '{') ++depth;
    if (each == '>' || each == ')' || each == '}') --depth;
    if (depth == 0 && (each == ';' || each == ']')) break;
  }
  return text.substr(begin, end - begin);
}

// As people call it: without its namespaces, and without those of what is in its angle brackets left out.
constexpr std::string_view without_namespaces(std::string_view name) {
  const auto head = name.substr(0, name.find('<'));
  const auto last = head.rfind("::");
  return last == std::string_view::npos ? name : name.substr(last + 2);
}

// Where a message lies in a mailbox: in place if it is small and its move does not throw, else on the heap.
inline constexpr std::size_t most_in_place = 64;

template <typename M>
inline constexpr bool fits_in_place =
    sizeof(M) <= most_in_place && alignof(M) <= alignof(std::max_align_t) / 2 &&
    std::is_nothrow_move_constructible_v<M>;

template <typename M>
struct Stored {
  using Type = std::conditional_t<fits_in_place<M>, M, M*>;

  template <typename Given>
  static void construct(void* place, Given&& given) {
    if constexpr (fits_in_place<M>) {
      std::construct_at(static_cast<M*>(place), std::forward<Given>(given));
    } else {
      *static_cast<M**>(place) = new M(std::forward<Given>(given));
    }
  }
  static M& get(void* place) {
    if constexpr (fits_in_place<M>) {
      return *static_cast<M*>(place);
    } else {
      return **static_cast<M**>(place);
    }
  }
  static void destroy(void* place) noexcept {
    if constexpr (fits_in_place<M>) {
      std::destroy_at(static_cast<M*>(place));
    } else {
      delete *static_cast<M**>(place);
    }
  }
  // Moves it, and destroys what was moved from.
  static void relocate(void* from, void* to) noexcept {
    if constexpr (fits_in_place<M>) {
      std::construct_at(static_cast<M*>(to), std::move(*static_cast<M*>(from)));
      std::destroy_at(static_cast<M*>(from));
    } else {
      *static_cast<M**>(to) = *static_cast<M**>(from);
    }
  }
};

// Its address says which type it is.
template <typename M>
inline constexpr char type_tag = 0;

// What can be done with a message of one type, as it lies in a mailbox.
struct MessageOps {
  std::string_view name;
  const void* type;
  std::size_t size;  // Where it lies.
  void (*destroy)(void* place) noexcept;
  void (*relocate)(void* from, void* to) noexcept;
  const void* (*get)(const void* place);
};

template <typename M>
inline constexpr MessageOps message_ops{.name = without_namespaces(name_from_compiler<M>()),
                                        .type = &type_tag<M>,
                                        .size = sizeof(typename Stored<M>::Type),
                                        .destroy = &Stored<M>::destroy,
                                        .relocate = &Stored<M>::relocate,
                                        .get = [](const void* place) -> const void* {
                                          return &Stored<M>::get(const_cast<void*>(place));
                                        }};

// A message that several actors get, of which there is one copy.
template <typename M>
struct SharedMessage {
  explicit SharedMessage(M&& given) : message(std::move(given)) {}
  void drop_reference() {
    // acq_rel: what others did with it happens before it is destroyed.
    if (references.fetch_sub(1, acq_rel) == 1) delete this;
  }
  atomic<std::uint32_t> references{1};
  const M message;
};

template <typename M>
inline constexpr MessageOps shared_message_ops{
    .name = message_ops<M>.name,
    .type = &type_tag<M>,
    .size = sizeof(SharedMessage<M>*),
    .destroy =
        [](void* place) noexcept { (*static_cast<SharedMessage<M>**>(place))->drop_reference(); },
    .relocate =
        [](void* from, void* to) noexcept {
          *static_cast<SharedMessage<M>**>(to) = *static_cast<SharedMessage<M>**>(from);
        },
    .get = [](const void* place) -> const void* {
      return &(*static_cast<SharedMessage<M>* const*>(place))->message;
    }};

}  // namespace detail

// Looks at a message that somebody else owns, while he lets it.
class MessageView {
 public:
  MessageView() = default;  // Of none.
  MessageView(const detail::MessageOps& ops, const void* message) : ops_(&ops), message_(message) {}

  explicit operator bool() const { return ops_ != nullptr; }
  // As it is declared, without its namespace.
  std::string_view type() const { return ops_ == nullptr ? std::string_view() : ops_->name; }
  // Null if it is of another type.
  template <typename M>
  const M* get_if() const {
    return ops_ != nullptr && ops_->type == &detail::type_tag<M> ? static_cast<const M*>(message_)
                                                                 : nullptr;
  }

 private:
  const detail::MessageOps* ops_ = nullptr;
  const void* message_ = nullptr;
};

// Owns a message. Move-only.
class AnyMessage {
 public:
  AnyMessage() = default;
  AnyMessage(AnyMessage&& other) noexcept { take_over(other); }
  AnyMessage& operator=(AnyMessage&& other) noexcept {
    if (this == &other) return *this;
    reset();
    take_over(other);
    return *this;
  }
  ~AnyMessage() { reset(); }

  template <typename M, typename Given>
  static AnyMessage of(Given&& given) {
    AnyMessage made;
    detail::Stored<M>::construct(made.place_, std::forward<Given>(given));
    made.ops_ = &detail::message_ops<M>;
    return made;
  }
  // Takes over the message at `from`, which is gone there afterwards.
  static AnyMessage from(const detail::MessageOps& ops, void* from) noexcept {
    AnyMessage made;
    ops.relocate(from, made.place_);
    made.ops_ = &ops;
    return made;
  }

  explicit operator bool() const { return ops_ != nullptr; }
  std::string_view type() const { return ops_ == nullptr ? std::string_view() : ops_->name; }
  // Null if it is of another type.
  template <typename M>
  const M* get_if() const {
    return view().get_if<M>();
  }
  MessageView view() const {
    return ops_ == nullptr ? MessageView() : MessageView(*ops_, ops_->get(place_));
  }
  // Moves it to `to`, and is empty then.
  void move_to(void* to) noexcept { std::exchange(ops_, nullptr)->relocate(place_, to); }

 private:
  void reset() {
    if (ops_ != nullptr) std::exchange(ops_, nullptr)->destroy(place_);
  }
  void take_over(AnyMessage& other) {
    if (other.ops_ == nullptr) return;
    other.ops_->relocate(other.place_, place_);
    ops_ = std::exchange(other.ops_, nullptr);
  }

  const detail::MessageOps* ops_ = nullptr;
  alignas(std::max_align_t) std::byte place_[detail::most_in_place];
};

}  // namespace handoff::inline HANDOFF_FLAVOUR
