// The textbook's timer list: std::multimap under a mutex. No thread waits for it: a floor for anything sorted.
#include <functional>
#include <map>
#include <mutex>

#include "workload.hpp"

namespace {

class MutexMultimap {
 public:
  MutexMultimap(std::size_t /*workers*/, std::size_t count) { handles_.reserve(count); }

  void arm(std::chrono::milliseconds due) {
    const auto at = std::chrono::steady_clock::now() + due;
    const std::lock_guard lock{mutex_};
    handles_.push_back(timers_.emplace(at, [this] { ++fired_; }));
  }

  bool cancel(std::size_t index) {
    const std::lock_guard lock{mutex_};
    timers_.erase(handles_[index]);
    return true;
  }

  std::uint64_t finish() { return fired_ + timers_.size(); }

  static std::string version() { return "libstdc++ " + std::to_string(_GLIBCXX_RELEASE); }

 private:
  using Timers = std::multimap<std::chrono::steady_clock::time_point, std::function<void()>>;

  std::mutex mutex_;
  Timers timers_;
  std::vector<Timers::iterator> handles_;
  std::uint64_t fired_ = 0;
};

}  // namespace

int main(int argc, char** argv) { return bench::timers<MutexMultimap>(argc, argv); }
