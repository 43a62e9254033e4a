#include "server/http/io_thread.hpp"

#include <algorithm>
#include <chrono>
#include <exception>

#include "server/http/connection.hpp"
#include "server/http/response_text.hpp"

namespace handoff::server {

namespace {

// A quarter of the shortest time, so that it is kept roughly.
std::chrono::milliseconds interval_for(const HttpLimits& limits) {
  const auto shortest = std::min({limits.idle, limits.header_read, limits.progress, limits.linger});
  return std::clamp<std::chrono::milliseconds>(shortest / 4, std::chrono::milliseconds(5),
                                               std::chrono::seconds(1));
}

}  // namespace

IoThread::IoThread(Shared& shared)
    : shared_(shared),
      date_(date_now()),
      interval_(interval_for(shared.limits)),
      timer_(io_.get_executor()),
      work_(io_.get_executor()) {}

IoThread::~IoThread() { join(); }

void IoThread::start() {
  thread_ = Thread([this] { run(); });
}

void IoThread::join() {
  work_.reset();
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

void IoThread::run() {
  while (!io_.stopped()) {
    try {
      io_.run();
    } catch (const std::exception& error) {  // One connection's trouble, not that of the others.
      shared_.log(LogLevel::error, std::string("http: ") + error.what());
    }
  }
}

// The place of the one that goes is taken by the last.
void IoThread::add(Connection& connection) {
  connection.place = connections_.size();
  connections_.push_back(&connection);
  if (!is_ticking_) tick_soon();
}

void IoThread::remove(Connection& connection) {
  connections_.back()->place = connection.place;
  connections_[connection.place] = connections_.back();
  connections_.pop_back();
}

// One more, because the current one may be about to end.
std::uint64_t IoThread::ticks(std::chrono::milliseconds time) const {
  return static_cast<std::uint64_t>((time + interval_ - std::chrono::milliseconds(1)) / interval_) +
         1;
}

void IoThread::tick_soon() {
  if (!is_ticking_) date_ = date_now();
  is_ticking_ = true;
  timer_.expires_after(interval_);
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) on_tick();
  });
}

void IoThread::on_tick() {
  ++tick_;
  lines_ = 0;
  is_ticking_ = !connections_.empty();
  if (!is_ticking_) return;
  date_ = date_now();
  for (Connection* each : connections_) each->on_tick();
  tick_soon();
}

void IoThread::begin_closing() {
  is_closing_ = true;
  for (Connection* each : connections_) each->close_soon();
}

void IoThread::cut_all() {
  for (Connection* each : connections_) each->cut();
}

}  // namespace handoff::server
