#include "timeline/tensor_stages.hpp"

#include <array>

#include "negotiation/message.hpp"

namespace tutti::horovod {
namespace {

/// The operation as tutti calls it.
std::string_view operation_name(const Request& request) noexcept {
  switch (request.kind) {
    case MessageKind::allgather:
      return tutti::name(OpKind::allgather);
    case MessageKind::broadcast:
      return tutti::name(OpKind::broadcast);
    case MessageKind::alltoall:
      return tutti::name(OpKind::alltoall);
    case MessageKind::barrier:
      return tutti::name(OpKind::barrier);
    case MessageKind::reducescatter:
      return tutti::name(OpKind::reduce_scatter);
    case MessageKind::call:
      return tutti::name(request.op);
    case MessageKind::join:
      return "join";
    default:
      return tutti::name(OpKind::allreduce);
  }
}

/// "NEGOTIATE_ALLREDUCE", without an allocation.
class NegotiationName {
 public:
  explicit NegotiationName(MessageKind kind) noexcept {
    constexpr std::string_view kWord = "NEGOTIATE_";
    length_ = kWord.copy(text_.data(), kWord.size());
    length_ += horovod::name(kind).copy(text_.data() + length_, text_.size() - length_);
  }
  [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), length_}; }

 private:
  std::array<char, 40> text_ = {};
  std::size_t length_ = 0;
};

}  // namespace

void TensorStages::tell(const Entry& entry, std::string_view stage, std::uint64_t begin_ns,
                        std::uint64_t end_ns) const noexcept {
  spi::TensorStageObserver* const observer = spi::tensor_stage_observer();
  if (observer == nullptr) return;
  observer->on({.tensor = entry.request.name,
                .stage = stage,
                .operation = operation_name(entry.request),
                .backend = backend_,
                .type = entry.operation.type,
                .bytes = entry.operation.count * size_of(entry.operation.type),
                .ranks = static_cast<std::uint32_t>(ranks_),
                .begin_ns = begin_ns,
                .end_ns = end_ns});
}

void TensorStages::negotiating(std::span<const EntryPointer> entries) const noexcept {
  const std::uint64_t now = TensorStages::now();
  for (const EntryPointer& entry : entries) {
    if (entry->stage_ns == 0) continue;
    tell(*entry, "QUEUE", entry->stage_ns, now);
    entry->stage_ns = now;
  }
}

void TensorStages::started(std::span<const EntryPointer> entries) noexcept {
  const std::uint64_t now = TensorStages::now();
  for (const EntryPointer& entry : entries) {
    if (entry == nullptr || entry->stage_ns == 0) continue;
    tell(*entry, NegotiationName(entry->request.kind).text(), entry->stage_ns, now);
    entry->stage_ns = now;
  }
}

void TensorStages::activity(std::span<const EntryPointer> entries, std::string_view name) {
  if (activity_.empty() && (name.empty() || !is_watched())) return;
  const std::uint64_t now = TensorStages::now();
  if (!activity_.empty() && now != 0) {
    for (const EntryPointer& entry : entries) {
      // A tensor is worked on at most since its operation has begun.
      if (entry != nullptr && entry->stage_ns != 0 && entry->stage_ns <= activity_ns_)
        tell(*entry, activity_, activity_ns_, now);
    }
  }
  activity_ = now == 0 ? std::string_view() : name;
  activity_ns_ = now;
}

void TensorStages::ended(std::span<const EntryPointer> entries) const noexcept {
  const std::uint64_t now = TensorStages::now();
  for (const EntryPointer& entry : entries) {
    if (entry == nullptr || entry->stage_ns == 0) continue;
    tell(*entry, horovod::name(entry->request.kind), entry->stage_ns, now);
    entry->stage_ns = 0;
  }
}

}  // namespace tutti::horovod
