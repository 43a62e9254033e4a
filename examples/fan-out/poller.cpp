#include "poller.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>
#include <system_error>

#include "handoff/waits.hpp"

namespace fan_out {

namespace {
constexpr std::uint64_t the_end = 0;  // The number that means it.

int checked(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}
}  // namespace

// A socket that is watched as long as this lives.
class Poller::Watch {
 public:
  Watch(Poller& poller, int socket, std::uint32_t what) : poller_(poller), socket_(socket) {
    const auto held = poller_.mutex_.hold();
    number_ = ++poller_.last_number_;
    epoll_event event{.events = what | EPOLLONESHOT, .data = {.u64 = number_}};
    checked(epoll_ctl(poller_.epoll_, EPOLL_CTL_ADD, socket_, &event), "epoll_ctl");
    poller_.watched_.emplace(number_, &is_ready);
  }
  ~Watch() {
    const auto held = poller_.mutex_.hold();  // From here on nobody sets the event any more.
    poller_.watched_.erase(number_);
    epoll_ctl(poller_.epoll_, EPOLL_CTL_DEL, socket_, nullptr);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  handoff::Event is_ready{{.name = "socket"}};

 private:
  Poller& poller_;
  const int socket_;
  std::uint64_t number_ = 0;
};

Poller::Poller()
    : epoll_(checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
      end_(checked(eventfd(0, EFD_CLOEXEC), "eventfd")) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = the_end}};
  checked(epoll_ctl(epoll_, EPOLL_CTL_ADD, end_, &event), "epoll_ctl");
  thread_ = std::thread([this] { watch_all(); });
}

Poller::~Poller() {
  eventfd_write(end_, 1);
  thread_.join();
  close(end_);
  close(epoll_);
}

handoff::Lazy<Poller::Waited> Poller::readable(int socket) {
  return wait_for(socket, EPOLLIN | EPOLLRDHUP);
}

handoff::Lazy<Poller::Waited> Poller::writable(int socket) { return wait_for(socket, EPOLLOUT); }

handoff::Lazy<Poller::Waited> Poller::wait_for(int socket, std::uint32_t what) {
  Watch watch(*this, socket, what);
  co_return co_await watch.is_ready.async_wait();
}

void Poller::watch_all() {
  handoff::name_this_thread("poller");
  std::array<epoll_event, 64> events{};
  while (true) {
    const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
    if (count < 0 && errno != EINTR) checked(count, "epoll_wait");
    const auto held = mutex_.hold();
    for (const auto& event : std::span(events).first(count < 0 ? 0 : std::size_t(count))) {
      const std::uint64_t id = event.data.u64;  // By value: the kernel packs the struct.
      if (id == the_end) return;
      const auto found = watched_.find(id);
      if (found != watched_.end()) found->second->set();
    }
  }
}

}  // namespace fan_out
