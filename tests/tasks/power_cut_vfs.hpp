// A disk whose power fails, or that is full: an SQLite VFS over the usual one, which knows what was synced and what was not.
//
//   PowerCutVfs disk;
//   disk.cut_after(137);                                     // changes of files
//   ... a store with .vfs = disk.name(), until it fails ...
//   disk.restart_in(folder, {.keeps = 0.5}, random);         // what is left, as a machine finds it that starts again
//
// What was written since a file was last synced may be there afterwards or not, each sector for itself, in any order; so may files that were made or deleted
// since the folder was. All files of a store are in one folder. Thread safety: as a VFS, by any thread; the rest by one.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace handoff::tests {

class PowerCutVfs {
 public:
  PowerCutVfs();
  PowerCutVfs(const PowerCutVfs&) = delete;
  PowerCutVfs& operator=(const PowerCutVfs&) = delete;
  ~PowerCutVfs();

  const std::string& name() const { return name_; }

  // That many more changes are made (writes, truncations, syncs, deletions); then everything fails.
  void cut_after(std::int64_t changes);
  bool is_cut() const;
  // The files may have so many bytes together, and no more: the disk is full then.
  void set_room(std::int64_t bytes);
  std::int64_t used() const;

  struct Luck {
    double keeps = 0.5;  // Of what was not synced.
    std::size_t sector = 512;
  };
  void restart_in(const std::string& folder, const Luck& luck, std::minstd_rand& random) const;

 private:
  friend struct PowerCutFile;  // Which SQLite calls.

  struct Change {
    bool is_truncation = false;
    std::size_t offset = 0;  // Or the new size.
    std::vector<char> bytes{};
  };
  // What a disk has of a file.
  struct Content {
    std::vector<char> synced{};
    std::vector<Change> pending{};
    bool is_name_synced = false;
    std::int64_t size = 0;
  };

  static void apply(const Change& change, std::vector<char>& bytes);
  static std::vector<char> what_is_left(const Content& content, const Luck& luck,
                                        std::minstd_rand& random);
  // Guarded by lock_, all of them. False: the power is gone.
  bool may_change_locked();
  std::int64_t used_locked() const;
  void sync_folder_locked();

  sqlite3_vfs* const real_;
  const std::string name_;
  sqlite3_vfs vfs_{};
  mutable std::mutex lock_;
  // Guarded by lock_.
  std::int64_t left_ = INT64_MAX;
  std::int64_t room_ = INT64_MAX;
  std::map<std::string, std::shared_ptr<Content>> files_;
  std::map<std::string, std::shared_ptr<Content>> deleted_;  // Since the folder was synced.
};

}  // namespace handoff::tests
