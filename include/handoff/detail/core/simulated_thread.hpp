// std::jthread, as far as it is needed. Made by a simulated thread it is one, too; made by any other it is a real one.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::sim {

class SimThread;

class Thread {
 public:
  Thread() noexcept = default;
  template <typename F, typename... Args>
    requires(!std::same_as<std::remove_cvref_t<F>, Thread>)
  explicit Thread(F&& f, Args&&... args) {
    start([this_stop = stop_.get_token(), f = std::decay_t<F>(std::forward<F>(f)),
           ... arguments = std::decay_t<Args>(std::forward<Args>(args))]() mutable {
      if constexpr (std::invocable<std::decay_t<F>, std::stop_token, std::decay_t<Args>...>) {
        std::invoke(std::move(f), std::move(this_stop), std::move(arguments)...);
      } else {
        std::invoke(std::move(f), std::move(arguments)...);
      }
    });
  }
  Thread(Thread&&) noexcept = default;
  Thread& operator=(Thread&& other) noexcept {
    if (this == &other) return *this;
    end();
    stop_ = std::move(other.stop_);
    thread_ = std::move(other.thread_);
    simulated_ = std::move(other.simulated_);
    return *this;
  }
  ~Thread() { end(); }

  bool joinable() const noexcept { return thread_.joinable() || simulated_ != nullptr; }
  void join();
  void detach();
  bool request_stop() noexcept { return stop_.request_stop(); }
  std::stop_token get_stop_token() const noexcept { return stop_.get_token(); }
  std::stop_source get_stop_source() noexcept { return stop_; }

 private:
  void start(std::move_only_function<void()> body);
  void end() noexcept {
    if (!joinable()) return;
    stop_.request_stop();
    join();
  }

  std::stop_source stop_;
  std::thread thread_;
  std::shared_ptr<SimThread> simulated_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::sim
