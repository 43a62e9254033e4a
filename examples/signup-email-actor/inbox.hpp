// What the test server has received, which survives the server, and whom it takes mail for.
//
// Thread safety: any member, any thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/monitor.hpp"

namespace signup {

struct Received {
  std::string from;
  std::vector<std::string> to;
  std::string text;  // As it was before it was sent: the dots are undone.
};

enum class Taken : std::uint8_t { yes, never, not_now };

class Inbox {
 public:
  // Everybody but nobody@...; late@... is told to come again, the first time.
  Taken takes(std::string_view address);
  void add(Received mail);
  void count_connection();

  std::vector<Received> mails() const;
  std::uint64_t size() const;
  std::uint64_t connections() const;

 private:
  struct State {
    std::vector<Received> mails;
    std::set<std::string, std::less<>> told_to_come_again;
    std::uint64_t connections = 0;
  };
  mutable handoff::Monitor<State> state_{{.name = "inbox"}};
};

}  // namespace signup
