// error: an actor needs a handler on(M) for each message M in its list; is it public?
#include "account.hpp"

class Shop : public handoff::Actor<Shop, Deposit, Close> {
 public:
  void on(Deposit) {}
};
int main() {
  handoff::ActorSystem system;
  auto shop = system.spawn<Shop>();
  shop.send(Close{});
}
