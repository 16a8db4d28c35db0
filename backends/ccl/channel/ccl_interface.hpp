#pragma once

#include <memory>

#include "ccl_library.hpp"
#include "channel/ccl_channel.hpp"
#include "channel/ccl_workspace.hpp"
#include "creation/ccl_creation_lock.hpp"
#include "tutti/rendezvous.hpp"
#include "tutti/spi/capabilities.hpp"

namespace tutti::ccl {

/// One of the two interfaces of oneCCL, ready for use: creates the channels that all operations use. A process can use
/// only one of the two.
class Interface {
 public:
  virtual ~Interface() = default;
  Interface(const Interface&) = delete;
  Interface& operator=(const Interface&) = delete;

  [[nodiscard]] const spi::Capabilities& capabilities() const noexcept { return capabilities_; }
  /// Whether it takes memory of SYCL devices, ordered by queues.
  [[nodiscard]] bool has_queues() const noexcept { return capabilities_.takes("sycl", MemoryKind::device); }

  /// Creates a communicator of the members of `rendezvous`, for host memory or for memory of the device and context of
  /// `workspace`. The first member holds `creation_lock` meanwhile. Blocks until all members have joined; throws Error.
  /// Thread-safe.
  [[nodiscard]] std::unique_ptr<Channel> make_channel(CreationLock& creation_lock, const Rendezvous& rendezvous,
                                                      const Workspace& workspace) const {
    return do_make_channel(creation_lock, rendezvous, workspace);
  }

 protected:
  explicit Interface(const spi::Capabilities& capabilities) noexcept : capabilities_(capabilities) {}

 private:
  [[nodiscard]] virtual std::unique_ptr<Channel> do_make_channel(CreationLock& creation_lock,
                                                                 const Rendezvous& rendezvous,
                                                                 const Workspace& workspace) const = 0;

  spi::Capabilities capabilities_;
};

/// Starts oneCCL through the interface that the library was opened for. Throws Error{backend_failure} with oneCCL's
/// error text.
[[nodiscard]] std::unique_ptr<Interface> start(const Library& library, const BridgeOptions& options);

/// Operations, types and reductions that oneCCL supports on host memory and, with queues, which only the C++ interface
/// may have, on memory of SYCL devices.
[[nodiscard]] spi::Capabilities capabilities(ApiKind api, bool has_queues);

}  // namespace tutti::ccl
