// error: this message has no answer: give it one with `using Reply = ...;`, or send() it
#include "account.hpp"

int main() {
  handoff::ActorSystem system;
  auto account = system.spawn<Account>();
  auto done = account.ask(Deposit{1}, 1s);
}
