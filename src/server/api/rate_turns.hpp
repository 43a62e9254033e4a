// Who watches the clock for a queue whose rate is used up.
//
// Of many claims that wait for such a queue one wakes when its next permit comes. Who has got it goes, and rings another, which watches from then on: so a permit
// wakes two at most, however many wait.
//
// Thread safety: any member, any thread.
#pragma once

#include <map>
#include <set>
#include <string>

#include "handoff/mutex.hpp"

namespace handoff::server {

class RateTurns {
 public:
  // Whether it is `who` that watches this queue: nobody did, or it does already.
  bool take(const std::string& queue, const void* who) {
    const auto turn = lock_.hold();
    return watching_.try_emplace(queue, who).first->second == who;
  }
  // Its rate lets more through, or nothing is left to be let through.
  void give_up(const std::string& queue, const void* who) {
    const auto turn = lock_.hold();
    const auto found = watching_.find(queue);
    if (found != watching_.end() && found->second == who) watching_.erase(found);
  }
  // All that it watched. Others who wait for these are to be rung.
  std::set<std::string> leave(const void* who) {
    const auto turn = lock_.hold();
    std::set<std::string> queues;
    std::erase_if(watching_, [&](const auto& entry) {
      if (entry.second == who) queues.insert(entry.first);
      return entry.second == who;
    });
    return queues;
  }

 private:
  Mutex lock_{{.name = "turns at a rate"}};
  std::map<std::string, const void*> watching_;
};

}  // namespace handoff::server
