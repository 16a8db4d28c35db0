#include "json_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "terminal.hpp"
#include "text.hpp"
#include "tutti/error.hpp"

namespace tutti::tools {

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (filled_.empty()) return;
  if (filled_.back()) out_ += ',';
  filled_.back() = true;
  out_ += '\n';
  out_.append(2 * filled_.size(), ' ');
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  filled_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  const bool filled = filled_.back();
  filled_.pop_back();
  if (filled) {
    out_ += '\n';
    out_.append(2 * filled_.size(), ' ');
  }
  out_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  quote(name);
  out_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view text) {
  separate();
  out_ += text;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  quote(text);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.6g", number);
  return raw(text.data());
}

void JsonWriter::quote(std::string_view text) {
  out_ += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out_ += "\\\"";
        break;
      case '\\':
        out_ += "\\\\";
        break;
      case '\n':
        out_ += "\\n";
        break;
      case '\t':
        out_ += "\\t";
        break;
      case '\r':
        out_ += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          std::array<char, 8> code{};
          std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
          out_ += code.data();
        } else {
          out_ += c;
        }
    }
  }
  out_ += '"';
}

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
