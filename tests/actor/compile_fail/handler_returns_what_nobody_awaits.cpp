// error: a handler returns something, but its message does not say what it is: add `using Reply = ...;`
#include "account.hpp"

class Shop : public handoff::Actor<Shop, Close> {
 public:
  bool on(Close) { return true; }
};
int main() {
  handoff::ActorSystem system;
  system.spawn<Shop>().send(Close{});
}
