// Where the tasks of a queue are delivered to, on the command line: of `queues set`.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/command.hpp"
#include "handoff/tasks/queue.hpp"

namespace handoff::cli {

struct DeliveryOptions {
  std::optional<std::string> url;
  std::optional<std::chrono::milliseconds> timeout;
  std::string secret_file;

  void declare(Command& command);
  // What the queue gets instead of its own; nothing if nobody names a URL. As in the API it is one thing: a secret does not follow to another URL. Throws Failure.
  std::optional<tasks::Delivery> delivery(const std::string& queue) const;
};

}  // namespace handoff::cli
