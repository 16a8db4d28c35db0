// Observer module "nvtx": operations as NVTX ranges, for Nsight Systems and other tools.
#include <nvtx3/nvToolsExt.h>

#include <array>
#include <string>

#include "open_ranges.hpp"
#include "tutti/observer.hpp"
#include "tutti/spi/observer_module.hpp"

namespace tutti::profiling {

namespace {

class NvtxObserver final : public Observer {
 public:
  using Observer::on;

  /// Throws Error if no tool listens.
  void start() {
    domain_ = nvtxDomainCreateA("tutti");
    if (domain_ == nullptr) {
      throw Error(ErrorCode::unsupported,
                  "no tool reads NVTX ranges in this process: start it under one, for example nsys profile");
    }
    for (const OpTraits& row : kOpTraits)
      names_[static_cast<std::size_t>(row.kind)] = nvtxDomainRegisterStringA(domain_, std::string(row.name).c_str());
    handle_ = add_observer(*this);
  }
  void stop() noexcept { handle_.reset(); }

  void on(const OpIssued& record) noexcept override {
    nvtxEventAttributes_t attributes = {};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = names_[static_cast<std::size_t>(record.operation.kind)];
    attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    attributes.payload.ullValue = message_bytes(record.operation, record.size);
    // Not pushed and popped: an operation may end in another thread, and after one that was issued later.
    ranges_.begin(record.id, [&] { return nvtxDomainRangeStartEx(domain_, &attributes); });
  }

  void on(const OpCompleted& record) noexcept override {
    if (const auto range = ranges_.end(record.id)) nvtxDomainRangeEnd(domain_, *range);
  }

 private:
  nvtxDomainHandle_t domain_ = nullptr;
  std::array<nvtxStringHandle_t, kOpKindCount> names_ = {};
  OpenRanges<nvtxRangeId_t> ranges_;
  ObserverHandle handle_;
};

/// Never destroyed: threads may complete operations until the process ends.
NvtxObserver& nvtx() {
  static auto* const one = new NvtxObserver;
  return *one;
}

constexpr spi::ObserverModule kModule = {.name = "nvtx",
                                         .description = "operations as NVTX ranges",
                                         .start = [](const Config&) { nvtx().start(); },
                                         .stop = []() noexcept { nvtx().stop(); }};

}  // namespace

}  // namespace tutti::profiling

extern "C" TUTTI_API const tutti::spi::ObserverModule* tutti_observer_module() { return &tutti::profiling::kModule; }
