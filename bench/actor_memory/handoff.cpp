// handoff::Actor with room for a thousand messages, of which none is there.
#include "../support/actors/handoff.hpp"

#include <vector>

#include "workload.hpp"

namespace {

struct Number {
  std::uint64_t value;
};

class Adder : public handoff::Actor<Adder, Number> {
 public:
  Adder() { bench::JobCounts::mine().add_spawned(1); }

  void on(Number number) {
    sum_ += number.value;
    bench::JobCounts::mine().add_job(sum_);
  }

 private:
  std::uint64_t sum_ = 0;
};

class HandoffIdle {
 public:
  explicit HandoffIdle(std::size_t workers) : system_{{.workers = workers, .name = "bench"}} {}

  ~HandoffIdle() { bench::shut_down(system_); }

  void spawn(std::uint64_t actors) {
    actors_.reserve(actors);
    for (std::uint64_t i = 0; i < actors; ++i) {
      actors_.push_back(system_.spawn<Adder>(bench::actor_options()));
    }
  }

  void send_numbers() {
    std::uint64_t number = 0;
    for (auto& each : actors_) bench::must(each.send(Number{++number}));
  }

  static std::string version() { return "this commit"; }

 private:
  handoff::ActorSystem system_;
  std::vector<handoff::ActorRef<Adder>> actors_;
};

}  // namespace

int main(int argc, char** argv) { return bench::actor_memory<HandoffIdle>(argc, argv); }
