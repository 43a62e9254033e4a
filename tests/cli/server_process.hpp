// `handoff serve` as a process, on a port of its own.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "cli/program.hpp"
#include "handoff/testing/eventually.hpp"

namespace handoff::tests {

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
    std::smatch match;
    if (!std::regex_search(log, match, std::regex(R"("url":"https?://[^"]*:(\d+)\")"))) return 0;
    return static_cast<std::uint16_t>(std::stoi(match[1]));
  }

  Background process_;
  std::uint16_t port_ = 0;
};

}  // namespace handoff::tests
