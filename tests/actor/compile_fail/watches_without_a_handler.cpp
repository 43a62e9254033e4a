// error: to watch another, an actor needs a handler on(Terminated)
#include "account.hpp"

class Shop : public handoff::Actor<Shop, Close> {
 public:
  void on(Close) { watch(account_); }

 private:
  handoff::ActorRef<Account> account_;
};
int main() {
  handoff::ActorSystem system;
  system.spawn<Shop>().send(Close{});
}
