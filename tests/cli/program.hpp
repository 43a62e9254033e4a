// The program as its users have it: a process with arguments, an input, two outputs and an exit status.
//
//   class Listing : public CliTest {};
//   TEST_F(Listing, ...) {
//     const std::string id = enqueue("welcome");
//     EXPECT_THAT(run({"ls"}).out, HasSubstr(id));
//     Background worker = start({"work", "--", "cat"});
//     worker.signal(SIGTERM);
//     EXPECT_EQ(worker.wait().code, 0);
//   }
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "handoff/tasks/tasks.hpp"

namespace handoff::tests {

struct Ended {
  int code = -1;  // 128 + n if signal n has ended it.
  std::string out;
  std::string err;
};

// A program that runs beside the test; killed with the object if it still does.
class Background {
 public:
  // What it writes goes to files in `folder`.
  Background(const std::vector<std::string>& arguments, const std::string& store,
             std::filesystem::path folder);
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background();

  pid_t id() const { return id_; }
  void signal(int number) const;
  Ended wait();
  std::string err() const;

 private:
  pid_t id_ = -1;
  std::filesystem::path out_;
  std::filesystem::path err_;
};

// The same on a terminal of 120 columns.
class Terminal {
 public:
  Terminal(const std::vector<std::string>& arguments, const std::string& store,
           const std::vector<std::string>& environment = {});
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  void type(const std::string& keys) const;
  // Throws std::runtime_error if it ends first.
  void wait_for(const std::string& text);
  // Until its first thread waits in a call of the system: there a signal reaches it under ThreadSanitizer, too.
  void wait_until_it_waits() const;
  // Its exit status, once it has ended.
  int wait();
  const std::string& shown() const { return shown_; }

 private:
  bool read();

  pid_t id_ = -1;
  int terminal_ = -1;
  std::string shown_;
};

class CliTest : public ::testing::Test {
 protected:
  CliTest();
  ~CliTest() override;

  Ended run(const std::vector<std::string>& arguments, const std::string& input = {},
            const std::vector<std::string>& environment = {}) const;
  Background start(const std::vector<std::string>& arguments) const {
    return Background(arguments, store, folder);
  }

  // Prints its id, and nothing else.
  std::string enqueue(const std::string& kind, const std::vector<std::string>& more = {}) const;
  // Works until nothing is left, with a shell script as the program.
  Ended work(const std::string& script, const std::vector<std::string>& options = {}) const;

  tasks::Tasks open() const { return tasks::open(store).value(); }
  tasks::Task task(const std::string& id) const;
  std::string path(const std::string& name) const { return (folder / name).string(); }
  void write(const std::string& name, const std::string& text) const;
  std::string read(const std::string& name) const;

  std::filesystem::path folder;
  std::string store;  // HANDOFF_STORE of all that is run.
};

// The document; a test failure if it is none. NDJSON has one in each line.
tasks::JsonDocument json_of(const std::string& text);
std::vector<tasks::JsonDocument> json_lines(const std::string& text);

// In other words: member("queue").string() of the root.
std::string text_at(const tasks::JsonDocument& document, const std::string& member);

}  // namespace handoff::tests
