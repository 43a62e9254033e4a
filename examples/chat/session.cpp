#include "session.hpp"

#include <fmt/core.h>

#include <utility>

#include "lobby.hpp"
#include "room.hpp"

namespace chat {

using namespace std::chrono_literals;

namespace {
constexpr auto time_to_log_in = 30s;
}

Session::Session(std::shared_ptr<Outgoing> outgoing, handoff::ActorRef<Lobby> lobby,
                 std::shared_ptr<Counts> counts)
    : outgoing_(std::move(outgoing)), lobby_(std::move(lobby)), counts_(std::move(counts)) {}

void Session::on_start() {
  ++counts_->sessions;
  become(LoggingIn{this});
  after(time_to_log_in, TooLate{});
}

void Session::on_stop() {
  outgoing_->end(Goodbye::going_away);  // Unless it was ended for a reason of its own.
  ++counts_->ended;
}

// -- Logging in -----------------------------------------------------------------------------------

handoff::Lazy<> Session::LoggingIn::on(Line line) {
  Session& self = *session;
  const auto name = chat::after(line.text, "login");
  if (!name || !is_name(*name)) {
    self.tell("sorry first log in, with up to 20 letters and digits");
    co_return;
  }
  Enter enter{.name = std::string(*name), .who = self.self()};
  const auto is_in = co_await self.lobby_.async_ask(std::move(enter), 10s);
  if (!is_in || !*is_in) {
    self.tell(is_in ? "sorry that name is taken" : "sorry we are busy");
    co_return;
  }
  self.name_ = *name;
  self.tell(fmt::format("welcome {}", *name));
  self.become(Chatting{&self});
}

void Session::LoggingIn::on(TooLate) {
  session->outgoing_->end(Goodbye::not_wanted);
  session->stop();
}

// -- Chatting -------------------------------------------------------------------------------------

void Session::Chatting::on(const Line& line) {
  if (const auto text = chat::after(line.text, "say")) return session->say(*text);
  if (const auto room = chat::after(line.text, "join")) return session->join(*room);
  session->tell("sorry what? There is say, and join");
}

void Session::join(std::string_view room) {
  if (!is_name(room)) return tell("sorry a room has up to 20 letters and digits");
  leave();
  Join join{.room = std::string(room), .name = name_, .who = self()};
  if (!lobby_.send(std::move(join))) tell("sorry we are busy");
}

void Session::say(std::string_view text) {
  if (!is_text(text)) return tell("sorry up to 2000 bytes of text, please");
  // A room with much to do lets us wait: our client waits with us, since we do not take its next line meanwhile.
  if (!room_.send(Say{.who = self().id(), .text = std::string(text)})) {
    return tell("sorry nobody hears you: join a room");
  }
  ++counts_->said;
}

void Session::leave() {
  if (!room_) return;
  unwatch(room_);
  lobby_.send(Leave{.room = room_name_, .who = self().id()});
  room_ = {};
}

void Session::on(Joined joined) {
  leave();  // He has asked twice, and was faster than the answers.
  room_ = std::move(joined.room);
  room_name_ = std::move(joined.name);
  watch(room_);
  tell(fmt::format("joined {} {}", room_name_, joined.members));
}

// Only if it has failed: it does not end while somebody is there.
void Session::on(const handoff::Terminated&) {
  room_ = {};
  tell("sorry your room is gone: join one");
}

// -- To the client --------------------------------------------------------------------------------

void Session::on(const Deliver& deliver) { write(deliver.frame); }

void Session::tell(std::string text) {
  write(std::make_shared<const std::string>(std::move(text)));
}

void Session::write(Frame frame) {
  const auto added = outgoing_->add(std::move(frame));
  if (added || added.error() != handoff::Refusal::full) return;
  ++counts_->cut_off;
  outgoing_->end(Goodbye::too_slow);
  stop();
}

}  // namespace chat
