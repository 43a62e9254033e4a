#include "tasks/process_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

namespace {
// Open file description locks: two stores of one process are two.
struct flock lock_on(std::int64_t number) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = number;
  lock.l_len = 1;
  return lock;
}
}  // namespace

ProcessLock::ProcessLock(const std::string& path)
    : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  if (file_ < 0) {
    throw std::system_error(errno, std::generic_category(), fmt::format("cannot open {}", path));
  }
  for (std::int64_t number = 1; number <= most_processes; ++number) {
    struct flock lock = lock_on(number);
    if (::fcntl(file_, F_OFD_SETLK, &lock) == 0) {
      number_ = number;
      return;
    }
    if (errno != EAGAIN && errno != EACCES) break;
  }
  const int error = errno;
  ::close(file_);
  if (error != EAGAIN && error != EACCES) {
    throw std::system_error(error, std::generic_category(), fmt::format("cannot lock {}", path));
  }
  throw std::runtime_error(
      fmt::format("{} processes have the store open, and no more can", most_processes));
}

ProcessLock::~ProcessLock() { ::close(file_); }

void ProcessLock::ring() const {
  const char byte = 0;
  static_cast<void>(!::pwrite(file_, &byte, 1, 0));
}

bool ProcessLock::is_alive(std::int64_t number) const {
  if (number == number_) return true;
  struct flock lock = lock_on(number);
  if (::fcntl(file_, F_OFD_GETLK, &lock) != 0) return true;  // Its lease decides.
  return lock.l_type != F_UNLCK;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
