#include "server/http/http_server.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "handoff/detail/core/cores.hpp"
#include "handoff/mutex.hpp"
#include "server/http/io_thread.hpp"
#include "server/http/listener.hpp"
#include "server/http/shared.hpp"

namespace handoff::server {

namespace {

constexpr unsigned most_threads_by_default = 8;
constexpr std::uint64_t other_files = 256;  // Beside the connections.

// After the cut, for those who answer at last to learn that nobody is there: of the time there is.
constexpr Duration time_after_cut = std::chrono::seconds(2);

Deadline cut_before(Deadline end) {
  const Duration left = std::max(end.when() - now(), Duration(0));
  return within(left - std::min(left / 4, time_after_cut));
}

unsigned threads_for(const HttpOptions& options) {
  if (options.threads > 0) return static_cast<unsigned>(options.threads);
  return std::min(detail::usable_cores(), most_threads_by_default);
}

// A process may open more files than it usually does, if it asks.
void allow_files_for(const Shared& shared) {
  rlimit limit{};
  const auto wanted = shared.limits.connections + other_files;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max >= wanted) return;
  shared.log(LogLevel::warning, "http: the system allows " + std::to_string(limit.rlim_max) +
                                    " open files, too few for " +
                                    std::to_string(shared.limits.connections) + " connections");
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(HttpOptions options, Service& service)
      : shared_(std::move(options), service),
        threads_(make_threads()),
        listener_(shared_, threads_) {
    allow_files_for(shared_);
  }

  void start() {
    const auto held = mutex_.hold();
    if (is_stopped_ || std::exchange(is_started_, true)) return;
    listener_.start();
    for (auto& thread : threads_) thread->start();
  }

  void stop(Deadline deadline) {
    if (!begin_stop()) return;
    if (shared_.all_gone.wait({.deadline = cut_before(deadline)})) return join();
    for (auto& thread : threads_) {
      boost::asio::post(thread->io(), [&each = *thread] { each.cut_all(); });
    }
    static_cast<void>(shared_.all_gone.wait({.deadline = within(time_after_cut)}));
    join();
  }

  std::uint16_t port() const { return listener_.port(); }

  HttpCounters counters() const {
    HttpCounters sum{.connections_open = shared_.open(),
                     .connections_total = shared_.total(),
                     .connections_refused = shared_.refused()};
    for (const auto& thread : threads_) {
      sum.requests += thread->counts().requests.get();
      sum.bytes_received += thread->counts().bytes_received.get();
      sum.bytes_sent += thread->counts().bytes_sent.get();
    }
    return sum;
  }

 private:
  Listener::Threads make_threads() {
    Listener::Threads threads;
    for (unsigned i = 0; i < threads_for(shared_.options); ++i) {
      threads.push_back(std::make_unique<IoThread>(shared_));
    }
    return threads;
  }

  // False if there is nothing to wait for.
  bool begin_stop() {
    const auto held = mutex_.hold();
    const bool is_first = !std::exchange(is_stopped_, true);
    if (!is_started_) {
      if (is_first) listener_.close();
      return false;
    }
    if (is_first) boost::asio::post(threads_.front()->io(), [this] { close_all(); });
    return true;
  }

  // On the thread of the listener: what it has dealt comes before this on each thread.
  void close_all() {
    shared_.begin_stopping();
    listener_.close();
    for (auto& thread : threads_) {
      boost::asio::post(thread->io(), [&each = *thread] { each.begin_closing(); });
    }
    shared_.no_more_connections();
  }

  void join() {
    const auto held = mutex_.hold();
    for (auto& thread : threads_) thread->join();
    shared_.all_gone.set();  // For those who stop it more patiently: nothing moves any more.
  }

  Shared shared_;
  Listener::Threads threads_;
  Listener listener_;  // On the first of the threads.
  Mutex mutex_{{.name = "http server"}};
  bool is_started_ = false;
  bool is_stopped_ = false;
};

HttpServer::HttpServer(HttpOptions options, Service& service)
    : impl_(std::make_unique<Impl>(std::move(options), service)) {}

HttpServer::~HttpServer() { impl_->stop(within(std::chrono::seconds(0))); }

void HttpServer::start() { impl_->start(); }
void HttpServer::stop(Deadline deadline) { impl_->stop(deadline); }
std::uint16_t HttpServer::port() const { return impl_->port(); }
HttpCounters HttpServer::counters() const { return impl_->counters(); }

}  // namespace handoff::server
