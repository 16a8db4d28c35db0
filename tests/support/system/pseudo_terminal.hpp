#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <stdexcept>

namespace tutti::test {

/// A terminal of a given width, for the output of a program under test.
class PseudoTerminal {
 public:
  explicit PseudoTerminal(unsigned short columns) : master_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0) throw std::runtime_error("no pseudo-terminal");
    slave_ = open(ptsname(master_), O_RDWR | O_NOCTTY | O_CLOEXEC);
    const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    if (slave_ < 0 || ioctl(slave_, TIOCSWINSZ, &size) != 0) throw std::runtime_error("no pseudo-terminal");
  }
  ~PseudoTerminal() {
    close(slave_);
    close(master_);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  /// Descriptor that the program writes to.
  [[nodiscard]] int descriptor() const noexcept { return slave_; }

 private:
  int master_ = -1;
  int slave_ = -1;
};

}  // namespace tutti::test
