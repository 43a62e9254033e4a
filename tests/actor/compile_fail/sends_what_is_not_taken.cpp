// error: this actor does not take this message: it is not in the list of its Actor<...>
#include "account.hpp"

int main() {
  handoff::ActorSystem system;
  auto account = system.spawn<Account>();
  account.send(Close{});
}
