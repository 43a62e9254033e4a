#include "cli/delivery_options.hpp"

#include <fmt/format.h>

#include "cli/failure.hpp"
#include "cli/input.hpp"
#include "handoff/tasks/notify.hpp"
#include "tasks/quoted.hpp"

namespace handoff::cli {

namespace {

constexpr std::string_view nowhere = "none";

// The first line of the file: an argument can be read by everybody on the machine.
std::string secret_in(const std::string& path) {
  std::string secret = Input(path).line().value_or("");
  if (secret.ends_with('\r')) secret.pop_back();
  if (!secret.empty()) return secret;
  throw Failure(Exit::usage, fmt::format("--deliver-secret-file: the first line of {} is empty",
                                         tasks::quoted(path, 200)));
}

}  // namespace

void DeliveryOptions::declare(Command& command) {
  command.option("--deliver-to URL", url,
                 "A server POSTs its tasks there, instead of workers; none: no more");
  command.option("--deliver-timeout TIME", timeout, "With it: for one request; 10s otherwise");
  command.option("--deliver-secret-file FILE", secret_file,
                 "With it: requests are signed with the first line of that file");
}

std::optional<tasks::Delivery> DeliveryOptions::delivery(const std::string& queue) const {
  const bool has_more = timeout || !secret_file.empty();
  if (!url && !has_more) return std::nullopt;
  if (has_more && (!url || *url == nowhere)) {
    throw Failure(Exit::usage,
                  "--deliver-timeout and --deliver-secret-file need --deliver-to with a URL: they "
                  "are set with it, as a whole");
  }
  if (*url == nowhere) return tasks::Delivery();
  if (url->empty()) throw Failure(Exit::usage, "--deliver-to must be a URL, or none");
  if (tasks::is_reserved(queue)) {
    throw Failure(Exit::usage,
                  fmt::format("--deliver-to cannot be set for {}", tasks::quoted(queue)));
  }
  tasks::Delivery delivery{.url = *url};
  if (timeout) delivery.timeout = *timeout;
  if (!secret_file.empty()) delivery.secret = secret_in(secret_file);
  return delivery;
}

}  // namespace handoff::cli
