// beanstalkd: reserve and delete, over eight connections. It has no batches, and syncs each delete; so it gets a tenth of the tasks.
#include "../support/tasks/beanstalkd.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include "../support/tasks/payload.hpp"
#include "workload.hpp"

namespace {

constexpr int clients = 8;

struct ReserveAndDelete {
  ReserveAndDelete(const bench::DiskFolder& folder, std::uint64_t) : server(folder) {}

  void fill(std::uint64_t count) {
    for_each_client(count,
                    [](bench::Beanstalkd::Client& client) { client.put(bench::task_payload); });
  }
  std::uint64_t process(std::uint64_t count) {
    std::atomic<std::uint64_t> done = 0;
    for_each_client(count, [&](bench::Beanstalkd::Client& client) {
      client.remove(client.reserve());
      ++done;
    });
    return done;
  }
  static std::string version() { return bench::Beanstalkd::version(); }

 private:
  template <typename Work>
  void for_each_client(std::uint64_t count, Work work) {
    std::atomic<std::int64_t> left = static_cast<std::int64_t>(count);
    std::vector<std::jthread> threads;
    for (int i = 0; i < clients; ++i) {
      threads.emplace_back([&] {
        bench::Beanstalkd::Client client{server};
        while (--left >= 0) work(client);
      });
    }
  }

  bench::Beanstalkd server;
};

}  // namespace

int main(int argc, char** argv) { return bench::tasks_process<ReserveAndDelete>(argc, argv, 10); }
