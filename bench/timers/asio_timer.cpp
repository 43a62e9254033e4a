// Boost.Asio steady_timer: async_wait and cancel. A cancelled timer's handler still runs, on a worker.
#include <atomic>
#include <boost/asio/steady_timer.hpp>

#include "../support/pools/asio.hpp"
#include "workload.hpp"

namespace {

class AsioTimers {
 public:
  AsioTimers(std::size_t workers, std::size_t count) : pool_{workers} { timers_.reserve(count); }

  void arm(std::chrono::milliseconds due) {
    timers_.emplace_back(pool_, due).async_wait([this](const boost::system::error_code& error) {
      if (!error) fired_.fetch_add(1, std::memory_order_relaxed);
    });
  }

  bool cancel(std::size_t index) { return timers_[index].cancel() == 1; }

  std::uint64_t finish() {
    pool_.join();
    return fired_.load();
  }

  static std::string version() { return bench::boost_version(); }

 private:
  boost::asio::thread_pool pool_;
  std::atomic<std::uint64_t> fired_ = 0;
  std::vector<boost::asio::steady_timer> timers_;
};

}  // namespace

int main(int argc, char** argv) { return bench::timers<AsioTimers>(argc, argv); }
