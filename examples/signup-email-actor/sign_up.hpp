// What the web server does when somebody signs up: check, remember, hand over the mail, answer. It never waits for a mail
// server.
//
// Thread safety: any member, any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "email_actor.hpp"
#include "handoff/actor.hpp"
#include "outcomes.hpp"

namespace signup {

enum class Answer : std::uint8_t { welcome, bad_name, bad_address };

class SignUps {
 public:
  SignUps(handoff::ActorRef<EmailActor> emails, std::shared_ptr<Outcomes> outcomes)
      : emails_(std::move(emails)), outcomes_(std::move(outcomes)) {}

  Answer sign_up(std::string_view name, std::string_view address);
  std::uint64_t count() const { return count_; }  // Who was told `welcome`.

 private:
  const handoff::ActorRef<EmailActor> emails_;
  const std::shared_ptr<Outcomes> outcomes_;
  std::atomic<std::uint64_t> count_ = 0;
};

}  // namespace signup
