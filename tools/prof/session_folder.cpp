#include "prof/session_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "launch/process.hpp"
#include "text/text.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

namespace fs = std::filesystem;

// An instance claims its rank within moments of making the folder.
constexpr std::chrono::seconds kYoung{60};
constexpr int kMostAttempts = 100;

std::runtime_error problem(const std::string& text, const fs::path& path) {
  return std::runtime_error(concat(text, ' ', path.string(), ": ", std::strerror(errno)));
}

std::string user_prefix() { return concat("tutti-prof-", geteuid(), '-'); }

fs::path claim_of(const fs::path& folder, int rank) { return folder / concat("rank.", rank); }
fs::path mark_of(const fs::path& folder, int rank) { return folder / concat("ended.", rank); }

/// Names in a shared folder can be made by others: only an own folder that others cannot enter is used.
bool is_own_folder(const fs::path& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & 077) == 0;
}

/// Whether the process that made the claim lives. A file system without locks leaves it alive.
bool is_locked(const fs::path& claim) {
  const spi::FileDescriptor file(open(claim.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return false;
  return flock(file.get(), LOCK_SH | LOCK_NB) != 0;
}

std::vector<int> numbers_of(const fs::path& folder, std::string_view prefix) {
  std::vector<int> numbers;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    int number = 0;
    const char* const end = name.data() + name.size();
    if (!name.starts_with(prefix)) continue;
    if (std::from_chars(name.data() + prefix.size(), end, number).ptr == end) numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

bool is_young(const fs::path& folder) {
  std::error_code error;
  const auto changed = fs::last_write_time(folder, error);
  return !error && fs::file_time_type::clock::now() - changed < kYoung;
}

/// Name of a folder that a process is removing.
fs::path aside_name(const fs::path& folder, pid_t process) { return concat(folder.string(), ".old-", process); }

/// Takes the folder out of the way of others before its content goes, so that nobody joins it half removed.
void remove_folder(const fs::path& folder) noexcept {
  std::error_code error;
  const fs::path aside = aside_name(folder, getpid());
  fs::rename(folder, aside, error);
  fs::remove_all(error ? folder : aside, error);
}

fs::path temporary_base(const JobPlace& place, const ProcessEnvironment& environment) {
  if (!place.spans_hosts) {
    const std::string folder = environment.get("TMPDIR");
    return folder.empty() ? fs::path("/tmp") : fs::path(folder);
  }
  // The home is the folder that hosts share most often.
  const fs::path base = kept_sessions_folder() / "running";
  std::error_code ignored;
  fs::create_directories(base, ignored);
  return base;
}

void make_private(const fs::path& path) {
  if (mkdir(path.c_str(), 0700) != 0) throw problem("cannot create the folder", path);
}

/// The session's folder that a user names: a new one, or an empty one.
fs::path make_kept_session(const std::string& kept) {
  const fs::path path = fs::absolute(kept).lexically_normal();
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  if (mkdir(path.c_str(), 0700) == 0) return path;
  if (errno != EEXIST) throw problem("cannot create the folder", path);
  if (!fs::is_directory(path, ignored) || !fs::is_empty(path, ignored))
    throw std::runtime_error(concat(path.string(), " is not an empty folder; name a new one with --trace-output"));
  return path;
}

}  // namespace

SessionFolder::SessionFolder(const JobPlace& place, const std::string& kept) : place_(place), is_kept_(!kept.empty()) {
  // Beside a session that the user keeps, because that file system is the one that all hosts share.
  fs::path base = temporary_base(place, ProcessEnvironment());
  if (is_kept_) {
    base = fs::absolute(kept).lexically_normal();
    if (!base.has_filename()) base = base.parent_path();
    base = base.parent_path();
    std::error_code ignored;
    fs::create_directories(base, ignored);
  }
  sweep_old_sessions(base);
  const std::string key =
      place.size > 1 ? place.key
                     : short_hash(concat(getpid(), ' ', std::chrono::steady_clock::now().time_since_epoch().count()));
  enter(base, user_prefix() + key, kept);
}

// A script may start `tutti prof` several times in each rank, and ranks may be several starts apart: the instance joins
// the first folder of the job in which its rank has no claim. The first rank may have reported and removed earlier
// ones.
void SessionFolder::enter(const fs::path& base, const std::string& stem, const std::string& kept) {
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    const std::vector<int> generations = numbers_of(base, stem + ".");
    for (const int generation : generations) {
      folder_ = base / concat(stem, '.', generation);
      if (claim()) return read_session_path();
    }
    create(base / concat(stem, '.', generations.empty() ? 0 : generations.back() + 1), kept);
  }
  throw std::runtime_error(concat("cannot enter the folder of a session below ", base.string()));
}

// The folder is complete before it has its name, so that nobody joins it half made.
void SessionFolder::create(const fs::path& folder, const std::string& kept) {
  const fs::path fresh = concat(folder.string(), ".new-", getpid());
  make_private(fresh);
  std::error_code error;
  try {
    if (kept.empty()) make_private(fresh / "session");
    std::ofstream path(fresh / "path");
    path << (kept.empty() ? folder / "session" : make_kept_session(kept)).string() << std::flush;
    if (!path) throw problem("cannot write in", folder.parent_path());
    fs::rename(fresh, folder, error);
  } catch (...) {
    fs::remove_all(fresh, error);
    // The folder is not empty if another rank was faster, and has begun.
    if (!fs::exists(folder, error)) throw;
  }
  if (error) fs::remove_all(fresh, error);
}

bool SessionFolder::claim() {
  if (!is_own_folder(folder_)) return false;
  const fs::path temporary = folder_ / concat("claim.", place_.rank, '.', getpid());
  spi::FileDescriptor file(open(temporary.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
  if (!file) return false;
  // Locked before it has its name: nobody sees a claim of a living process unlocked.
  flock(file.get(), LOCK_EX | LOCK_NB);
  const bool is_first = link(temporary.c_str(), claim_of(folder_, place_.rank).c_str()) == 0;
  unlink(temporary.c_str());
  if (is_first) claim_ = std::move(file);
  return is_first;
}

void SessionFolder::read_session_path() {
  std::string path;
  std::getline(std::ifstream(folder_ / "path"), path, '\0');
  if (path.empty()) throw std::runtime_error(concat("the folder of the session is not named in ", folder_.string()));
  session_ = path;
  is_kept_ = session_.parent_path() != folder_;
}

SessionFolder::Ranks SessionFolder::look() const {
  const std::vector<int> came = numbers_of(folder_, "rank.");
  const std::vector<int> ended = numbers_of(folder_, "ended.");
  Ranks ranks;
  for (int rank = 0; rank < place_.size; ++rank) {
    if (std::ranges::binary_search(ended, rank)) continue;
    if (!std::ranges::binary_search(came, rank)) {
      ranks.absent.push_back(rank);
    } else if (rank == place_.rank || is_locked(claim_of(folder_, rank))) {
      ranks.running.push_back(rank);
    } else {
      ranks.dead.push_back(rank);
    }
  }
  return ranks;
}

void SessionFolder::mark_ended() noexcept {
  const spi::FileDescriptor mark(open(mark_of(folder_, place_.rank).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

bool SessionFolder::reports() const {
  for (const int rank : numbers_of(folder_, "rank.")) {
    if (rank == place_.rank) return true;
    // The lower rank waits for this one if it has ended, or it will when it ends.
    if (is_locked(claim_of(folder_, rank))) return false;
  }
  return false;  // the folder is gone: another instance has reported
}

bool SessionFolder::take_report() noexcept { return mkdir((folder_ / "reported").c_str(), 0700) == 0; }

void SessionFolder::remove() noexcept { remove_folder(folder_); }

void SessionFolder::finish_removal_of(pid_t process) noexcept {
  std::error_code error;
  fs::remove_all(aside_name(folder_, process), error);
}

fs::path SessionFolder::keep_at(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::error_code error;
  fs::rename(session_, path, error);
  if (error) {  // another file system
    fs::copy(session_, path, fs::copy_options::recursive);
    fs::permissions(path, fs::perms::owner_all);
  }
  session_ = path;
  is_kept_ = true;
  return path;
}

fs::path kept_sessions_folder() {
  const ProcessEnvironment environment;
  if (const std::string data = environment.get("XDG_DATA_HOME"); !data.empty())
    return fs::path(data) / "tutti/sessions";
  const std::string home = environment.get("HOME");
  return home.empty() ? fs::path("tutti-sessions") : fs::path(home) / ".local/share/tutti/sessions";
}

void remember_latest(const fs::path& session) noexcept {
  try {
    const fs::path folder = kept_sessions_folder();
    fs::create_directories(folder);
    const fs::path fresh = folder / concat("latest.", getpid());
    fs::create_directory_symlink(fs::absolute(session), fresh);
    fs::rename(fresh, folder / "latest");
  } catch (const std::exception&) {
    // Only the short form of --replay is lost.
  }
}

fs::path latest_session() {
  std::error_code error;
  const fs::path link = kept_sessions_folder() / "latest";
  fs::path path = fs::read_symlink(link, error);
  if (error) throw UsageError(concat("no session was kept yet (", link.string(), " does not exist); name its folder"));
  return path;
}

void sweep_old_sessions(const fs::path& base) noexcept {
  try {
    std::error_code ignored;
    std::vector<fs::path> left;
    for (const auto& entry : fs::directory_iterator(base, ignored)) {
      const std::string name = entry.path().filename();
      if (!name.starts_with(user_prefix()) || !is_own_folder(entry.path())) continue;
      const std::vector<int> ranks = numbers_of(entry.path(), "rank.");
      const bool any_lives =
          std::ranges::any_of(ranks, [&](int rank) { return is_locked(claim_of(entry.path(), rank)); });
      if (any_lives) continue;
      // Without the lowest rank nobody will report; with others only, it may still come.
      const bool is_over = !ranks.empty() && ranks.front() == 0;
      if (is_over || !is_young(entry.path())) left.push_back(entry.path());
    }
    for (const fs::path& folder : left) remove_folder(folder);
  } catch (const std::exception&) {
    // The next start tries again.
  }
}

}  // namespace tutti::tools
