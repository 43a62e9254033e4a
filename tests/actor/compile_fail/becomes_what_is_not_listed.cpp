// error: this is no state of the actor: list it in its class, using States = std::tuple<...>;
#include "account.hpp"

struct Closed {
  void on(Deposit) {}
};
class Shop : public handoff::Actor<Shop, Deposit, Close> {
 public:
  void on(Deposit) {}
  void on(Close) { become(Closed{}); }
};
int main() {
  handoff::ActorSystem system;
  system.spawn<Shop>().send(Close{});
}
