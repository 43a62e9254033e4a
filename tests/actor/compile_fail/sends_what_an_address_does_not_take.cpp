// error: this Address does not take this message
#include "account.hpp"

int main() {
  handoff::ActorSystem system;
  handoff::Address<Deposit> account = system.spawn<Account>();
  account.send(Balance{});
}
