// error: a handler returns something else than its message's Reply
#include "account.hpp"

class Shop : public handoff::Actor<Shop, Balance> {
 public:
  std::string on(Balance) { return "a lot"; }
};
int main() {
  handoff::ActorSystem system;
  auto balance = system.spawn<Shop>().ask(Balance{}, 1s);
}
