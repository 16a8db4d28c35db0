#include "output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "terminal.hpp"
#include "text.hpp"
#include "tutti/error.hpp"

namespace tutti::tools {

void write_file_atomically(const std::string& path, std::string_view content) {
  struct stat existing {};
  if (stat(path.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode)) {
    // /dev/stdout, a pipe: there is nothing to replace.
    const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    const bool written = descriptor >= 0 && write_all(descriptor, content);
    const int problem = errno;
    if (descriptor >= 0) close(descriptor);
    if (!written) throw Error(ErrorCode::system, concat("cannot write ", path, ": ", std::strerror(problem)));
    return;
  }
  std::string temporary = path + ".XXXXXX";
  const int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) throw Error(ErrorCode::system, concat("cannot write ", path, ": ", std::strerror(errno)));
  const mode_t mask = umask(0);
  umask(mask);
  const bool written = write_all(descriptor, content) && fchmod(descriptor, 0666 & ~mask) == 0 &&
                       close(descriptor) == 0 && rename(temporary.c_str(), path.c_str()) == 0;
  if (!written) {
    const int problem = errno;
    unlink(temporary.c_str());
    throw Error(ErrorCode::system, concat("cannot write ", path, ": ", std::strerror(problem)));
  }
}

}  // namespace tutti::tools
