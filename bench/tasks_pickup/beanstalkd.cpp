// beanstalkd: one connection puts, another waits in reserve. A reserve is not written to the binlog: one sync, not two.
#include "../support/tasks/beanstalkd.hpp"

#include <functional>

#include "../support/tasks/payload.hpp"
#include "workload.hpp"

namespace {

class Reserve {
 public:
  Reserve(const bench::DiskFolder& folder, std::function<void()> begun)
      : server_(folder), client_(server_), thread_{[this, begun = std::move(begun)] {
          bench::Beanstalkd::Client worker{server_};
          for (;;) {
            const auto job = worker.reserve();
            if (job.data == "stop") return;
            begun();
            worker.remove(job);
          }
        }} {}
  void enqueue() { client_.put(bench::task_payload); }
  void stop() { client_.put("stop"); }
  static std::string version() { return bench::Beanstalkd::version(); }

 private:
  bench::Beanstalkd server_;
  bench::Beanstalkd::Client client_;
  std::jthread thread_;
};

}  // namespace

int main(int argc, char** argv) { return bench::tasks_pickup<Reserve>(argc, argv); }
