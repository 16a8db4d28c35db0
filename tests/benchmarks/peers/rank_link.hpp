#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace tutti::bench {

/// Thrown when the other end is gone or cannot be reached.
struct LinkError {
  std::string message;
};

/// Lines of text between the controller and one rank. Both wait in a system call, so that a driver uses no processor
/// time when it is not its turn. Does not link tutti, because most drivers do not.
class RankLink {
 public:
  /// Connects to a RankListener. Throws LinkError.
  explicit RankLink(const std::string& name);
  /// Takes ownership of a connected socket.
  explicit RankLink(int descriptor) noexcept : descriptor_(descriptor) {}
  RankLink(RankLink&& other) noexcept;
  RankLink& operator=(RankLink&& other) noexcept;
  ~RankLink();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Sends the line and a newline. Throws LinkError.
  void send(std::string_view line);
  /// Waits for the next line. Throws LinkError.
  [[nodiscard]] std::string receive();
  /// A line that has already arrived; nothing if there is none. Throws LinkError.
  [[nodiscard]] std::optional<std::string> poll();

 private:
  [[nodiscard]] std::optional<std::string> take_line();
  [[nodiscard]] bool read_some(bool wait);

  int descriptor_ = -1;
  std::string pending_;
};

/// Socket that the ranks of a driver connect to: a Linux abstract socket, which leaves no file behind.
class RankListener {
 public:
  explicit RankListener(std::string name);
  RankListener(const RankListener&) = delete;
  RankListener& operator=(const RankListener&) = delete;
  ~RankListener();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// The link of a rank that has connected; nothing if there is none.
  [[nodiscard]] std::optional<RankLink> accept();

 private:
  std::string name_;
  int descriptor_ = -1;
};

}  // namespace tutti::bench
