// handoff::Actor: each holds a reference to the next.
#include "../support/actors/handoff.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "../support/actors/tally.hpp"
#include "workload.hpp"

namespace {

class Node;

struct Link {
  handoff::ActorRef<Node> next;
};
struct Token {
  std::uint64_t left;
  std::uint64_t sum;
};

class Node : public handoff::Actor<Node, Link, Token> {
 public:
  Node(std::uint64_t number, std::uint64_t hops, bench::Tally* tally)
      : number_(number), hops_(hops), tally_(tally) {}

  void on(Link link) { next_ = std::move(link.next); }

  void on(Token token) {
    if (token.left == 0) {
      tally_->report(hops_, token.sum);
    } else {
      bench::must(next_->send(Token{.left = token.left - 1, .sum = token.sum + number_}));
    }
  }

 private:
  const std::uint64_t number_;
  const std::uint64_t hops_;
  bench::Tally* const tally_;
  std::optional<handoff::ActorRef<Node>> next_;
};

class HandoffRing {
 public:
  explicit HandoffRing(const bench::RingShape& shape)
      : shape_(shape), tally_{shape.tokens}, system_{{.workers = shape.workers, .name = "bench"}} {
    for (std::uint64_t number = 0; number < shape.actors; ++number) {
      nodes_.push_back(system_.spawn<Node>(bench::actor_options(), number, shape.hops, &tally_));
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      bench::must(nodes_[i].send(Link{nodes_[(i + 1) % nodes_.size()]}));
    }
  }

  ~HandoffRing() { bench::shut_down(system_); }

  bench::JobTotals run() {
    for (std::uint64_t token = 0; token < shape_.tokens; ++token) {
      bench::must(nodes_[shape_.start_of(token)].send(Token{.left = shape_.hops, .sum = 0}));
    }
    return tally_.wait();
  }

  static std::string version() { return "this commit"; }

 private:
  const bench::RingShape shape_;
  bench::Tally tally_;
  handoff::ActorSystem system_;
  std::vector<handoff::ActorRef<Node>> nodes_;
};

}  // namespace

int main(int argc, char** argv) { return bench::actor_ring<HandoffRing>(argc, argv); }
