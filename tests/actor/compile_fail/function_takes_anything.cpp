// error: an actor of a function takes one kind of message, by value or by reference to const, and names its type
#include "account.hpp"

int main() {
  handoff::ActorSystem system;
  auto sink = system.spawn([](auto) {});
}
