// A folder on a real disk, gone at the end: what is synced to memory says nothing about durable tasks.
#pragma once

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bench {

class DiskFolder {
 public:
  // Below $HANDOFF_BENCH_FOLDER, or /var/tmp. Throws std::runtime_error if that is in memory.
  DiskFolder() {
    const char* const chosen = std::getenv("HANDOFF_BENCH_FOLDER");
    std::string pattern = std::string(chosen == nullptr ? "/var/tmp" : chosen) + "/handoff-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("cannot make a folder like " + pattern);
    }
    path_ = pattern;
    struct statfs system{};
    if (statfs(path_.c_str(), &system) == 0 && system.f_type == TMPFS_MAGIC) {
      std::filesystem::remove(path_);
      throw std::runtime_error(pattern + " is in memory; set HANDOFF_BENCH_FOLDER");
    }
  }
  DiskFolder(const DiskFolder&) = delete;
  DiskFolder& operator=(const DiskFolder&) = delete;
  ~DiskFolder() { std::filesystem::remove_all(path_); }

  std::string file(std::string_view name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace bench
