// What was given to claims that have an id, so that it can be taken back if the answer was lost. The last ones: leases of those before them end by themselves.
// Thread safety: any member, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "handoff/mutex.hpp"
#include "tasks/store.hpp"

namespace handoff::server {

class ClaimBook {
 public:
  static constexpr std::size_t most_claims = 10'000;
  static constexpr std::size_t most_leases = 100'000;

  // A claim comes. If it came before, its answer was lost: what that has got is to be given back.
  struct Begun {
    std::uint64_t number = 0;
    std::vector<tasks::Outcome> lost{};
  };
  Begun begin(const std::string& claim) {
    const auto turn = lock_.hold();
    Entry& entry = entry_locked(claim);
    entry.number = ++last_;
    leases_ -= entry.taken.size();
    Begun begun{.number = entry.number, .lost = std::exchange(entry.taken, {})};
    forget_locked();
    return begun;
  }

  // What that one gets. False if it was released, or has come again: then nobody is to get it.
  bool note(const std::string& claim, std::uint64_t number, std::vector<tasks::Outcome> taken) {
    const auto turn = lock_.hold();
    Entry& entry = entry_locked(claim);
    if (entry.is_released || (entry.number != 0 && entry.number != number)) return false;
    leases_ += taken.size();
    entry.taken = std::move(taken);
    forget_locked();
    return true;
  }

  // What is to be given back. One that comes later gets nothing.
  std::vector<tasks::Outcome> release(const std::string& claim) {
    const auto turn = lock_.hold();
    Entry& entry = entry_locked(claim);
    entry.is_released = true;
    leases_ -= entry.taken.size();
    auto taken = std::exchange(entry.taken, {});
    forget_locked();
    return taken;
  }

 private:
  struct Entry {
    std::vector<tasks::Outcome> taken{};  // As they are given back.
    std::uint64_t number = 0;             // Of the last claim of that id.
    bool is_released = false;
  };

  Entry& entry_locked(const std::string& claim) {
    const auto [found, is_new] = entries_.try_emplace(claim);
    if (is_new) order_.push_back(claim);
    return found->second;
  }
  void forget_locked() {
    while (entries_.size() > 1 && (entries_.size() > most_claims || leases_ > most_leases)) {
      const auto oldest = entries_.find(order_.front());
      leases_ -= oldest->second.taken.size();
      entries_.erase(oldest);
      order_.pop_front();
    }
  }

  Mutex lock_{{.name = "claims by their ids"}};
  // Guarded by lock_.
  std::map<std::string, Entry> entries_;
  std::deque<std::string> order_;
  std::size_t leases_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace handoff::server
