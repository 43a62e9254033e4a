// beanstalkd: one connection puts, another reserves and deletes. It gets a twentieth of the tasks.
#include "../support/tasks/beanstalkd.hpp"

#include "../support/tasks/payload.hpp"
#include "workload.hpp"

namespace {

struct PutAndReserve {
  PutAndReserve(const bench::DiskFolder& folder, std::uint64_t) : server(folder) {}

  void produce(std::uint64_t count) {
    bench::Beanstalkd::Client client{server};
    for (std::uint64_t i = 0; i < count; ++i) client.put(bench::task_payload);
  }
  std::uint64_t consume(std::uint64_t count) {
    bench::Beanstalkd::Client client{server};
    for (std::uint64_t i = 0; i < count; ++i) client.remove(client.reserve());
    return count;
  }
  static std::string version() { return bench::Beanstalkd::version(); }

  bench::Beanstalkd server;
};

}  // namespace

int main(int argc, char** argv) { return bench::tasks_steady<PutAndReserve>(argc, argv, 20); }
