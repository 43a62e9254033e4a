// `handoff serve`: a store, its API, and a server for it, until a stop is requested.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "server/config.hpp"

namespace handoff::server {

// What to tell people once it listens.
struct Listening {
  std::string url;  // "http://127.0.0.1:8077"
  bool needs_token = false;
};

// Whether serve() could begin, as far as that can be told without doing it: the certificate, the store and its folder, and tokens if
// other machines can reach it. Opens a store that is there, and makes none.
[[nodiscard]] Configured check_to_serve(const Config& config);

// Returns once it has stopped: open requests are finished, waiting ones answered, within Config::grace. Throws std::runtime_error, for people, if it cannot begin.
void serve(const Config& config, const std::stop_token& stop,
           const std::function<void(const Listening&)>& on_listening);

}  // namespace handoff::server
