#include "tasks/stores/sqlite/lock_holder.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <sstream>

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

namespace {

// As /proc/locks names a file: "08:01:1234".
std::string kernel_name(const std::string& path) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) return "";
  return fmt::format("{:02x}:{:02x}:{}", major(file.st_dev), minor(file.st_dev), file.st_ino);
}

std::string name_of(int process) {
  std::ifstream file(fmt::format("/proc/{}/comm", process));
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace

// The list of the kernel, and not F_GETLK: that needs the file open, and to close it would take away the locks that this process has on it.
std::string lock_holder(const std::string& path) {
  const std::string file = kernel_name(path);
  const std::string wal_index = kernel_name(path + "-shm");  // Its locks are there in WAL mode.
  std::set<int> holders;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, strength, access, where;
    int process = 0;
    words >> number >> kind >> strength >> access >> process >> where;
    const bool is_ours = process == ::getpid() || process <= 0;
    if (access == "WRITE" && !is_ours && !where.empty() && (where == file || where == wal_index)) {
      holders.insert(process);
    }
  }
  std::string text;
  for (const int each : holders) {
    text += fmt::format("{}process {} ({})", text.empty() ? "" : ", ", each, name_of(each));
  }
  return text;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
