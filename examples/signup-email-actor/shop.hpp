// All of it put together: the system, the EmailActor, and the sign-ups.
#pragma once

#include <cstddef>
#include <memory>

#include "email_actor.hpp"
#include "handoff/actor.hpp"
#include "outcomes.hpp"
#include "sign_up.hpp"

namespace signup {

class Shop {
 public:
  explicit Shop(const EmailOptions& options, std::size_t mailbox = 1'000)
      : sign_ups_(spawn_email_actor(system_, options, outcomes_, mailbox), outcomes_) {}

  SignUps& sign_ups() { return sign_ups_; }
  Outcomes& outcomes() { return *outcomes_; }

  // The mails that are still in the mailbox are sent, if the server is there; what is left is handed back.
  handoff::ActorShutdownReport end(const handoff::Shutdown& how) {
    auto report = system_.shutdown(how);
    for (const auto& each : report.handed_back) {
      if (const Mail* mail = each.message.get_if<Mail>()) {
        outcomes_->add(*mail, Outcome::handed_back);
      }
    }
    return report;
  }

 private:
  const std::shared_ptr<Outcomes> outcomes_ = std::make_shared<Outcomes>();
  handoff::ActorSystem system_{{.workers = 1, .name = "shop"}};
  SignUps sign_ups_;
};

}  // namespace signup
