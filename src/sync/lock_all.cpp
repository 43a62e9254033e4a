#include "handoff/lock_all.hpp"

#include <cstddef>
#include <stdexcept>

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {

void refuse_duplicates(std::span<const AnyLock> locks) {
  for (std::size_t i = 0; i < locks.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (locks[i].lock != locks[j].lock) continue;
      throw std::invalid_argument("lock_all() was given the same lock twice");
    }
  }
}

// Tries all but the one at `held`. Returns the first that is taken, with all tried before it let go; or locks.size().
std::size_t try_the_others(std::span<const AnyLock> locks, std::size_t held,
                           std::source_location where) {
  for (std::size_t i = 0; i < locks.size(); ++i) {
    if (i == held || locks[i].try_lock(locks[i].lock, where)) continue;
    for (std::size_t j = 0; j < i; ++j) {
      if (j != held) locks[j].unlock(locks[j].lock);
    }
    return i;
  }
  return locks.size();
}

}  // namespace

std::expected<void, Refusal> lock_each(std::span<const AnyLock> locks, const Wait& wait,
                                       std::source_location where) {
  refuse_duplicates(locks);
  std::size_t first = 0;
  while (true) {
    const AnyLock& held = locks[first];
    if (auto taken = held.acquire(held.lock, wait, where); !taken) return taken;
    const std::size_t missing = try_the_others(locks, first, where);
    if (missing == locks.size()) return {};
    held.unlock(held.lock);
    first = missing;
  }
}

AnyLock LockAllAccess::erase(SharedSide side) {
  return {.lock = &side.mutex,
          .acquire = [](void* any, const Wait& wait,
                        std::source_location where) -> std::expected<void, Refusal> {
            auto taken = static_cast<SharedMutex*>(any)->acquire_shared(wait, where);
            if (!taken) return std::unexpected(taken.error());
            taken->release();
            return {};
          },
          .try_lock =
              [](void* any, std::source_location where) {
                return static_cast<SharedMutex*>(any)->try_lock_shared(where);
              },
          .unlock = [](void* any) { static_cast<SharedMutex*>(any)->unlock_shared(); }};
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
