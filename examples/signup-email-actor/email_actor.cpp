#include "email_actor.hpp"

#include <algorithm>
#include <utility>

namespace signup {

EmailActor::EmailActor(const EmailOptions& options, std::shared_ptr<Outcomes> outcomes)
    : options_(options),
      outcomes_(std::move(outcomes)),
      client_(options.server),
      delay_(options.first_delay) {}

void EmailActor::on(Mail mail) {
  if (backlog_.size() >= options_.backlog) {
    outcomes_->add(mail, Outcome::failed, "too many wait for the server");
    return;
  }
  backlog_.push_back({.mail = std::move(mail)});
  send_what_waits();
}

void EmailActor::on(TryAgain) {
  is_paused_ = false;
  send_what_waits();
}

void EmailActor::send_what_waits() {
  while (!is_paused_ && !backlog_.empty()) send_next();
  outcomes_->set_waiting(backlog_.size());
}

void EmailActor::send_next() {
  Waiting& next = backlog_.front();
  const Tried tried = client_.send(next.mail);
  ++next.tries;
  if (tried.what == Try::sent || tried.what == Try::refused) {
    delay_ = options_.first_delay;  // The server is there.
    const bool is_sent = tried.what == Try::sent;
    outcomes_->add(next.mail, is_sent ? Outcome::sent : Outcome::failed, tried.why);
    backlog_.pop_front();
    return;
  }
  if (next.tries >= options_.most_tries) {
    outcomes_->add(next.mail, Outcome::failed, tried.why);
    backlog_.pop_front();
  } else if (tried.what == Try::later) {
    std::ranges::rotate(backlog_, backlog_.begin() + 1);
  }
  pause();
}

void EmailActor::pause() {
  outcomes_->tried_in_vain();
  is_paused_ = true;
  after(delay_, TryAgain{});
  delay_ = std::min(2 * delay_, options_.most_delay);
}

void EmailActor::on_stop() {
  for (const Waiting& each : backlog_) outcomes_->add(each.mail, Outcome::handed_back);
  outcomes_->set_waiting(0);
}

handoff::ActorRef<EmailActor> spawn_email_actor(handoff::ActorSystem& system,
                                                const EmailOptions& options,
                                                const std::shared_ptr<Outcomes>& outcomes,
                                                std::size_t mailbox) {
  return system.spawn<EmailActor>(
      {.mailbox = {.capacity = mailbox, .when_full = handoff::WhenFull::reject},
       .name = "emails",
       .dedicated_thread = true},
      options, outcomes);
}

}  // namespace signup
