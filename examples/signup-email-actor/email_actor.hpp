// Sends the mails, one after the other. It owns the connection to the server, and all the trouble with it: nobody else
// waits for either.
//
// While the server is there, a mail is sent as soon as its turn comes. Once a try was in vain, all mails wait in the
// backlog, and a timer of the actor's own says when to try again: after 200 ms, then after twice as long each time, up to
// 30 s. A server that has answered "later" gets another mail next; one that was not there gets the same again, so that
// mails arrive in order.
//
// Nothing grows without a limit, and nothing is lost silently. The mailbox has a capacity, past which send() is refused;
// the backlog has one, past which a mail has failed; so has one after `most_tries`. When the actor ends, what waits in the
// backlog is handed back.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>

#include "handoff/actor.hpp"
#include "mail.hpp"
#include "outcomes.hpp"
#include "smtp_client.hpp"

namespace signup {

struct EmailOptions {
  SmtpServer server;
  std::size_t backlog = 1'000;  // Mails that wait while the server is down.
  std::size_t most_tries = 10;  // Of one mail.
  handoff::Duration first_delay = std::chrono::milliseconds(200);
  handoff::Duration most_delay = std::chrono::seconds(30);
};

struct TryAgain {};

class EmailActor : public handoff::Actor<EmailActor, Mail, TryAgain> {
 public:
  EmailActor(const EmailOptions& options, std::shared_ptr<Outcomes> outcomes);

  void on(Mail mail);
  void on(TryAgain again);
  void on_stop();

 private:
  struct Waiting {
    Mail mail;
    std::size_t tries = 0;
  };

  void send_what_waits();
  void send_next();
  void pause();

  const EmailOptions options_;
  const std::shared_ptr<Outcomes> outcomes_;
  SmtpClient client_;
  std::deque<Waiting> backlog_;
  bool is_paused_ = false;  // Until TryAgain.
  handoff::Duration delay_;
};

// With a thread of its own, since it blocks: for an SmtpClient that is no shame.
handoff::ActorRef<EmailActor> spawn_email_actor(handoff::ActorSystem& system,
                                                const EmailOptions& options,
                                                const std::shared_ptr<Outcomes>& outcomes,
                                                std::size_t mailbox);

}  // namespace signup
