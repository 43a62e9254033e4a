// Who watches the clock for a queue whose rate is used up.
//
// Of many claims that wait for such a queue one wakes when its next permit comes. Who has got it goes, and rings another, which watches from then on: so a permit
// wakes two at most, however many wait.
//
//   never watched -> watched by one -> by nobody, and somebody is rung -> watched by one ...
//
// Who is rung may get a permit at once, instead of watching: then that, too, is for it to pass on. So whoever looks at a queue that nobody watches any more takes that
// over, and nobody forgets that the queue has a rate: there are as many of them as queues at most.
//
// Thread safety: any member, any thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "handoff/mutex.hpp"

namespace handoff::server {

class RateTurns {
 public:
  // Whether it is `who` that watches this queue: nobody did, or it does already.
  bool take(const std::string& queue, const void* who) {
    const auto turn = lock_.hold();
    const void*& watcher = watching_.try_emplace(queue, nullptr).first->second;
    if (watcher == nullptr) watcher = who;
    return watcher == who;
  }
  // If it was watched, and is not any more: `who` has got something there, and leaves soon.
  void take_over(const std::string& queue, const void* who) {
    const auto turn = lock_.hold();
    const auto found = watching_.find(queue);
    if (found != watching_.end() && found->second == nullptr) found->second = who;
  }
  // Nothing is left to be let through, as far as `who` has seen. True: it was the one, and somebody is to be rung, who may have seen more.
  bool give_up(const std::string& queue, const void* who) {
    const auto turn = lock_.hold();
    const auto found = watching_.find(queue);
    if (found == watching_.end() || found->second != who) return false;
    found->second = nullptr;
    return true;
  }
  // Those of its queues that it watched. Others who wait for these are to be rung.
  std::set<std::string> leave(const std::vector<std::string>& queues, const void* who) {
    std::set<std::string> left;
    for (const std::string& queue : queues) {
      if (give_up(queue, who)) left.insert(queue);
    }
    return left;
  }

 private:
  Mutex lock_{{.name = "turns at a rate"}};
  std::map<std::string, const void*> watching_;  // Null: nobody, for now.
};

}  // namespace handoff::server
