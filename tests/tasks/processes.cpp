#include "tasks/processes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <system_error>

namespace handoff::tests {

namespace {

constexpr const char* be = "--be";

std::map<std::string, Role::Play>& roles() {
  static std::map<std::string, Role::Play> all;
  return all;
}

void write_line(int file, const std::string& line) {
  const std::string text = line + "\n";
  if (::write(file, text.data(), text.size()) != std::ssize(text)) {
    throw std::system_error(errno, std::generic_category(), "cannot write to a pipe");
  }
}

bool can_be_read(int file, std::chrono::milliseconds timeout) {
  pollfd one{.fd = file, .events = POLLIN, .revents = 0};
  return ::poll(&one, 1, static_cast<int>(timeout.count())) > 0;
}

}  // namespace

Role::Role(const char* name, Play play) { roles()[name] = play; }

void say(const std::string& line) { write_line(STDOUT_FILENO, line); }

std::string listen() {
  std::string line;
  for (char byte = 0; ::read(STDIN_FILENO, &byte, 1) == 1; line += byte) {
    if (byte == '\n') return line;
  }
  ::_exit(0);
}

void play_role_if_any(int count, char** arguments) {
  if (count != 4 || std::string(arguments[1]) != be) return;
  try {
    roles().at(arguments[2])(arguments[3]);
    ::_exit(0);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", arguments[2], error.what());
    ::_exit(1);
  }
}

Process::Process(const char* role, const std::string& argument) {
  std::array<int, 2> to{};
  std::array<int, 2> from{};
  if (::pipe2(to.data(), O_CLOEXEC) != 0 || ::pipe2(from.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe2");
  }
  id_ = ::fork();
  if (id_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(to[0], STDIN_FILENO);
    ::dup2(from[1], STDOUT_FILENO);
    ::execl("/proc/self/exe", "test", be, role, argument.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(to[0]);
  ::close(from[1]);
  to_ = to[1];
  from_ = from[0];
  ended_ = static_cast<int>(::syscall(SYS_pidfd_open, id_, 0));
}

Process::~Process() {
  kill();
  for (const int each : {to_, from_, ended_}) ::close(each);
}

void Process::tell(const std::string& line) const { write_line(to_, line); }

std::string Process::hear(std::chrono::milliseconds timeout) {
  for (;;) {
    if (const auto end = heard_.find('\n'); end != std::string::npos) {
      const std::string line = heard_.substr(0, end);
      heard_.erase(0, end + 1);
      return line;
    }
    std::array<char, 4096> bytes;
    if (!can_be_read(from_, timeout)) throw std::runtime_error("the process says nothing");
    const ssize_t count = ::read(from_, bytes.data(), bytes.size());
    if (count <= 0) throw std::runtime_error("the process has ended");
    heard_.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

bool Process::lives_for(std::chrono::milliseconds time) const { return !can_be_read(ended_, time); }

int Process::kill() {
  if (id_ < 0) return 0;
  ::kill(id_, SIGKILL);
  return wait();
}

int Process::wait() {
  int status = 0;
  if (id_ >= 0) ::waitpid(id_, &status, 0);
  id_ = -1;
  return status;
}

}  // namespace handoff::tests
