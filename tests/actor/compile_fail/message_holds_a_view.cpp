// error: a message holds a pointer, a reference, a view or a const member
#include "account.hpp"

struct Login {
  int number;
  std::string_view name;
};
class Session : public handoff::Actor<Session, Login> {
 public:
  void on(const Login&) {}
};
int main() {
  handoff::ActorSystem system;
  system.spawn<Session>().send(Login{1, "bob"});
}
