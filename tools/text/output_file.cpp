#include "text/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "text/terminal.hpp"
#include "text/text.hpp"
#include "tutti/error.hpp"

namespace tutti::tools {

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  struct stat existing {};
  if (stat(path_.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode)) {
    descriptor_ = spi::FileDescriptor(open(path_.c_str(), O_WRONLY | O_CLOEXEC));
  } else {
    temporary_ = path_ + ".XXXXXX";
    descriptor_ = spi::FileDescriptor(mkostemp(temporary_.data(), O_CLOEXEC));
    if (descriptor_.get() < 0) temporary_.clear();
  }
  if (descriptor_.get() < 0) fail();
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::write(std::string_view content) {
  append(content);
  finish();
}

void OutputFile::append(std::string_view bytes) {
  if (!write_all(descriptor_.get(), bytes)) fail();
}

void OutputFile::finish() {
  if (temporary_.empty()) return;
  const mode_t mask = umask(0);
  umask(mask);
  // A network file system may report a full disk only at fsync.
  const bool stored = fchmod(descriptor_.get(), 0666 & ~mask) == 0 && fsync(descriptor_.get()) == 0;
  if (!stored || rename(temporary_.c_str(), path_.c_str()) != 0) fail();
  temporary_.clear();
}

void OutputFile::fail() const {
  throw Error(ErrorCode::system, concat("cannot write ", path_, ": ", std::strerror(errno)));
}

void write_file_atomically(const std::string& path, std::string_view content) { OutputFile(path).write(content); }

}  // namespace tutti::tools
