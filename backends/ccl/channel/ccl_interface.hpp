#pragma once

#include <memory>

#include "ccl_creation_lock.hpp"
#include "ccl_library.hpp"
#include "channel/ccl_channel.hpp"
#include "channel/ccl_workspace.hpp"
#include "tutti/rendezvous.hpp"
#include "tutti/spi/capabilities.hpp"

namespace tutti::ccl {

/// One of the two interfaces of oneCCL, ready for use: what makes the channels that all else goes through. The two do
/// not mix in one process.
class Interface {
 public:
  virtual ~Interface() = default;
  Interface(const Interface&) = delete;
  Interface& operator=(const Interface&) = delete;

  [[nodiscard]] const spi::Capabilities& capabilities() const noexcept { return capabilities_; }
  /// Whether it takes memory of SYCL devices, ordered by queues.
  [[nodiscard]] bool has_queues() const noexcept { return capabilities_.takes("sycl", MemoryKind::device); }

  /// A communicator of the members of `rendezvous`, for memory of the host or of the device and context of the
  /// workspace. Blocks until all have come; throws Error. From any thread.
  [[nodiscard]] std::unique_ptr<Channel> make_channel(CreationLock& creation, const Rendezvous& rendezvous,
                                                      const Workspace& workspace) const {
    return do_make_channel(creation, rendezvous, workspace);
  }

 protected:
  explicit Interface(const spi::Capabilities& capabilities) noexcept : capabilities_(capabilities) {}

 private:
  [[nodiscard]] virtual std::unique_ptr<Channel> do_make_channel(CreationLock& creation, const Rendezvous& rendezvous,
                                                                 const Workspace& workspace) const = 0;

  spi::Capabilities capabilities_;
};

/// Starts oneCCL through the interface that the library was opened for. `quiet`: what it prints goes into the errors
/// instead. Throws Error{backend_failure} with oneCCL's words.
[[nodiscard]] std::unique_ptr<Interface> start(const Library& library, bool quiet);

/// What oneCCL does by itself on host memory and, with queues, which the C++ interface may have, on memory of SYCL
/// devices.
[[nodiscard]] spi::Capabilities capabilities(ApiKind api, bool has_queues);

}  // namespace tutti::ccl
