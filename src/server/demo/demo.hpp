// `handoff serve --demo`: a small shop that hands in tasks, a worker that does them, and things to try, so that there is something to look at.
//
//   Demo demo(tasks);
//   demo.prepare();
//   demo.begin();
//   demo.start("burst");                       // 50,000 clicks for a queue that has room for 1,000
//   demo.end();
//
// Thread safety: things() and start() any thread once it is prepared, also before begin() and after end().
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/tasks/tasks.hpp"

namespace handoff::server {

class Demo {
 public:
  explicit Demo(tasks::Tasks tasks);
  ~Demo();
  Demo(const Demo&) = delete;
  Demo& operator=(const Demo&) = delete;

  void prepare();  // Before anybody can start something.
  void begin();
  void end();  // What it has in hand goes back.

  struct Thing {
    std::string_view name;
    std::string_view title;
    std::string_view description;
    std::string_view queue;  // Where to look.
  };
  static std::span<const Thing> things();

  struct Started {
    std::string message;
    std::vector<tasks::TaskId> tasks;  // Unless they are too many.
    std::optional<tasks::WorkflowId> workflow;
  };
  // `not_found` if there is no such thing; `conflict` if there may be one at a time, and there is.
  std::expected<Started, tasks::TaskError> start(std::string_view name);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace handoff::server
