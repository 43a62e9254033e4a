// error: the arguments of an actor are kept, and copied into its constructor, so that it can be restarted
#include "account.hpp"

class Shop : public handoff::Actor<Shop, Close> {
 public:
  explicit Shop(std::unique_ptr<int>) {}
  void on(Close) {}
};
int main() {
  handoff::ActorSystem system;
  auto shop = system.spawn<Shop>({}, std::make_unique<int>(1));
}
