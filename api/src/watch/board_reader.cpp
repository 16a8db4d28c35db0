#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "tutti/info/progress.hpp"
#include "tutti/spi/file_descriptor.hpp"
#include "watch/progress_slot.hpp"
#include "watch/progress_snapshot.hpp"

/// read_progress(): the boards of other processes, found through /proc. They are read, not mapped: a process that means
/// harm could shrink its memory under the reader.
namespace tutti {
namespace {

using detail::BoardHeader;
using detail::ProgressSlot;

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { closedir(folder); }
};

/// Names in a folder that are numbers; empty if it cannot be read.
std::vector<std::int64_t> numbers_in(const std::string& path) {
  std::vector<std::int64_t> numbers;
  const std::unique_ptr<DIR, CloseFolder> folder(opendir(path.c_str()));
  if (folder == nullptr) return numbers;
  while (const dirent* entry = readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size()) numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

bool is_board(const std::string& link) {
  static const std::string wanted = std::string("/memfd:") + detail::kBoardName + " (deleted)";
  std::array<char, 64> target{};
  const ssize_t length = readlink(link.c_str(), target.data(), target.size());
  return length >= 0 && std::string_view(target.data(), static_cast<std::size_t>(length)) == wanted;
}

/// The number by which the process knows itself: the last one of NSpid, if it is in a namespace of its own.
std::int64_t own_number(std::int64_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("NSpid:")) continue;
    std::int64_t number = pid;
    const std::size_t word = line.find_last_of(" \t");
    if (word != std::string::npos) std::from_chars(line.data() + word + 1, line.data() + line.size(), number);
    return number;
  }
  return pid;
}

/// Bytes of a file, as an object of shared memory; null if the file is shorter.
template <typename Shared>
class Copy {
 public:
  [[nodiscard]] const Shared* read(int file, std::size_t offset) {
    const ssize_t got = pread(file, bytes_.data(), sizeof(Shared), static_cast<off_t>(offset));
    // An object of atomic numbers and characters: any bytes are valid values of it.
    return got == ssize_t{sizeof(Shared)} ? std::launder(reinterpret_cast<const Shared*>(bytes_.data())) : nullptr;
  }

 private:
  alignas(Shared) std::array<std::byte, sizeof(Shared)> bytes_;
};

void read_slots(int file, ProcessProgress& process) {
  for (std::size_t i = 0; i < detail::kBoardSlots; ++i) {
    Copy<ProgressSlot> copy;
    const ProgressSlot* slot = copy.read(file, sizeof(BoardHeader) + i * sizeof(ProgressSlot));
    if (slot == nullptr) {
      process.problem = "its state is cut off";
      return;
    }
    if (auto progress = detail::read_whole_slot(*slot)) process.communicators.push_back(std::move(*progress));
  }
}

/// Nothing for a board that is another process's: a forked child has the descriptors of its parent.
std::optional<ProcessProgress> read_board(std::int64_t pid, const std::string& link) {
  const spi::FileDescriptor file(open(link.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) return std::nullopt;
  ProcessProgress process{.pid = pid, .problem = {}, .communicators = {}};
  Copy<BoardHeader> copy;
  const BoardHeader* header = copy.read(file.get(), 0);
  if (header == nullptr || header->magic != detail::kBoardMagic) {
    process.problem = "its state is not of tutti, though it is called so";
    return process;
  }
  if (header->version != detail::kBoardVersion) {
    process.problem = "it uses another version of tutti: its state has version " + std::to_string(header->version) +
                      ", this program reads version " + std::to_string(detail::kBoardVersion);
    return process;
  }
  if (header->slots != detail::kBoardSlots || header->slot_bytes != sizeof(ProgressSlot)) {
    process.problem = "its state is damaged";
    return process;
  }
  if (header->pid != own_number(pid)) return std::nullopt;
  process.communicators_without = header->communicators_without.load(std::memory_order_relaxed);
  read_slots(file.get(), process);
  return process;
}

}  // namespace

std::vector<ProcessProgress> read_progress() {
  std::vector<ProcessProgress> processes;
  const uid_t user = geteuid();
  for (const std::int64_t pid : numbers_in("/proc")) {
    const std::string folder = "/proc/" + std::to_string(pid);
    struct stat status {};
    if (user != 0 && (stat(folder.c_str(), &status) != 0 || status.st_uid != user)) continue;
    for (const std::int64_t descriptor : numbers_in(folder + "/fd")) {
      const std::string link = folder + "/fd/" + std::to_string(descriptor);
      if (!is_board(link)) continue;
      if (auto process = read_board(pid, link)) processes.push_back(std::move(*process));
    }
  }
  return processes;
}

}  // namespace tutti
