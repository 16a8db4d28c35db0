#include "faults/campaign/job/sandbox.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

namespace tutti::test::campaign {
namespace {

namespace fs = std::filesystem;

/// In the holder: mounts, tells the campaign, and waits for its end.
[[noreturn]] void hold(const std::string& shm_options, bool with_tmp, int ready) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
  const bool done = unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                    mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, shm_options.c_str()) == 0 &&
                    (!with_tmp || mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=256m,mode=1777") == 0);
  const char answer = done ? '1' : '0';
  (void)!write(ready, &answer, 1);
  close(ready);
  if (!done) _exit(1);
  for (;;) pause();
}

void append_files(const fs::path& folder, std::vector<std::string>& files) {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, error), end;
       !error && entry != end; entry.increment(error)) {
    if (!entry->is_directory(error)) files.push_back(entry->path().string());
  }
}

std::vector<std::string> files_named_after_tutti() {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/dev/shm", error)) {
    if (entry.path().filename().string().find("tutti") != std::string::npos) files.push_back(entry.path().string());
  }
  return files;
}

}  // namespace

Sandbox::Sandbox(std::uint64_t shm_bytes) {
  std::error_code error;
  // A program below /tmp must stay visible.
  has_tmp_ = !fs::read_symlink("/proc/self/exe", error).string().starts_with("/tmp/");
  const std::string options = "mode=1777,size=" + std::to_string(shm_bytes);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  const pid_t child = fork();
  if (child == 0) hold(options, has_tmp_, ends[1]);
  close(ends[1]);
  char answer = '0';
  (void)!read(ends[0], &answer, 1);
  close(ends[0]);
  if (answer == '1') {
    holder_ = child;
    space_ = "/proc/" + std::to_string(holder_) + "/ns/mnt";
    return;
  }
  if (child > 0) waitpid(child, nullptr, 0);
  before_ = files_named_after_tutti();
}

Sandbox::~Sandbox() {
  if (!is_private()) return;
  kill(holder_, SIGKILL);
  waitpid(holder_, nullptr, 0);
}

bool Sandbox::enter() const noexcept {
  if (!is_private()) return true;
  const int space = open(space_.c_str(), O_RDONLY | O_CLOEXEC);
  return space >= 0 && setns(space, CLONE_NEWNS) == 0;
}

std::string Sandbox::seen_inside(const std::string& path) const {
  return is_private() ? "/proc/" + std::to_string(getpid()) + "/root" + path : path;
}

std::vector<std::string> Sandbox::files_left() const {
  std::vector<std::string> files;
  if (!is_private()) {
    files = files_named_after_tutti();
    std::erase_if(files, [&](const std::string& file) { return std::ranges::find(before_, file) != before_.end(); });
    return files;
  }
  const std::string root = "/proc/" + std::to_string(holder_) + "/root";
  append_files(root + "/dev/shm", files);
  if (has_tmp_) append_files(root + "/tmp", files);
  for (std::string& file : files) file.erase(0, root.size());
  return files;
}

}  // namespace tutti::test::campaign
