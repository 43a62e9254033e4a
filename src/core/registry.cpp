// The registry behind waits() and snapshot(): every primitive that has a name or was waited for.
//
// Invariant: an entered primitive is on exactly one shard's list until retire() has returned, and
// a walk holds that shard's lock, so a primitive is never described while it is being destroyed.
// Lock order: a shard's lock, then a wait list's; never the other way round.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "handoff/detail/core/assert.hpp"
#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/core/simulation.hpp"
#include "handoff/detail/core/small_lock.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

namespace detail {

class Registry {
 public:
  static Registry& instance() {
    if constexpr (simulated_build) {
      // A run that fails may leave its own locked.
      if (sim::Slot* const slot = sim::slot(sim::Once::registry)) {
        if (slot->object == nullptr) {
          *slot = {.object = new Registry,
                   .destroy = [](void* object) { delete static_cast<Registry*>(object); }};
        }
        return *static_cast<Registry*>(slot->object);
      }
    }
    static auto* const registry = new Registry;  // Outlives primitives with static storage.
    return *registry;
  }

  void enter(Primitive& primitive) {
    Shard& shard = shard_of(primitive);
    SmallGuard guard(shard.lock);
    if (primitive.entered_.load(relaxed)) return;  // Under the lock that orders it.
    primitive.id_.store(last_id_.fetch_add(1, relaxed) + 1, relaxed);  // Only uniqueness matters.
    primitive.next_ = shard.front;
    if (shard.front != nullptr) shard.front->previous_ = &primitive;
    shard.front = &primitive;
    primitive.entered_.store(true, release);  // Pairs with the acquire in enter_registry().
  }

  void leave(Primitive& primitive) {
    Shard& shard = shard_of(primitive);
    SmallGuard guard(shard.lock);
    if (!primitive.entered_.load(relaxed))
      return;  // Under the lock that orders it, as the store below.
    (primitive.previous_ == nullptr ? shard.front : primitive.previous_->next_) = primitive.next_;
    if (primitive.next_ != nullptr) primitive.next_->previous_ = primitive.previous_;
    primitive.entered_.store(false, relaxed);
  }

  template <typename Visit>
  void for_each(Visit visit) {
    for (Shard& shard : shards_) {
      SmallGuard guard(shard.lock);
      for (Primitive* each = shard.front; each != nullptr; each = each->next_) visit(*each);
    }
  }

 private:
  struct alignas(cache_line) Shard {
    SmallLock lock;
    Primitive* front = nullptr;
  };

  // By address: a primitive needs no field to remember its shard.
  Shard& shard_of(const Primitive& primitive) {
    if constexpr (simulated_build) return shards_[0];  // A run does not depend on addresses.
    const auto address = reinterpret_cast<std::uintptr_t>(&primitive);
    return shards_[(address >> 6) * 0x9e3779b97f4a7c15ULL >> 59];
  }

  std::array<Shard, 32> shards_;
  atomic<std::uint64_t> last_id_{0};
};

// Relaxed: nobody else uses it any more.
Primitive::~Primitive() { HANDOFF_ASSERT(!entered_.load(relaxed)); }

void Primitive::enter_slow() { Registry::instance().enter(*this); }

void Primitive::retire() {
  // Nobody may wait for a primitive whose destructor has begun, so this cannot miss a late entry.
  // Pairs with the release in enter().
  if (entered_.load(acquire)) Registry::instance().leave(*this);
}

std::string Primitive::display_name() const {
  if (is_named()) return name_;
  const auto id = id_.load(relaxed);  // Written once; 0 if that is not seen yet.
  return id == 0 ? fmt::format("an unnamed {}", kind_) : fmt::format("{}#{}", kind_, id);
}

std::string Primitive::label() const {
  return is_named() ? fmt::format("{} \"{}\"", kind_, name_) : display_name();
}

}  // namespace detail

std::vector<NamedStats> snapshot() {
  std::vector<NamedStats> all;
  detail::Registry::instance().for_each([&](const detail::Primitive& each) {
    all.push_back({.kind = each.kind(), .name = each.display_name(), .stats = each.stats()});
  });
  std::ranges::sort(all, {}, &NamedStats::name);
  return all;
}

std::vector<WaitInfo> waits() {
  std::vector<WaitInfo> all;
  detail::Registry::instance().for_each(
      [&](const detail::Primitive& each) { each.report_waits(all); });
  std::ranges::sort(all, {}, &WaitInfo::since);
  return all;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
