// Processes for tests: this program once more, in a role.
//
//   const Role echo("echo", [](const std::string&) { for (;;) say("you said " + listen()); });
//
//   Process process("echo", folder);
//   process.tell("hello");
//   EXPECT_EQ(process.hear(), "you said hello");
//   process.kill();
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

namespace handoff::tests {

// What a process may be. Made before main(), in the file that has the test.
class Role {
 public:
  using Play = void (*)(const std::string& argument);
  Role(const char* name, Play play);
};

// In a role: to the test and from it. When the test is gone, so is the process.
void say(const std::string& line);
std::string listen();

// A process in a role, killed with the object if not before.
class Process {
 public:
  Process(const char* role, const std::string& argument);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  pid_t id() const { return id_; }
  void tell(const std::string& line) const;
  // What it says next. Throws std::runtime_error if it is silent for so long, or ends.
  std::string hear(std::chrono::milliseconds timeout = std::chrono::seconds(60));
  // Lets it live for that time. False if it has ended by itself.
  bool lives_for(std::chrono::milliseconds time) const;
  // With SIGKILL. Returns the status it ended with, as waitpid() does.
  int kill();
  int wait();

 private:
  pid_t id_ = -1;
  int ended_ = -1;  // Can be read once it has ended.
  int to_ = -1;
  int from_ = -1;
  std::string heard_;
};

// If this program was started to be in a role, is it and does not return.
void play_role_if_any(int count, char** arguments);

}  // namespace handoff::tests
