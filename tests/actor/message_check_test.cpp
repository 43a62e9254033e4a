// Which types may be messages. Each line is checked by the compiler.
#include <gtest/gtest.h>

#include <any>
#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <expected>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "handoff/actor.hpp"

namespace handoff {
namespace {

struct Framed {
  std::string_view line;
};
struct Twice {
  Framed first;
  Framed second;
};

}  // namespace

template <>
inline constexpr bool may_refer<Framed> = true;

namespace {

enum class Colour { red, green };
struct Ping {};
class Pinged : public Actor<Pinged, Ping> {
 public:
  void on(Ping) {}
};

// Aggregates in aggregates, in arrays, as bases, and of themselves.
struct House {
  int number;
  std::string owner;
};
struct Street {
  House corner;
  House houses[2];
  char name[8];
};
struct Tree {
  std::string name;
  std::vector<Tree> children;
  std::map<std::string, Tree> by_name;
  std::unique_ptr<Tree> next;
};
struct Derived : House {
  int floor;
};
struct NamedHouse {
  int number;
  std::string_view owner;
};
struct ViewedStreet {
  House corner;
  NamedHouse houses[2];
};
struct ViewedTree {
  std::vector<ViewedTree> children;
  std::optional<int*> mark;
};
struct DerivedOfView : NamedHouse {
  int floor;
};
struct AnyAndView {
  std::any first;
  std::string_view view;
};

// As a member of a message, alone and after others.
template <typename T>
struct Alone {
  T only;
};
template <typename T>
struct After {
  int number;
  std::optional<std::string> text;
  T last;
};
template <typename T>
struct BeforeView {
  T first;
  std::string_view view;
};

template <typename T>
void expect_value() {
  static_assert(Message<T>);
  static_assert(Message<Alone<T>> && Message<After<T>>);
  static_assert(!Message<BeforeView<T>>);  // It does not hide what follows it.
}
template <typename T>
void expect_refused() {
  static_assert(!Message<T>);
  static_assert(!Message<Alone<T>> && !Message<After<T>>);
}

TEST(MessageCheck, ValuesAndWhatOwnsThemMayBeSent) {
  expect_value<int>();
  expect_value<double>();
  expect_value<bool>();
  expect_value<std::byte>();
  expect_value<Colour>();
  expect_value<std::monostate>();
  expect_value<std::string>();
  expect_value<std::wstring>();
  expect_value<std::u8string>();
  expect_value<std::filesystem::path>();
  expect_value<std::chrono::nanoseconds>();
  expect_value<std::chrono::steady_clock::time_point>();
  expect_value<std::optional<int>>();
  expect_value<std::optional<bool>>();
  expect_value<std::optional<std::string>>();
  expect_value<std::optional<std::vector<std::string>>>();
  expect_value<std::optional<std::any>>();
  expect_value<std::expected<int, std::string>>();
  expect_value<std::expected<void, int>>();
  expect_value<std::vector<int>>();
  expect_value<std::vector<bool>>();
  expect_value<std::vector<std::vector<std::string>>>();
  expect_value<std::deque<std::string>>();
  expect_value<std::map<std::string, int>>();
  expect_value<std::set<int>>();
  expect_value<std::array<int, 4>>();
  expect_value<std::array<std::string, 2>>();
  expect_value<std::pair<int, std::string>>();
  expect_value<std::tuple<int, std::string, std::vector<int>>>();
  expect_value<std::variant<int, std::string>>();
  expect_value<std::variant<std::monostate, bool, std::string>>();
  expect_value<std::any>();
  expect_value<std::shared_ptr<int>>();
  expect_value<std::shared_ptr<const House>>();
  expect_value<std::weak_ptr<int>>();
  expect_value<std::unique_ptr<int>>();
  expect_value<std::unique_ptr<int, void (*)(int*)>>();
  expect_value<std::exception_ptr>();
  expect_value<std::function<void()>>();
  expect_value<std::function<int*(const char*)>>();
  expect_value<std::move_only_function<void(std::string_view)>>();
  expect_value<ActorRef<Pinged>>();
  expect_value<Address<Ping>>();
  expect_value<ReplyTo<int>>();
  expect_value<House>();
  expect_value<Street>();
  expect_value<Tree>();
  expect_value<Derived>();
}

TEST(MessageCheck, WhatHoldsAPointerOrAViewMayNot) {
  expect_refused<int*>();
  expect_refused<const char*>();
  expect_refused<void (*)()>();
  expect_refused<int House::*>();
  expect_refused<std::string_view>();
  expect_refused<std::wstring_view>();
  expect_refused<std::span<int>>();
  expect_refused<std::span<const std::byte, 4>>();
  expect_refused<std::reference_wrapper<int>>();
  expect_refused<std::optional<std::string_view>>();
  expect_refused<std::optional<int*>>();
  expect_refused<std::expected<std::string_view, int>>();
  expect_refused<std::expected<void, const char*>>();
  expect_refused<std::vector<std::string_view>>();
  expect_refused<std::vector<std::vector<int*>>>();
  expect_refused<std::map<int, std::string_view>>();
  expect_refused<std::array<std::string_view, 2>>();
  expect_refused<std::pair<int, std::string_view>>();
  expect_refused<std::tuple<int, int*>>();
  expect_refused<std::variant<int, const char*>>();
  expect_refused<NamedHouse>();
  expect_refused<ViewedStreet>();
  expect_refused<ViewedTree>();
  expect_refused<DerivedOfView>();
  expect_refused<AnyAndView>();
}

TEST(MessageCheck, AReferenceOrAConstMemberMayNot) {
  struct WithReference {
    std::string& name;
  };
  struct WithConstReference {
    int number;
    const std::string& name;
  };
  struct WithConst {
    const int number;
  };
  static_assert(!Message<WithReference> && !Message<WithConstReference> && !Message<WithConst>);
}

TEST(MessageCheck, CArraysAreLookedInto) {
  struct WithText {
    char text[64];
    int number;
  };
  struct WithPointers {
    int number;
    const char* names[3];
  };
  struct BeforePointer {
    char text[16];
    int* number;
  };
  static_assert(Message<WithText>);
  static_assert(!Message<WithPointers> && !Message<BeforePointer>);
}

TEST(MessageCheck, AMessageIsAMovableValue) {
  struct Pinned {
    Pinned() = default;
    Pinned(Pinned&&) = delete;
  };
  struct MoveOnly {
    std::unique_ptr<int> number;
  };
  static_assert(!Message<int&> && !Message<const int> && !Message<void> && !Message<int[3]>);
  static_assert(!Message<Pinned>);
  static_assert(Message<MoveOnly>);
}

TEST(MessageCheck, AClassWithConstructorsIsTrusted) {
  class Text {
   public:
    explicit Text(std::string text) : text_(std::move(text)), view_(text_) {}
    std::string_view view() const { return view_; }

   private:
    std::string text_;
    std::string_view view_;
  };
  static_assert(Message<Text> && Message<Alone<Text>>);
}

struct Greedy {
  Greedy() = default;
  template <typename T>
  Greedy(T&&) {}  // NOLINT: implicit
};

TEST(MessageCheck, AClassThatCanBeMadeOfEverythingIsTrusted) {
  static_assert(Message<Greedy> && Message<Alone<Greedy>>);
}

TEST(MessageCheck, OneThatSaysSoMayReferToOthersAlsoInsideAnother) {
  static_assert(Message<Framed> && Message<Twice> && Message<std::vector<Framed>>);
}

}  // namespace
}  // namespace handoff
