#include "text/terminal.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "text/text.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/environment.hpp"

namespace tutti::tools {

namespace {

// Open MPI gives its ranks a pseudo-terminal even if their output ends up in a file.
bool is_rank_of_a_launcher() {
  constexpr std::array kVariables = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
  return std::ranges::any_of(kVariables, [](const char* name) { return spi::environment(name).has_value(); });
}

bool may_colour(int descriptor) {
  // https://no-color.org: any value that is not empty
  const bool refused =
      !spi::environment("NO_COLOR").value_or("").empty() || spi::environment("TERM").value_or("") == "dumb";
  return isatty(descriptor) == 1 && !refused && !is_rank_of_a_launcher();
}

}  // namespace

Terminal::Terminal(int descriptor)
    : Style(may_colour(descriptor)), descriptor_(descriptor), is_tty_(isatty(descriptor) == 1) {}

std::size_t Terminal::columns() const {
  winsize size{};
  if (is_tty_ && ioctl(descriptor_, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) return size.ws_col;
  return 100;
}

std::size_t Terminal::rows() const {
  winsize size{};
  return is_tty_ && ioctl(descriptor_, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd ready{descriptor, POLLOUT, 0};
      poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

void write_result(std::string_view text) {
  if (write_all(STDOUT_FILENO, text) || errno == EPIPE) return;  // EPIPE: the reader stopped early
  throw Error(ErrorCode::system, concat("cannot write to the standard output: ", std::strerror(errno)));
}

}  // namespace tutti::tools
