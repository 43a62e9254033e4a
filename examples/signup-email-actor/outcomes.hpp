// What became of each mail: sent, failed, or handed back when the program ended. One of these, once; that is checked.
//
// Here it is counted. A shop would keep it in its database, and send what was handed back after the next start.
//
// Thread safety: any member, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/monitor.hpp"
#include "mail.hpp"

namespace signup {

enum class Outcome : std::uint8_t { sent, failed, handed_back };

class Outcomes {
 public:
  struct Snapshot {
    std::array<std::uint64_t, 3> counts{};                   // By outcome.
    std::map<std::string, std::uint64_t, std::less<>> whys;  // Why mails have failed, and how many.
    std::uint64_t twice = 0;         // Mails with two outcomes: there must be none.
    std::uint64_t failed_tries = 0;  // Tries that were made in vain, and repeated.
    std::uint64_t waiting = 0;       // Mails that wait for the server now.

    std::uint64_t of(Outcome outcome) const { return counts[static_cast<std::size_t>(outcome)]; }
    std::uint64_t all() const { return counts[0] + counts[1] + counts[2]; }
  };

  void add(const Mail& mail, Outcome outcome, std::string_view why = {});
  void tried_in_vain();
  void set_waiting(std::uint64_t waiting);

  Snapshot snapshot() const;
  std::vector<std::uint64_t> all_with(Outcome outcome) const;  // The numbers of these mails.

 private:
  struct State {
    Snapshot sums;
    std::unordered_map<std::uint64_t, Outcome> by_mail;
  };
  mutable handoff::Monitor<State> state_{{.name = "outcomes"}};
};

}  // namespace signup
