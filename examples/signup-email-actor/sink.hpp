// A small SMTP server for the test and the demonstration: takes mails on the loopback interface, and keeps them. A thread
// of its own serves all connections.
//
//   const Port port;                  // stays ours, server or not
//   {
//     Sink sink(port, inbox);         // up
//   }                                 // down: connections break as if it had crashed
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "dialogue.hpp"
#include "inbox.hpp"

namespace signup {

class FileDescriptor {
 public:
  // Throws std::system_error if it is none.
  FileDescriptor(int number, const char* what);
  ~FileDescriptor();
  FileDescriptor(FileDescriptor&& other) noexcept;
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  int number() const { return number_; }

 private:
  int number_;
};

// A free port of the loopback interface. Nobody else gets it while this lives; who calls finds nobody.
class Port {
 public:
  Port();
  std::uint16_t number() const { return number_; }

 private:
  FileDescriptor socket_;
  std::uint16_t number_;
};

class Sink {
 public:
  Sink(const Port& port, Inbox& inbox);
  ~Sink();
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

 private:
  struct Connection {
    FileDescriptor socket;
    Dialogue dialogue;
    std::string unsent;
  };

  void serve_all();
  void accept_one();
  // False: it is over.
  bool serve(Connection& connection, short events);

  Inbox& inbox_;
  FileDescriptor listener_;
  FileDescriptor end_;  // Readable once it is to end.
  std::vector<std::unique_ptr<Connection>> connections_;
  std::thread thread_;
};

}  // namespace signup
