#include "record/record_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "text/text.hpp"
#include "tutti/error.hpp"

namespace tutti::tools {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kMark = "user-";

std::string host() {
  std::array<char, 256> name{};
  (void)gethostname(name.data(), name.size() - 1);
  return name.data();
}

[[noreturn]] void fail(const std::string& path, int number) {
  throw Error(ErrorCode::system, concat("folder ", path, " for the record cannot be used: ", std::strerror(number)), {},
              number);
}

}  // namespace

RecordFolder::RecordFolder(const std::string& file) : path_(fs::absolute(file).string() + ".parts") {
  if (mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) fail(path_, errno);
  const spi::FileDescriptor locked = lock();
  if (!has_users()) {
    for (const auto& entry : fs::directory_iterator(path_)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(kMark) || name.ends_with(".part")) fs::remove(entry.path());
    }
  }
  mark_ = concat(path_, '/', kMark, host(), ':', getpid());
  const spi::FileDescriptor mark(open(mark_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (mark.get() < 0) fail(path_, errno);
}

RecordFolder::~RecordFolder() {
  if (!mark_.empty()) unlink(mark_.c_str());
}

spi::FileDescriptor RecordFolder::lock() const {
  spi::FileDescriptor descriptor(open((path_ + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  // A file system without locks is used without: then two ranks may both make the record, which is the same.
  if (descriptor.get() < 0) fail(path_, errno);
  (void)flock(descriptor.get(), LOCK_EX);
  return descriptor;
}

bool RecordFolder::has_users() const {
  const std::string here = concat(kMark, host(), ':');
  for (const auto& entry : fs::directory_iterator(path_)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kMark)) continue;
    // Processes of other hosts cannot be asked.
    if (!name.starts_with(here)) return true;
    const pid_t process = static_cast<pid_t>(std::strtol(name.c_str() + here.size(), nullptr, 10));
    if (process > 0 && (kill(process, 0) == 0 || errno == EPERM)) return true;
  }
  return false;
}

std::optional<replay::MergedRecord> RecordFolder::leave() {
  std::optional<replay::MergedRecord> merged;
  {
    const spi::FileDescriptor locked = lock();
    unlink(mark_.c_str());
    mark_.clear();
    if (has_users()) return std::nullopt;
    const auto is_part = [](const fs::directory_entry& entry) { return entry.path().extension() == ".part"; };
    const bool is_empty = std::none_of(fs::directory_iterator(path_), fs::directory_iterator(), is_part);
    if (!is_empty) merged = replay::merge_folder(path_);
  }
  std::error_code error;
  fs::remove_all(path_, error);
  if (!merged) throw Error(ErrorCode::system, "nothing was recorded: the command called neither tutti nor MPI");
  return merged;
}

}  // namespace tutti::tools
