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
  /// Before the operation is enqueued on `stream`.
  OperationTiming(OpKind kind, const Stream& stream)
      : cause_(spi::current_operation()),
        name_(tutti::name(kind)),
        stream_(stream),
        begin_(spi::device_runtime(stream_.device()).record(stream_)) {}

  /// After that.
  void stop() { end_ = spi::device_runtime(stream_.device()).record(stream_); }

  /// After stop(): whether the stream has come so far.
  [[nodiscard]] bool is_over() { return end_->ready(); }
  /// Blocks until it has.
  void wait() { end_->wait(); }

  /// When it has.
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
