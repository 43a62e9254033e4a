// Whether a message can be handed to another thread: it is a value, and refers to nothing that its sender owns.
//
// What the language lets us see: of an aggregate, whether a member can be initialised by something that converts to pointers and views only. A class
// with constructors is trusted.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

// Says that a message may hold pointers or views all the same: what they point to outlives it, and is not changed meanwhile.
//
//   template <> inline constexpr bool handoff::may_refer<Frame> = true;
template <typename M>
inline constexpr bool may_refer = false;

namespace detail {

template <typename T>
inline constexpr bool is_view =
    std::is_pointer_v<T> || std::is_reference_v<T> || std::is_member_pointer_v<T>;
template <typename C, typename T>
inline constexpr bool is_view<std::basic_string_view<C, T>> = true;
template <typename T, std::size_t N>
inline constexpr bool is_view<std::span<T, N>> = true;
template <typename T>
inline constexpr bool is_view<std::reference_wrapper<T>> = true;

// Converts to whatever a member is.
struct AnyProbe {
  template <typename T>
  operator T() const;  // NOLINT: implicit
};
// Converts to pointers and views only, and only by moving: so nothing else can be made of it by a constructor that takes either.
struct ViewProbe {
  template <typename T>
    requires is_view<T>
  operator T() &&;  // NOLINT: implicit
};
// The same shape, and converts to nothing: for members that take everything.
struct NoProbe {};

template <typename M, typename Last, std::size_t... Before>
constexpr bool takes_last(std::index_sequence<Before...>) {
  return requires { M{(static_cast<void>(Before), AnyProbe{})..., Last{}}; };
}

inline constexpr std::size_t most_members = 24;

template <typename M, std::size_t Position = 0>
constexpr bool has_view_member() {
  if constexpr (Position == most_members) {
    return false;
  } else {
    using Before = std::make_index_sequence<Position>;
    if constexpr (!takes_last<M, AnyProbe>(Before())) {
      return false;
    } else if constexpr (takes_last<M, ViewProbe>(Before()) && !takes_last<M, NoProbe>(Before())) {
      return true;
    } else {
      return has_view_member<M, Position + 1>();
    }
  }
}

template <typename M>
constexpr bool refers_to_others() {
  if constexpr (may_refer<M>) {
    return false;
  } else if constexpr (is_view<M>) {
    return true;
  } else if constexpr (std::is_aggregate_v<M> && !std::is_array_v<M> && !std::is_empty_v<M>) {
    // A reference as a member, or a const one, cannot be assigned.
    return has_view_member<M>() ||
           (std::is_move_constructible_v<M> && !std::is_move_assignable_v<M>);
  } else {
    return false;
  }
}

}  // namespace detail

// What can be sent: a value that can be moved, and refers to nothing that its sender owns.
template <typename M>
concept Message = std::is_object_v<M> && std::same_as<M, std::remove_cvref_t<M>> &&
                  std::move_constructible<M> && !detail::refers_to_others<M>();

}  // namespace handoff::inline HANDOFF_FLAVOUR
