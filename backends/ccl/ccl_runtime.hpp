#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ccl_library.hpp"
#include "channel/ccl_interface.hpp"
#include "common/library_users.hpp"
#include "creation/ccl_creation_lock.hpp"
#include "creation/ccl_environment.hpp"
#include "creation/ccl_transport.hpp"
#include "tutti/config.hpp"
#include "tutti/spi/module.hpp"

namespace tutti::ccl {

/// The oneCCL of this process: one library, started once, never ended by tutti. All functions are thread-safe.
class Runtime {
 public:
  /// The interface that TUTTI_CCL_API names.
  [[nodiscard]] static ApiKind api(const Config& config);
  /// The library for the interface that TUTTI_CCL_API names. The first call opens it, with the other settings of that
  /// call. Does not start oneCCL. Returns a Library with a failure if the process already uses the other interface.
  [[nodiscard]] static const Library& library(const Config& config);

  /// The started oneCCL for a new communicator; collective over its ranks, which agree on the transport. The first call
  /// sets the environment variables and starts oneCCL. Throws Error{backend_unavailable} when there is no library,
  /// Error{backend_failure} with oneCCL's error text, Error{invalid_usage} when the ranks use different transports.
  [[nodiscard]] static Runtime& started(const spi::CreateContext& context);

  [[nodiscard]] const Interface& interface() const noexcept { return *interface_; }
  /// The environment variables that were set when oneCCL was started.
  [[nodiscard]] const std::vector<Variable>& variables() const noexcept { return variables_; }
  /// The lock under which communicators of `rendezvous` are created: one per store, and a job has one store.
  [[nodiscard]] CreationLock& creation_lock(const Rendezvous& rendezvous);
  /// To be called when oneCCL has made its first communicator, and with it objects that are destroyed at exit.
  static void cover_exit();
  /// A call into oneCCL may never return. The end of the process is then limited to a few seconds, because oneCCL's
  /// destructors wait for the call.
  static void note_calls_left_behind() noexcept;
  /// Whether the process is exiting: oneCCL then serves the exiting thread only.
  [[nodiscard]] static bool is_exiting() noexcept;
  /// The communicators of this process.
  [[nodiscard]] common::LibraryUsers& users() noexcept { return users_; }

 private:
  static void note_failed_thread(const std::string& text);
  Runtime(const Library& library, const spi::Peers& peers, Transport transport);
  [[nodiscard]] static TransportOffer offer_of_this_process(const Library& library, const Config& config);

  ApiKind api_;
  Transport transport_;
  bool is_confined_ = false;  ///< the key-value store listens on the loopback interface
  std::vector<Variable> variables_;
  std::unique_ptr<Interface> interface_;
  std::map<const Store*, std::unique_ptr<CreationLock>> creation_locks_;  ///< null: for communicators of one rank
  common::LibraryUsers users_{"oneCCL", "ccl"};
};

}  // namespace tutti::ccl
