// `handoff serve --demo`: a small shop that hands in tasks, and a worker that does them, so that there is something to look at.
#pragma once

#include <memory>

#include "handoff/tasks/tasks.hpp"

namespace handoff::server {

class Demo {
 public:
  explicit Demo(tasks::Tasks tasks);
  ~Demo();  // What it has in hand goes back.
  Demo(const Demo&) = delete;
  Demo& operator=(const Demo&) = delete;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace handoff::server
