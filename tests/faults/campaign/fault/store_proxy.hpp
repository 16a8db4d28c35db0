#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace tutti::test::campaign {

/// Kind and place of the damage that a StoreProxy does.
struct Damage {
  std::string kind;              ///< "flip", "cut", "silent", "delay" or "stranger"
  std::uint64_t connection = 0;  ///< number of the damaged connection
  bool to_server = false;        ///< direction of the damaged byte
  std::uint64_t at = 0;          ///< its number
  unsigned bit = 0;              ///< of the flip
};

/// A process between the ranks and the job's store: passes bytes on and damages them. Its parent is the campaign; it
/// ends with the campaign or with this object.
class StoreProxy {
 public:
  /// Passes connections on to 127.0.0.1:`server_port`.
  StoreProxy(const Damage& damage, int server_port);
  ~StoreProxy();
  StoreProxy(const StoreProxy&) = delete;
  StoreProxy& operator=(const StoreProxy&) = delete;

  [[nodiscard]] int port() const noexcept { return port_; }

 private:
  int port_ = 0;
  pid_t process_ = -1;
};

/// A TCP port of 127.0.0.1 and a name of a Unix socket that nobody uses now.
[[nodiscard]] int free_port();

}  // namespace tutti::test::campaign
