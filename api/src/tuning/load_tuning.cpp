// Search of the tuning file.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "settings/settings.hpp"
#include "tuning/tuning_limits.hpp"
#include "tutti/error.hpp"
#include "tutti/info.hpp"
#include "tutti/spi/environment.hpp"
#include "tutti/spi/file_descriptor.hpp"
#include "tutti/tuning.hpp"

namespace tutti {
namespace {

constexpr const char* kSystemPath = "/etc/tutti/tuning";

std::string last_error() { return std::strerror(errno); }  // NOLINT(concurrency-mt-unsafe): glibc's is safe

/// The content of a file, or nothing if it does not exist. Throws Error{config} with the reason if it cannot be read.
std::optional<std::string> content_of(const std::string& path) {
  const spi::FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw Error(ErrorCode::config, "it cannot be opened: " + last_error());
  }
  struct stat facts {};
  if (fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode))
    throw Error(ErrorCode::config, "it is no regular file");
  std::string text(kLargestTuningFile + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error(ErrorCode::config, "it cannot be read: " + last_error());
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

/// Takes the table of a file into `loaded`; if it cannot be used, only the reason. False if the file does not exist.
bool take(const std::string& path, LoadedTuning& loaded) {
  std::string reason;
  try {
    const auto text = content_of(path);
    if (!text) return false;
    TuningTable table = parse_tuning(*text);
    reason = objection_to(table, this_tuning_machine(), version());
    if (reason.empty()) {
      loaded.table = std::move(table);
      loaded.path = path;
      return true;
    }
  } catch (const Error& error) {
    reason = error.what();
  }
  loaded.notice +=
      (loaded.notice.empty() ? "" : "; ") + ("the tuning file " + printable(path, 300)) + " is not used: " + reason;
  return true;
}

}  // namespace

std::string user_tuning_path() {
  const std::string folder = spi::environment("XDG_CONFIG_HOME").value_or("");
  // The specification of these folders ignores relative paths.
  if (folder.starts_with('/')) return folder + "/tutti/tuning";
  const std::string home = spi::environment("HOME").value_or("");
  return home.starts_with('/') ? home + "/.config/tutti/tuning" : "";
}

LoadedTuning load_tuning(const Config& config) {
  LoadedTuning loaded;
  const std::string& path = config.text("TUTTI_TUNING");
  if (path == "none") return loaded;
  if (!path.empty()) {
    if (!take(path, loaded))
      loaded.notice = "the tuning file " + printable(path, 300) + " is not used: it does not exist";
    return loaded;
  }
  if (const std::string own = user_tuning_path(); !own.empty()) (void)take(own, loaded);
  if (!loaded.table) (void)take(kSystemPath, loaded);
  return loaded;
}

}  // namespace tutti
