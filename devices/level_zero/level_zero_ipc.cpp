// Sharing of device memory between processes of a host. A driver's handle begins with a file descriptor, which is valid
// in its own process only: another process copies the descriptor, by the number of the process that made the handle.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "level_zero_events.hpp"
#include "level_zero_memory.hpp"
#include "tutti/error.hpp"

namespace tutti::level_zero_device {

namespace {

/// Content of a handle of tutti.
struct Envelope {
  std::uint64_t magic = kMagic;
  std::int64_t process = 0;
  std::uint64_t file_system = 0;  ///< with `file`: identifies the file, so that a reused process number is noticed
  std::uint64_t file = 0;
  std::uint64_t offset = 0;  ///< of the pointer in its allocation
  ze_ipc_mem_handle_t handle = {};

  static constexpr std::uint64_t kMagic = 0x7a65'6970'6331;
};

/// A file descriptor of this process, closed by the destructor.
class Descriptor {
 public:
  explicit Descriptor(long number) noexcept : number_(static_cast<int>(number)) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }

 private:
  int number_;
};

std::int32_t descriptor_in(const ze_ipc_mem_handle_t& handle) noexcept {
  std::int32_t file = -1;
  std::memcpy(&file, handle.data, sizeof(file));
  return file;
}

/// Whether a handle names the process that made it: a newer driver copies the descriptor from that process itself, so
/// the descriptor in the handle must not be replaced. Trying to open the handle does not tell: with an older driver the
/// number may by chance be the descriptor of other memory in this process. Both kinds of handles begin with 16 bytes
/// for the descriptor and an offset; in handles of older drivers the next four bytes are 0 for device memory.
bool names_its_process(const ze_ipc_mem_handle_t& handle, std::int64_t process) noexcept {
  constexpr std::size_t kProcessAt = 16;
  std::int32_t named = 0;
  std::memcpy(&named, handle.data + kProcessAt, sizeof(named));
  return named == process;
}

Error unsupported(const std::string& reason) { return {ErrorCode::unsupported, reason, "level_zero"}; }

/// Copies the descriptor of the handle's process into this process.
int fetch(const Envelope& envelope) {
  const std::string owner = "process " + std::to_string(envelope.process);
  const auto refuse = [&](const std::string& what) {
    return unsupported("device memory of " + owner + " cannot be opened: " + what + ": " + std::strerror(errno));
  };
  const std::int32_t file = descriptor_in(envelope.handle);
  if (envelope.process == getpid()) {
    const int copy = fcntl(file, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) throw refuse("its descriptor is closed");
    return copy;
  }
  const Descriptor process(syscall(SYS_pidfd_open, static_cast<pid_t>(envelope.process), 0));
  if (!process) throw refuse("pidfd_open");
  const long copy = syscall(SYS_pidfd_getfd, process.number(), file, 0);
  if (copy < 0) {
    throw refuse(errno == EPERM ? "pidfd_getfd (needs permission to trace the process: set kernel.yama.ptrace_scope=0, "
                                  "or give the container CAP_SYS_PTRACE)"
                                : "pidfd_getfd");
  }
  return static_cast<int>(copy);
}

}  // namespace

spi::IpcHandle Memory::export_memory(const Stream& stream, void* pointer) const {
  const ze_context_handle_t context = list_of(stream).context;
  const Properties found = properties(context, pointer);
  if (found.type != ZE_MEMORY_TYPE_DEVICE) {
    throw unsupported("only device memory of the stream's context can be shared between processes");
  }
  Envelope envelope;
  void* base = nullptr;
  std::size_t bytes = 0;
  api_.call(api_.mem_get_address_range, context, pointer, &base, &bytes);
  api_.call(api_.mem_get_ipc_handle, context, base, &envelope.handle);
  struct stat status = {};
  if (fstat(descriptor_in(envelope.handle), &status) != 0) {
    throw unsupported("the driver's IPC handle does not begin with a file descriptor; tutti knows no other kind");
  }
  envelope.process = getpid();
  envelope.file_system = status.st_dev;
  envelope.file = status.st_ino;
  envelope.offset = static_cast<std::uint64_t>(static_cast<std::byte*>(pointer) - static_cast<std::byte*>(base));
  const auto* first = reinterpret_cast<const std::byte*>(&envelope);
  return {first, first + sizeof(envelope)};
}

void* Memory::import_memory(const Stream& stream, std::span<const std::byte> handle) const {
  Envelope envelope;
  if (handle.size() == sizeof(envelope)) std::memcpy(&envelope, handle.data(), sizeof(envelope));
  if (handle.size() != sizeof(envelope) || envelope.magic != Envelope::kMagic) {
    throw Error(ErrorCode::invalid_argument, "these bytes are not a memory handle made by tutti's level_zero module",
                "level_zero");
  }
  // Closed at the end: the driver keeps its own reference to the memory.
  const Descriptor file(fetch(envelope));
  struct stat status = {};
  if (fstat(file.number(), &status) != 0 || status.st_dev != envelope.file_system || status.st_ino != envelope.file) {
    throw unsupported("device memory of process " + std::to_string(envelope.process) +
                      " cannot be opened: it has been freed, or this number is another process here (reused, or of "
                      "another PID namespace)");
  }
  if (!names_its_process(envelope.handle, envelope.process)) {
    const std::int32_t number = file.number();
    std::memcpy(envelope.handle.data, &number, sizeof(number));
  }
  const CommandList& list = list_of(stream);
  void* base = nullptr;
  api_.call(api_.mem_open_ipc_handle, list.context, list.device, envelope.handle, ze_ipc_memory_flags_t{0}, &base);
  return static_cast<std::byte*>(base) + envelope.offset;
}

void Memory::close_memory(const Stream& stream, void* imported) const noexcept {
  const ze_context_handle_t context = list_of(stream).context;
  void* base = nullptr;
  std::size_t bytes = 0;
  if (!api_.try_call(api_.mem_get_address_range, context, imported, &base, &bytes)) return;
  (void)api_.mem_close_ipc_handle(context, base);
}

}  // namespace tutti::level_zero_device
