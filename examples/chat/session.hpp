// A client, as the others see it. It logs in, and then chats: two states with handlers of their own.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

#include "handoff/actor.hpp"
#include "messages.hpp"
#include "outgoing.hpp"

namespace chat {

class Session : public handoff::Actor<Session, Line, Deliver, Joined, TooLate> {
 public:
  struct LoggingIn {
    Session* session;
    handoff::Lazy<> on(Line line);  // Waits for the lobby's answer, and no thread with it.
    void on(TooLate too_late);
  };
  struct Chatting {
    Session* session;
    void on(const Line& line);
  };
  using States = std::tuple<LoggingIn, Chatting>;

  Session(std::shared_ptr<Outgoing> outgoing, handoff::ActorRef<Lobby> lobby,
          std::shared_ptr<Counts> counts);

  // Whatever the state.
  void on(const Deliver& deliver);
  void on(Joined joined);
  void on(TooLate) {}  // He is in.
  void on(const handoff::Terminated& room);
  void on_start();
  void on_stop();

 private:
  void tell(std::string text);
  void write(Frame frame);
  void join(std::string_view room);
  void say(std::string_view text);
  void leave();

  const std::shared_ptr<Outgoing> outgoing_;
  const handoff::ActorRef<Lobby> lobby_;
  const std::shared_ptr<Counts> counts_;
  std::string name_;
  handoff::ActorRef<Room> room_;  // Of nobody: in none.
  std::string room_name_;
};

}  // namespace chat
