// Whether a message can be handed to another thread: it is a value, and refers to nothing that its sender owns.
//
// What the language lets us see: of an aggregate, whether a member can be initialised by something that converts to pointers, views and what
// holds them only. Of containers and their like, what they hold. A class with constructors is trusted, and so is what comes after the first
// 24 members, where each element of a C array counts.
#pragma once

#include <concepts>
#include <cstddef>
#include <expected>
#include <functional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

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

// Around: those that are being looked at, since a type may hold others of itself.
template <typename M, typename... Around>
constexpr bool refers_to_others();

// Of a type that is no aggregate, what it holds as values, as far as it says so.
template <typename T, typename... Around>
struct Holds {
  static constexpr bool views = false;
};
template <typename T, typename... Around>
  requires requires { typename T::value_type; }  // A container, an optional.
struct Holds<T, Around...> {
  static constexpr bool views = refers_to_others<typename T::value_type, Around...>();
};
template <typename T, typename E, typename... Around>
struct Holds<std::expected<T, E>, Around...> {
  static constexpr bool views =
      refers_to_others<T, Around...>() || refers_to_others<E, Around...>();
};
template <typename First, typename Second, typename... Around>
struct Holds<std::pair<First, Second>, Around...> {
  static constexpr bool views =
      refers_to_others<First, Around...>() || refers_to_others<Second, Around...>();
};
template <typename... Ts, typename... Around>
struct Holds<std::tuple<Ts...>, Around...> {
  static constexpr bool views = (refers_to_others<Ts, Around...>() || ...);
};
template <typename... Ts, typename... Around>
struct Holds<std::variant<Ts...>, Around...> {
  static constexpr bool views = (refers_to_others<Ts, Around...>() || ...);
};

// Converts to whatever a member is. Never called; defined because clang misses what is only declared.
struct AnyProbe {
  template <typename T>
  operator T() const {  // NOLINT: implicit
    std::unreachable();
  }
};
// Converts to nothing, but for those that may refer, as a whole: else their first member would be tried in their place. It cannot be copied, and so not
// be kept by a std::any; what takes it all the same takes everything.
struct NoProbe {
  NoProbe() = default;
  NoProbe(const NoProbe&) = delete;
  template <typename T>
    requires may_refer<T>
  operator T() const&& {  // NOLINT: implicit
    std::unreachable();
  }
};
// Converts to what refers to others besides. Only by moving: so nothing else can be made of it by a constructor that takes either.
template <typename... Around>
struct ViewProbe {
  ViewProbe() = default;
  ViewProbe(const ViewProbe&) = delete;
  template <typename T>
    requires(may_refer<T> || refers_to_others<T, Around...>())
  operator T() const&& {  // NOLINT: implicit
    std::unreachable();
  }
};

inline constexpr std::size_t most_members = 24;

template <typename M, typename... Probes>
concept Takes = requires { M{Probes{}...}; };

template <std::size_t>
using Any = AnyProbe;

// How many members it has, as far as they are looked at. A reference that cannot be made of a value ends it at 0.
template <typename M, std::size_t Most>
constexpr std::size_t count_members() {
  constexpr bool takes_so_many = []<std::size_t... Is>(std::index_sequence<Is...>) {
    return Takes<M, Any<Is>...>;
  }(std::make_index_sequence<Most>());
  if constexpr (takes_so_many || Most == 0) {
    return Most;
  } else {
    return count_members<M, Most - 1>();
  }
}

template <typename M, typename... Around>
constexpr bool has_view_member() {
  constexpr std::size_t members = count_members<M, most_members>();
  const auto is_view_at = []<std::size_t Position, std::size_t... Before, std::size_t... Behind>(
                              std::index_sequence<Position>, std::index_sequence<Before...>,
                              std::index_sequence<Behind...>) {
    return Takes<M, Any<Before>..., ViewProbe<M, Around...>, Any<Behind>...> &&
           !Takes<M, Any<Before>..., NoProbe, Any<Behind>...>;
  };
  return [&]<std::size_t... Is>(std::index_sequence<Is...>) {
    return (is_view_at(std::index_sequence<Is>(), std::make_index_sequence<Is>(),
                       std::make_index_sequence<members - Is - 1>()) ||
            ...);
  }(std::make_index_sequence<members>());
}

template <typename M, typename... Around>
constexpr bool refers_to_others() {
  if constexpr (may_refer<M> || (std::same_as<M, Around> || ...)) {
    return false;
  } else if constexpr (is_view<M>) {
    return true;
  } else if constexpr (std::is_aggregate_v<M> && !std::is_array_v<M> && !std::is_empty_v<M>) {
    // A reference as a member, or a const one, cannot be assigned.
    return has_view_member<M, Around...>() ||
           (std::is_move_constructible_v<M> && !std::is_move_assignable_v<M>);
  } else {
    return Holds<M, M, Around...>::views;
  }
}

}  // namespace detail

// What can be sent: a value that can be moved, and refers to nothing that its sender owns.
template <typename M>
concept Message = std::is_object_v<M> && std::same_as<M, std::remove_cvref_t<M>> &&
                  std::move_constructible<M> && !detail::refers_to_others<M>();

}  // namespace handoff::inline HANDOFF_FLAVOUR
