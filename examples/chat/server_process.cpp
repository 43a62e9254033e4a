#include "server_process.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace chat {

namespace {

[[noreturn]] void become_server(int output, const std::string& clients) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // It does not stay if the test is killed.
  dup2(output, STDOUT_FILENO);
  // However busy the machine is, nobody is cut off at the end.
  execl("/proc/self/exe", "chat", "--port", "0", "--clients", clients.c_str(), "--patience", "60",
        nullptr);
  _exit(127);
}

#if defined(__SANITIZE_THREAD__)
// The thread of a process that is called so; 0 if there is none.
pid_t thread_of(pid_t process, std::string_view name) {
  for (const auto& each :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process))) {
    std::ifstream file(each.path() / "comm");
    std::string called;
    if (std::getline(file, called) && called == name) return std::stoi(each.path().filename());
  }
  return 0;
}
#endif

std::uint16_t port_in(const std::string& address) {
  // http://127.0.0.1:12345/
  const auto colon = address.rfind(':');
  std::uint16_t port = 0;
  if (colon != std::string::npos) {
    std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
  }
  return port;
}

}  // namespace

ServerProcess::ServerProcess(std::uint64_t clients) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe for the server");
  const auto most = fmt::format("{}", clients);
  id_ = fork();
  if (id_ == 0) become_server(ends[1], most);
  close(ends[1]);
  output_ = ends[0];
  port_ = port_in(read_line());
  if (port_ == 0) throw std::runtime_error("the server did not come up");
}

ServerProcess::~ServerProcess() {
  if (id_ > 0) {
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
  }
  if (output_ >= 0) close(output_);
}

void ServerProcess::terminate() {
#if defined(__SANITIZE_THREAD__)
  // It holds a signal back until the thread's next call that it knows, and the main thread waits by a futex, which is none. The loop
  // waits by one it knows.
  if (const pid_t loop = thread_of(id_, "event loop"); loop > 0) {
    syscall(SYS_tgkill, id_, loop, SIGTERM);
    return;
  }
#endif
  kill(id_, SIGTERM);
}

std::string ServerProcess::read_line() {
  std::string line;
  for (char each = 0; each != '\n';) {
    const auto got = read(output_, &each, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    line += each;
  }
  return line;
}

bool ServerProcess::has_ended_well() {
  for (auto line = read_line(); !line.empty(); line = read_line()) fmt::print("       {}", line);
  int status = 0;
  while (waitpid(id_, &status, 0) < 0 && errno == EINTR) {
  }
  id_ = -1;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace chat
