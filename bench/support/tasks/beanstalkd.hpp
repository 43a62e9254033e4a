// beanstalkd, which syncs its binlog with each change (-f 0), and clients that talk to it over a Unix socket.
#pragma once

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "disk_folder.hpp"

namespace bench {

class Beanstalkd {
 public:
  explicit Beanstalkd(const DiskFolder& folder) : socket_(folder.file("socket")) {
    const std::string address = "unix:" + socket_;
    const std::string path = folder.path();
    process_ = fork();
    if (process_ == 0) {
      execlp("beanstalkd", "beanstalkd", "-b", path.c_str(), "-f", "0", "-l", address.c_str(),
             static_cast<char*>(nullptr));
      _exit(127);
    }
    if (process_ < 0) throw std::runtime_error("cannot start beanstalkd");
  }
  Beanstalkd(const Beanstalkd&) = delete;
  Beanstalkd& operator=(const Beanstalkd&) = delete;
  ~Beanstalkd() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }

  class Client {
   public:
    explicit Client(const Beanstalkd& server) : socket_(connect_to(server.socket_)) {}
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client() { close(socket_); }

    void put(std::string_view data) {
      send_all("put 0 0 60 " + std::to_string(data.size()) + "\r\n" + std::string(data) + "\r\n");
      expect("INSERTED ");
    }
    struct Job {
      std::string id;
      std::string data;
    };
    Job reserve() {
      send_all("reserve\r\n");
      const std::string line = expect("RESERVED ");
      const auto space = line.find(' ');
      const std::size_t size = std::stoul(line.substr(space + 1));
      while (received_.size() < size + 2) receive();
      Job job{.id = line.substr(0, space), .data = received_.substr(0, size)};
      received_.erase(0, size + 2);
      return job;
    }
    void remove(const Job& job) {
      send_all("delete " + job.id + "\r\n");
      expect("DELETED");
    }

   private:
    static int connect_to(const std::string& path) {
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      path.copy(address.sun_path, sizeof address.sun_path - 1);
      // It has just been started.
      for (int tries = 0; tries < 500; ++tries) {
        const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
          return descriptor;
        }
        close(descriptor);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      throw std::runtime_error("cannot connect to beanstalkd; is it installed?");
    }
    void send_all(std::string_view text) {
      while (!text.empty()) {
        const ssize_t sent = send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
        if (sent <= 0) throw std::runtime_error("beanstalkd is gone");
        text.remove_prefix(static_cast<std::size_t>(sent));
      }
    }
    void receive() {
      char bytes[4096];
      const ssize_t count = recv(socket_, bytes, sizeof bytes, 0);
      if (count <= 0) throw std::runtime_error("beanstalkd is gone");
      received_.append(bytes, static_cast<std::size_t>(count));
    }
    // Reads a line and returns what follows `begin` in it.
    std::string expect(std::string_view begin) {
      for (;;) {
        const auto end = received_.find("\r\n");
        if (end == std::string::npos) {
          receive();
          continue;
        }
        const std::string line = received_.substr(0, end);
        received_.erase(0, end + 2);
        if (!line.starts_with(begin)) throw std::runtime_error("beanstalkd says: " + line);
        return line.substr(begin.size());
      }
    }

    const int socket_;
    std::string received_;
  };

  static std::string version() {
    std::string text;
    FILE* const output = popen("beanstalkd -v", "r");
    if (output == nullptr) return "unknown";
    for (int c = fgetc(output); c != EOF && c != '\n'; c = fgetc(output)) {
      text += static_cast<char>(c);
    }
    pclose(output);
    return text;
  }

 private:
  const std::string socket_;
  pid_t process_ = -1;
};

}  // namespace bench
