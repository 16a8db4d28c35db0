#pragma once

#include <algorithm>
#include <memory>
#include <string_view>

#include "tutti/error.hpp"
#include "tutti/observer.hpp"
#include "tutti/operation.hpp"
#include "tutti/spi/device.hpp"
#include "tutti/spi/instrument.hpp"

namespace tutti::common {

/// The time that a device took for what a library enqueued, between two events on its stream: for whoever observes.
class OperationTiming {
 public:
  /// Before the operation is enqueued.
  explicit OperationTiming(const Operation& operation)
      : cause_(spi::current_operation()),
        name_(tutti::name(operation.kind)),
        stream_(operation.stream),
        begin_(spi::device_runtime(stream_.device()).record(stream_)) {}

  /// After that.
  void stop() { end_ = spi::device_runtime(stream_.device()).record(stream_); }

  /// When the stream has come so far.
  void report() noexcept {
    try {
      const auto begin = begin_->interval();
      const auto end = end_->interval();
      Observer* const target = observer();
      if (target == nullptr || !begin || !end) return;
      target->on(
          DeviceInterval{cause_, name_, stream_.device(), begin->end_ns, std::max(begin->end_ns, end->begin_ns)});
    } catch (const Error&) {  // NOLINT: work without timestamps is still done
    }
  }

 private:
  OperationId cause_;
  std::string_view name_;
  Stream stream_;
  std::unique_ptr<spi::DeviceEvent> begin_;
  std::unique_ptr<spi::DeviceEvent> end_;
};

}  // namespace tutti::common
