#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace tutti::bench {

/// Thrown when the other side is gone or cannot be reached.
struct LinkError {
  std::string message;
};

/// Lines of text between the controller and one rank. Both wait in a system call, so that a driver whose turn it is not
/// uses no processor. Needs nothing but the operating system: the drivers have nothing of tutti in them.
class RankLink {
 public:
  /// Connects to a RankListener. Throws LinkError.
  explicit RankLink(const std::string& name);
  /// Takes over a connected socket.
  explicit RankLink(int descriptor) noexcept : descriptor_(descriptor) {}
  RankLink(RankLink&& other) noexcept;
  RankLink& operator=(RankLink&& other) noexcept;
  ~RankLink();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// The newline is added. Throws LinkError.
  void send(std::string_view line);
  /// Waits for the next line. Throws LinkError.
  [[nodiscard]] std::string receive();
  /// A line that is there already; nothing when there is none. Throws LinkError.
  [[nodiscard]] std::optional<std::string> poll();

 private:
  [[nodiscard]] std::optional<std::string> take_line();
  [[nodiscard]] bool read_some(bool wait);

  int descriptor_ = -1;
  std::string pending_;
};

/// Where the ranks of one driver connect to: a Linux abstract socket, so that no file can be left behind.
class RankListener {
 public:
  explicit RankListener(std::string name);
  RankListener(const RankListener&) = delete;
  RankListener& operator=(const RankListener&) = delete;
  ~RankListener();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// A rank that has connected; nothing when there is none.
  [[nodiscard]] std::optional<RankLink> accept();

 private:
  std::string name_;
  int descriptor_ = -1;
};

}  // namespace tutti::bench
