// The server of the test: this program, as another process. So each of the two may have ten thousand open files, and a
// signal ends it as it would any server.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace chat {

class ServerProcess {
 public:
  // Throws std::runtime_error if it does not come up.
  explicit ServerProcess(std::uint64_t clients);
  // Kills it, if it has not ended.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  std::uint16_t port() const { return port_; }
  pid_t id() const { return id_; }
  void terminate();  // SIGTERM.
  // Waits for the end. True if its exit status is 0. What it has said goes to standard output.
  bool has_ended_well();

 private:
  std::string read_line();

  pid_t id_ = -1;
  int output_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace chat
