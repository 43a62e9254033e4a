// A program that uses durable tasks, in the way its users do.
#include <handoff/tasks/payload.hpp>
#include <string>

struct WelcomeEmail {
  std::string to;
};
BOOST_DESCRIBE_STRUCT(WelcomeEmail, (), (to))

int main() {
  const auto json = handoff::tasks::to_json(WelcomeEmail{"new@example.org"});
  if (!json) return 1;
  const auto mail = handoff::tasks::from_json<WelcomeEmail>(*json);
  return mail && mail->to == "new@example.org" ? 0 : 2;
}
