#include "call/self_messages.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "check/validation.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/device.hpp"

namespace tutti {

namespace {

constexpr std::chrono::microseconds kPollInterval{50};

/// A copy that a stream carries out.
class PendingCopy final : public spi::PendingOperation {
 public:
  explicit PendingCopy(std::unique_ptr<spi::DeviceEvent> event) noexcept : event_(std::move(event)) {}

 private:
  bool do_poll() override {
    if (!event_->ready()) return false;
    event_->wait();  // throws the error of the copy
    return true;
  }
  bool do_wait(spi::Deadline until) override {
    while (!do_poll()) {
      if (std::chrono::steady_clock::now() >= until) return false;
      std::this_thread::sleep_for(kPollInterval);
    }
    return true;
  }

  std::unique_ptr<spi::DeviceEvent> event_;
};

[[noreturn]] void fail(const detail::CommunicatorState& state, const Operation& op, const std::string& problem) {
  throw Error(ErrorCode::invalid_usage, context(state, op) + ": " + problem, state.backend->name());
}

void require_match(const detail::CommunicatorState& state, const SelfMessage& message) {
  const auto& [send, recv] = message;
  if (send.count != recv.count || send.type != recv.type) {
    fail(state, recv,
         "the rank sends itself " + std::to_string(send.count) + " " + std::string(name(send.type)) +
             ", but receives " + std::to_string(recv.count) + " " + std::string(name(recv.type)));
  }
  if (send.stream != recv.stream) {
    fail(state, recv, "the send and the recv of a message of a rank to itself must be given the same stream");
  }
}

bool is_on_device(const Operation& op) noexcept { return op.where.kind == MemoryKind::device; }

}  // namespace

std::vector<SelfMessage> take_self_messages(const detail::CommunicatorState& state, std::vector<Operation>& ops) {
  std::vector<Operation> sends;
  std::vector<Operation> recvs;
  const auto is_taken = [&](const Operation& op) {
    if (!is_message(op.kind) || op.root != state.rank) return false;
    (op.kind == OpKind::send ? sends : recvs).push_back(op);
    return true;
  };
  std::erase_if(ops, is_taken);
  if (sends.size() != recvs.size()) {
    const bool lacks_recv = sends.size() > recvs.size();
    const Operation& alone = lacks_recv ? sends[recvs.size()] : recvs[sends.size()];
    fail(state, alone,
         std::string("the group has no ") + (lacks_recv ? "recv" : "send") +
             " of this rank to match it: a message of a rank to itself needs both in the same group");
  }
  std::vector<SelfMessage> messages;
  for (std::size_t i = 0; i < sends.size(); ++i) {
    messages.push_back({sends[i], recvs[i]});
    require_match(state, messages.back());
  }
  return messages;
}

std::unique_ptr<spi::PendingOperation> start_copy(const SelfMessage& message) {
  const auto& [send, recv] = message;
  const std::uint64_t bytes = send.block_bytes();
  if (bytes == 0) return nullptr;
  if (send.stream.is_host() && !is_on_device(send) && !is_on_device(recv)) {
    std::memmove(recv.output, send.input, bytes);
    return nullptr;
  }
  const Device device = !send.stream.is_host() ? send.stream.device()
                        : is_on_device(send)   ? send.where.device
                                               : recv.where.device;
  spi::DeviceRuntime& runtime = spi::device_runtime(device);
  const Stream stream = send.stream.is_host() ? runtime.stream(device) : send.stream;
  std::unique_ptr<spi::DeviceEvent> event =
      runtime.copy(stream, Buffer(recv.output, bytes, DataType::uint8, recv.where),
                   ConstBuffer(send.input, bytes, DataType::uint8, send.where));
  return std::make_unique<PendingCopy>(std::move(event));
}

}  // namespace tutti
