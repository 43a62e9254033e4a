// What every command has: the store, the two outputs, and whether somebody wants JSON.
#pragma once

#include <string>
#include <string_view>

#include "cli/output.hpp"
#include "handoff/tasks/tasks.hpp"

namespace handoff::cli {

// Whether a store that is not there may be made.
enum class StoreUse { look, hand_in };

struct Session {
  Session();

  std::string store;            // --store, HANDOFF_STORE, or sqlite:handoff.db.
  bool is_store_given = false;  // By --store.
  std::string token_file;  // --token-file, or HANDOFF_TOKEN_FILE: for a server that wants a token.
  std::string ca_file;     // --ca-file, or HANDOFF_CA_FILE.
  bool is_json = false;
  Output out;   // Data.
  Output talk;  // All else.

  // The one place where a store is opened. Throws Failure.
  tasks::Tasks open(StoreUse use = StoreUse::look) const;

  // `handoff: <message>` to standard error, at once.
  template <typename... Parts>
  void say(fmt::format_string<Parts...> format, Parts&&... parts) {
    say_line(fmt::format(format, std::forward<Parts>(parts)...));
  }

 private:
  void say_line(const std::string& message);
};

// Unless --store says another: HANDOFF_STORE, or sqlite:handoff.db.
std::string usual_store();

// The path of a "sqlite:" store; empty if it is another.
std::string file_of(std::string_view store);
// Whether a server has it.
bool is_server(std::string_view store);
// Throws Failure if it is: for what is done where the store is.
void must_be_here(std::string_view store, std::string_view what);

// `handoff ls` tells which there are.
Failure no_such_task(const tasks::TaskId& id);

// Asks on the terminal; `is_agreed` is --yes. Throws Failure if there is nobody to ask, or the answer is no.
void confirm(Session& session, bool is_agreed, std::string_view question);

}  // namespace handoff::cli
