#include "channel/ccl_interface.hpp"

#include "bridge/ccl_capture.hpp"
#include "ccl_api.hpp"
#include "ccl_types.hpp"
#include "channel/ccl_c_channel.hpp"
#include "channel/ccl_c_types.hpp"
#include "channel/ccl_cpp_channel.hpp"

namespace tutti::ccl {
namespace {

class CppInterface final : public Interface {
 public:
  CppInterface(const Library& library, const BridgeOptions& options)
      : Interface(ccl::capabilities(ApiKind::cpp, library.queues != nullptr)),
        api_(*library.bridge),
        queues_(library.queues) {
    check(api_, api_.init(options), "starting oneCCL");
    if (options.takes_turns) api_.whole_allreduce = library.bridge->whole_allreduce_in_turn;
  }

 private:
  std::unique_ptr<Channel> do_make_channel(CreationLock& creation_lock, const Rendezvous& rendezvous,
                                           const Workspace& workspace) const override {
    if (workspace.is_host()) return std::make_unique<CppChannel>(api_, creation_lock, rendezvous);
    return std::make_unique<CppChannel>(api_, creation_lock, rendezvous, *queues_, workspace);
  }

  Api api_;
  const QueueBridge* queues_;
};

/// oneCCL starts when the first communicator is created.
class CInterface final : public Interface {
 public:
  CInterface(const Library& library, const BridgeOptions& options)
      : Interface(ccl::capabilities(ApiKind::c, false)), api_(*library.c_api) {
    Capture::enable(options.quiet);
  }

 private:
  std::unique_ptr<Channel> do_make_channel(CreationLock& creation_lock, const Rendezvous& rendezvous,
                                           const Workspace&) const override {
    return std::make_unique<CChannel>(api_, creation_lock, rendezvous);
  }

  const CApi& api_;
};

}  // namespace

std::unique_ptr<Interface> start(const Library& library, const BridgeOptions& options) {
  if (library.c_api != nullptr) return std::make_unique<CInterface>(library, options);
  return std::make_unique<CppInterface>(library, options);
}

spi::Capabilities capabilities(ApiKind api, bool has_queues) {
  if (api == ApiKind::c) return c_capabilities();
  spi::Capabilities result;
  for (const OpTraits& row : kOpTraits) result.add(row.kind);
  result.remove(OpKind::reduce_scatterv);
  for (const OpKind kind :
       {OpKind::gather, OpKind::gatherv, OpKind::scatter, OpKind::scatterv, OpKind::send, OpKind::recv}) {
    result.add_built(kind);
  }
  for (const DataType type : kDataTypes) {
    result.add(type);
    for (const Reduction one : kReductions) {
      if (reduction(one) >= 0 && !is_float8(type) && is_defined(one, type)) result.add(one, type);
    }
  }
  if (has_queues) {
    for (const MemoryKind kind : {MemoryKind::host, MemoryKind::device, MemoryKind::shared}) result.add("sycl", kind);
  }
  return result;
}

}  // namespace tutti::ccl
