// handoff::Actor that refuses what its mailbox has no room for.
#include "../support/actors/handoff.hpp"

#include "workload.hpp"

namespace {

struct Number {
  std::uint64_t value;
};

class Handler : public handoff::Actor<Handler, Number> {
 public:
  void on(Number number) { bench::handle_slowly(number.value); }
};

class HandoffOverloaded {
 public:
  explicit HandoffOverloaded(std::size_t workers)
      : system_{{.workers = workers, .name = "bench"}},
        actor_{system_.spawn<Handler>({.mailbox = {.capacity = bench::mailbox_capacity,
                                                   .when_full = handoff::WhenFull::reject}})} {}

  ~HandoffOverloaded() { bench::shut_down(system_); }

  bool send(std::uint64_t number) { return actor_.send(Number{number}).has_value(); }

  static std::string version() { return "this commit"; }

 private:
  handoff::ActorSystem system_;
  handoff::ActorRef<Handler> actor_;
};

}  // namespace

int main(int argc, char** argv) { return bench::actor_overload<HandoffOverloaded>(argc, argv); }
