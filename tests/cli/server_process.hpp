// `handoff serve` as a process, on a port of its own.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/program.hpp"
#include "handoff/testing/eventually.hpp"

namespace handoff::tests {

// What stands between the mark and the next quote; empty if it is not there, or not whole yet.
inline std::string text_behind(const std::string& text, std::string_view mark) {
  const auto at = text.find(mark);
  if (at == std::string::npos) return {};
  const auto end = text.find('"', at + mark.size());
  if (end == std::string::npos) return {};
  return text.substr(at + mark.size(), end - at - mark.size());
}

class Server {
 public:
  Server(const std::string& store, const std::filesystem::path& folder,
         std::vector<std::string> more = {})
      : process_(arguments(std::move(more)), store, folder) {
    testing::eventually([&] { return port_of(process_.err()) != 0; });
    port_ = port_of(process_.err());
  }
  std::uint16_t port() const { return port_; }
  void kill() {
    process_.signal(SIGKILL);
    process_.wait();
  }
  Ended stop() {
    process_.signal(SIGTERM);
    return process_.wait();
  }
  std::string log() const { return process_.err(); }
  pid_t id() const { return process_.id(); }

 private:
  static std::vector<std::string> arguments(std::vector<std::string> more) {
    std::vector<std::string> all{"serve"};
    if (std::ranges::find(more, "--listen") == more.end()) {
      all.insert(all.end(), {"--listen", "127.0.0.1:0"});
    }
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static std::uint16_t port_of(const std::string& log) {
    const std::string url = text_behind(log, "\"url\":\"");
    const auto colon = url.rfind(':');
    return colon == std::string::npos
               ? std::uint16_t{0}
               : static_cast<std::uint16_t>(std::stoi(url.substr(colon + 1)));
  }

  Background process_;
  std::uint16_t port_ = 0;
};

}  // namespace handoff::tests
