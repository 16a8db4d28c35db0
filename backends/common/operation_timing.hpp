#pragma once

#include <algorithm>
#include <memory>
#include <string_view>

#include "tutti/error.hpp"
#include "tutti/observer.hpp"
#include "tutti/spi/device.hpp"
#include "tutti/spi/instrument.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::common {

/// Measures the device time of an operation that a library enqueued, between two events on its stream, for the
/// observer.
class OperationTiming {
 public:
  /// To be created before the operation is enqueued on `stream`.
  OperationTiming(OpKind kind, const Stream& stream)
      : cause_(spi::current_operation()),
        name_(tutti::name(kind)),
        stream_(stream),
        begin_(spi::device_runtime(stream_.device()).record(stream_)) {}

  /// To be called after the operation is enqueued.
  void stop() { end_ = spi::device_runtime(stream_.device()).record(stream_); }

  /// Whether the stream has ended the operation; after stop().
  [[nodiscard]] bool is_over() { return end_->ready(); }
  /// Blocks until the stream has ended the operation.
  void wait() { end_->wait(); }

  /// Reports the time to the observer; only when is_over().
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
