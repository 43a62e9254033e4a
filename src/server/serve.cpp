#include "server/serve.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "handoff/event.hpp"
#include "handoff/log.hpp"
#include "handoff/tasks/duration.hpp"
#include "handoff/tasks/tasks.hpp"
#include "server/api/api.hpp"
#include "server/demo/demo.hpp"
#include "server/http/http_server.hpp"
#include "server/http/tls.hpp"
#include "server/push/pusher.hpp"

namespace handoff::server {

namespace {

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1" || address == "localhost";
}

std::string url_of(const Config& config, std::uint16_t port) {
  const bool is_v6 = config.address.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", config.tls_certificate.empty() ? "http" : "https",
                     is_v6 ? "[" : "", config.address, is_v6 ? "]" : "", port);
}

tasks::Tasks open_store(const Config& config) {
  auto opened = tasks::open(config.store, {.fast = config.fast});
  if (!opened) throw std::runtime_error(opened.error().message);
  return *std::move(opened);
}

// A store in memory has no tokens but those of its own process, and nobody makes any there: it takes a file.
std::string no_tokens(const Config& config) {
  const bool is_kept = config.store != "memory:";
  const std::string store = is_kept           ? config.store
                            : config.has_demo ? "sqlite:demo.db"
                                              : "sqlite:handoff.db";
  return fmt::format(
      "{} can be reached from other machines, and there are no tokens{}: make one with `handoff "
      "token create --store {} --name admin --role admin`{}, or listen on 127.0.0.1",
      config.address, is_kept ? "" : ", nor can a store in memory be given any", store,
      is_kept ? "" : fmt::format(" and serve that store with `--store {}`", store));
}

// Who can be reached from elsewhere asks who comes.
void must_be_safe(const Config& config, Tokens& tokens) {
  if (is_loopback(config.address)) return;
  if (tokens.are_needed()) return tokens.need_always();
  throw std::runtime_error(no_tokens(config));
}

void check_folder(const std::string& path) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return;
  throw std::runtime_error(
      fmt::format("the store cannot be in {}: {}; make that folder, or choose another by store",
                  folder.string(), std::generic_category().message(errno)));
}

// What must_be_safe() wants, where there may be no store yet.
void check_store(const Config& config) {
  constexpr std::string_view file_scheme = "sqlite:";
  bool has_tokens = false;
  if (config.store.starts_with(file_scheme)) {
    const std::string path = config.store.substr(file_scheme.size());
    check_folder(path);
    if (std::filesystem::exists(path)) {
      const tasks::Tasks tasks = open_store(config);
      has_tokens = !list_tokens(tasks::TasksAccess::core(tasks)).empty();
    }
  }
  if (!has_tokens && !is_loopback(config.address)) throw std::runtime_error(no_tokens(config));
}

HttpOptions http_options(const Config& config, Log& log) {
  HttpOptions options{.address = config.address,
                      .port = config.port,
                      .threads = config.threads,
                      .tls_certificate = config.tls_certificate,
                      .tls_key = config.tls_key,
                      .host_names = config.hosts};
  options.limits.connections = config.connections;
  options.limits.body = config.body_limit;
  options.log = [&log](LogLevel level, const std::string& message) {
    const auto severity = level == LogLevel::error     ? LogSeverity::error
                          : level == LogLevel::warning ? LogSeverity::warning
                                                       : LogSeverity::info;
    log.write(severity, message, {});
  };
  return options;
}

// ThreadSanitizer hands a signal to a thread that waits only when it goes on.
void wait_for(Event& stopped) {
#if defined(__SANITIZE_THREAD__)
  while (!stopped.wait({.deadline = within(std::chrono::milliseconds(200)), .stop = {}})) {
  }
#else
  static_cast<void>(stopped.wait());
#endif
}

// What the library has to say goes where the server speaks, in the same form.
class LibraryLines {
 public:
  explicit LibraryLines(const LogOptions& options)
      : before_(set_log([log = std::make_shared<Log>(options)](std::string_view line) {
          log->warning(line);
        })) {}
  LibraryLines(const LibraryLines&) = delete;
  LibraryLines& operator=(const LibraryLines&) = delete;
  ~LibraryLines() { set_log(std::move(before_)); }

 private:
  LogSink before_;
};

PusherOptions pusher_options(const Config& config, std::shared_ptr<Event> bell) {
  return {.hosts = config.push_hosts,
          .notify_secret = config.notify_secret,
          .threads = config.push_threads,
          .grace = config.grace,
          .bell = std::move(bell)};
}

}  // namespace

Configured check_to_serve(const Config& config) {
  try {
    if (!config.tls_certificate.empty()) TlsContext(config.tls_certificate, config.tls_key);
    check_store(config);
  } catch (const std::runtime_error& error) {
    return std::unexpected(error.what());
  }
  return {};
}

void serve(const Config& config, const std::stop_token& stop,
           const std::function<void(const Listening&)>& on_listening) {
  if (const auto good = check(config); !good) throw std::runtime_error(good.error());
  Log log(config.log);
  const LibraryLines lines(config.log);
  const tasks::Tasks tasks = open_store(config);
  std::optional<Demo> demo;
  if (config.has_demo) demo.emplace(tasks);
  Api api(tasks,
          {.payload_limit = config.payload_limit,
           .waiting_limit = config.waiting_limit,
           .push_hosts = config.push_hosts,
           .store = config.store.substr(0, config.store.find(':')),
           .demo = demo ? &*demo : nullptr},
          log);
  must_be_safe(config, api.tokens());
  if (demo) demo->prepare();
  const auto bell = std::make_shared<Event>();
  api.on_settings([bell] { bell->set(); });
  HttpServer http(http_options(config, log), api);
  api.count_with([&http] { return http.counters(); });
  http.start();
  Pusher pusher(tasks, pusher_options(config, bell), log);  // Who cannot serve does not deliver.
  const std::string url = url_of(config, http.port());
  log.info("listening", {{"url", url}, {"store", config.store}});
  on_listening({.url = url, .needs_token = api.tokens().are_needed()});

  if (demo) demo->begin();
  Event stopped;
  const std::stop_callback stops(stop, [&] { stopped.set(); });
  wait_for(stopped);
  log.info("shutting down", {{"grace", tasks::to_text(config.grace)}});
  api.begin_to_shut_down();
  if (demo) demo->end();
  pusher.begin_to_stop();
  const Deadline deadline = within(config.grace);
  http.stop(deadline);
  api.finish(deadline);
  pusher.finish();
  log.info("stopped", {});
}

}  // namespace handoff::server
