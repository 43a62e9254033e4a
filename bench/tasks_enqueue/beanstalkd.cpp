// beanstalkd: put, over a connection each.
#include "../support/tasks/beanstalkd.hpp"

#include "../support/tasks/payload.hpp"
#include "workload.hpp"

namespace {

struct Put {
  explicit Put(const bench::DiskFolder& folder) : server(folder) {}

  struct Caller {
    explicit Caller(Put& all) : client(all.server) {}
    void enqueue() { client.put(bench::task_payload); }
    bench::Beanstalkd::Client client;
  };
  static std::string version() { return bench::Beanstalkd::version(); }

  bench::Beanstalkd server;
};

}  // namespace

int main(int argc, char** argv) { return bench::tasks_enqueue<Put>(argc, argv); }
