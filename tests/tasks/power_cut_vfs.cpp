#include "tasks/power_cut_vfs.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>

namespace handoff::tests {

// What SQLite holds. The file of the VFS below begins behind it.
struct PowerCutFile : sqlite3_file {
  PowerCutVfs* disk = nullptr;
  std::shared_ptr<PowerCutVfs::Content> content{};  // Nothing for a temporary file.
  bool is_journal = false;

  static PowerCutFile& of(sqlite3_file* file) { return *static_cast<PowerCutFile*>(file); }
  sqlite3_file* below() { return reinterpret_cast<sqlite3_file*>(this + 1); }

  static int close(sqlite3_file* file) {
    PowerCutFile& self = of(file);
    const int result = self.below()->pMethods->xClose(self.below());
    self.~PowerCutFile();
    return result;
  }

  static int read(sqlite3_file* file, void* bytes, int size, sqlite3_int64 offset) {
    PowerCutFile& self = of(file);
    if (self.disk->is_cut()) return SQLITE_IOERR_READ;
    return self.below()->pMethods->xRead(self.below(), bytes, size, offset);
  }

  // Notes it, as something that is not synced. False if the power is gone.
  bool note(PowerCutVfs::Change change) {
    const std::scoped_lock turn(disk->lock_);
    const bool had_power = disk->left_ > 0;
    const bool has_power = disk->may_change_locked();
    // The one that the power fails in may be there too, in part.
    if (had_power && content) content->pending.push_back(std::move(change));
    return has_power;
  }

  bool takes_room(std::int64_t size) {
    if (!content) return true;
    const std::scoped_lock turn(disk->lock_);
    const std::int64_t growth = size - content->size;
    if (growth <= 0) return true;
    if (disk->used_locked() + growth > disk->room_) return false;
    content->size = size;
    return true;
  }

  static int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
    PowerCutFile& self = of(file);
    const auto* const begin = static_cast<const char*>(bytes);
    if (!self.takes_room(offset + size)) return SQLITE_FULL;
    if (!self.note({.offset = static_cast<std::size_t>(offset), .bytes = {begin, begin + size}})) {
      return SQLITE_IOERR_WRITE;
    }
    return self.below()->pMethods->xWrite(self.below(), bytes, size, offset);
  }

  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    PowerCutFile& self = of(file);
    if (!self.note({.is_truncation = true, .offset = static_cast<std::size_t>(size)})) {
      return SQLITE_IOERR_TRUNCATE;
    }
    {
      const std::scoped_lock turn(self.disk->lock_);
      if (self.content) self.content->size = std::min<std::int64_t>(self.content->size, size);
    }
    return self.below()->pMethods->xTruncate(self.below(), size);
  }

  // The disk below is not synced: nothing happens to that.
  static int sync(sqlite3_file* file, int) {
    PowerCutFile& self = of(file);
    const std::scoped_lock turn(self.disk->lock_);
    if (!self.disk->may_change_locked()) return SQLITE_IOERR_FSYNC;
    if (!self.content) return SQLITE_OK;
    for (const auto& each : self.content->pending) PowerCutVfs::apply(each, self.content->synced);
    self.content->pending.clear();
    // As the VFS for Unix does with journals it has made.
    if (self.is_journal && !self.content->is_name_synced) self.disk->sync_folder_locked();
    return SQLITE_OK;
  }

  static int size(sqlite3_file* file, sqlite3_int64* size) {
    return of(file).below()->pMethods->xFileSize(of(file).below(), size);
  }
  static int lock(sqlite3_file* file, int level) {
    return of(file).below()->pMethods->xLock(of(file).below(), level);
  }
  static int unlock(sqlite3_file* file, int level) {
    return of(file).below()->pMethods->xUnlock(of(file).below(), level);
  }
  static int check_lock(sqlite3_file* file, int* result) {
    return of(file).below()->pMethods->xCheckReservedLock(of(file).below(), result);
  }
  static int control(sqlite3_file* file, int what, void* argument) {
    return of(file).below()->pMethods->xFileControl(of(file).below(), what, argument);
  }
  static int sector_size(sqlite3_file* file) {
    return of(file).below()->pMethods->xSectorSize(of(file).below());
  }
  static int characteristics(sqlite3_file* file) {
    return of(file).below()->pMethods->xDeviceCharacteristics(of(file).below());
  }
  static int map(sqlite3_file* file, int page, int size, int extend, void volatile** memory) {
    return of(file).below()->pMethods->xShmMap(of(file).below(), page, size, extend, memory);
  }
  static int lock_map(sqlite3_file* file, int offset, int count, int flags) {
    return of(file).below()->pMethods->xShmLock(of(file).below(), offset, count, flags);
  }
  static void barrier(sqlite3_file* file) {
    of(file).below()->pMethods->xShmBarrier(of(file).below());
  }
  static int unmap(sqlite3_file* file, int is_deleted) {
    return of(file).below()->pMethods->xShmUnmap(of(file).below(), is_deleted);
  }

  // Version 2: without reading by mmap.
  static constexpr sqlite3_io_methods methods{
      2,       &close,      &read,    &write,       &truncate,        &sync, &size,     &lock,
      &unlock, &check_lock, &control, &sector_size, &characteristics, &map,  &lock_map, &barrier,
      &unmap,  nullptr,     nullptr};

  static PowerCutVfs& disk_of(sqlite3_vfs* vfs) {
    return *static_cast<PowerCutVfs*>(vfs->pAppData);
  }

  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out) {
    PowerCutVfs& disk = disk_of(vfs);
    auto* const self = new (file) PowerCutFile();
    self->disk = &disk;
    self->pMethods = nullptr;
    constexpr int journals = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL;
    self->is_journal = (flags & journals) != 0;
    const bool existed = path != nullptr && std::filesystem::exists(path);
    const int result = disk.is_cut()
                           ? SQLITE_CANTOPEN
                           : disk.real_->xOpen(disk.real_, path, self->below(), flags, out);
    if (result != SQLITE_OK) {
      self->~PowerCutFile();
      file->pMethods = nullptr;
      return result;
    }
    self->pMethods = &methods;
    if (path == nullptr || (flags & SQLITE_OPEN_DELETEONCLOSE) != 0) return SQLITE_OK;
    const std::scoped_lock turn(disk.lock_);
    auto& content = disk.files_[path];
    if (!content) {
      content = std::make_shared<PowerCutVfs::Content>();
      // What was there before this disk was asked is safe.
      content->is_name_synced = existed;
      content->synced.resize(existed ? std::filesystem::file_size(path) : 0);
      std::ifstream(path, std::ios::binary)
          .read(content->synced.data(), std::ssize(content->synced));
      content->size = std::ssize(content->synced);
    }
    self->content = content;
    return SQLITE_OK;
  }

  static int remove(sqlite3_vfs* vfs, const char* path, int syncs_folder) {
    PowerCutVfs& disk = disk_of(vfs);
    {
      const std::scoped_lock turn(disk.lock_);
      if (!disk.may_change_locked()) return SQLITE_IOERR_DELETE;
      if (auto file = disk.files_.extract(path)) {
        if (file.mapped()->is_name_synced) disk.deleted_[path] = file.mapped();
      }
      if (syncs_folder != 0) disk.sync_folder_locked();
    }
    return disk.real_->xDelete(disk.real_, path, 0);
  }
};

namespace {
std::string next_name() {
  static std::atomic<int> number = 0;
  return "power-cut-" + std::to_string(++number);
}
}  // namespace

PowerCutVfs::PowerCutVfs() : real_(sqlite3_vfs_find(nullptr)), name_(next_name()) {
  vfs_ = *real_;
  vfs_.pNext = nullptr;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.szOsFile = static_cast<int>(sizeof(PowerCutFile)) + real_->szOsFile;
  vfs_.xOpen = &PowerCutFile::open;
  vfs_.xDelete = &PowerCutFile::remove;
  sqlite3_vfs_register(&vfs_, 0);
}

PowerCutVfs::~PowerCutVfs() { sqlite3_vfs_unregister(&vfs_); }

void PowerCutVfs::cut_after(std::int64_t changes) {
  const std::scoped_lock turn(lock_);
  left_ = changes;
}

bool PowerCutVfs::is_cut() const {
  const std::scoped_lock turn(lock_);
  return left_ <= 0;
}

void PowerCutVfs::set_room(std::int64_t bytes) {
  const std::scoped_lock turn(lock_);
  room_ = bytes;
}

std::int64_t PowerCutVfs::used() const {
  const std::scoped_lock turn(lock_);
  return used_locked();
}

std::int64_t PowerCutVfs::used_locked() const {
  std::int64_t all = 0;
  for (const auto& [path, content] : files_) all += content->size;
  return all;
}

bool PowerCutVfs::may_change_locked() { return left_ > 0 && --left_ > 0; }

void PowerCutVfs::sync_folder_locked() {
  deleted_.clear();
  for (auto& [path, content] : files_) content->is_name_synced = true;
}

void PowerCutVfs::apply(const Change& change, std::vector<char>& bytes) {
  if (change.is_truncation) {
    if (bytes.size() > change.offset) bytes.resize(change.offset);
    return;
  }
  const std::size_t end = change.offset + change.bytes.size();
  if (bytes.size() < end) bytes.resize(end);
  std::memcpy(bytes.data() + change.offset, change.bytes.data(), change.bytes.size());
}

std::vector<char> PowerCutVfs::what_is_left(const Content& content, const Luck& luck,
                                            std::minstd_rand& random) {
  std::bernoulli_distribution is_kept(luck.keeps);
  std::vector<char> bytes = content.synced;
  for (const Change& each : content.pending) {
    if (each.is_truncation) {
      if (is_kept(random)) apply(each, bytes);
      continue;
    }
    const std::size_t end = each.offset + each.bytes.size();
    for (std::size_t at = each.offset; at < end;) {
      const std::size_t next = std::min(end, (at / luck.sector + 1) * luck.sector);
      const auto from = each.bytes.begin() + static_cast<std::ptrdiff_t>(at - each.offset);
      const auto to = each.bytes.begin() + static_cast<std::ptrdiff_t>(next - each.offset);
      if (is_kept(random)) apply({.offset = at, .bytes = {from, to}}, bytes);
      at = next;
    }
  }
  return bytes;
}

void PowerCutVfs::restart_in(const std::string& folder, const Luck& luck,
                             std::minstd_rand& random) const {
  const std::scoped_lock turn(lock_);
  std::bernoulli_distribution is_kept(luck.keeps);
  std::map<std::string, std::shared_ptr<Content>> left;
  for (const auto& [path, content] : deleted_) {
    if (!is_kept(random)) left[path] = content;  // The deletion is not kept.
  }
  for (const auto& [path, content] : files_) {
    if (content->is_name_synced || is_kept(random)) left[path] = content;
  }
  std::filesystem::create_directories(folder);
  for (const auto& [path, content] : left) {
    const auto bytes = what_is_left(*content, luck, random);
    std::ofstream file(std::filesystem::path(folder) / std::filesystem::path(path).filename(),
                       std::ios::binary);
    file.write(bytes.data(), std::ssize(bytes));
  }
}

}  // namespace handoff::tests
