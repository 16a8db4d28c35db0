#include "check/agreement.hpp"

#include <cstring>
#include <span>

#include "call/emulation/emulation.hpp"
#include "check/vector_counts.hpp"
#include "staging/host_buffer.hpp"
#include "tutti/error.hpp"

namespace tutti {

namespace {

/// The part of a call that must be equal on all ranks. Without padding, so that its bytes can be sent and compared.
struct Signature {
  std::uint64_t sequence;
  std::uint64_t count;  ///< zero where ranks may differ (vector forms)
  double prescale;
  std::int32_t root;
  OpKind kind;
  DataType type;
  Reduction reduction;
  std::uint8_t zero;
};
static_assert(sizeof(Signature) == 32);

Signature signature_of(const Operation& op) {
  const OpTraits& traits = op.traits();
  return {op.sequence,
          is_vector(op.kind) ? 0 : op.count,
          traits.reduces ? op.prescale : 1.0,
          traits.rooted ? op.root : 0,
          op.kind,
          op.type,
          traits.reduces ? op.reduction : Reduction::sum,
          0};
}

std::string describe(const Signature& signature) {
  Operation op;
  op.kind = signature.kind;
  op.type = signature.type;
  op.reduction = signature.reduction;
  op.count = signature.count;
  std::string text = tutti::describe(op);
  if (op.traits().rooted) text += " with root " + std::to_string(signature.root);
  if (signature.prescale != 1.0) text += " with prescale " + std::to_string(signature.prescale);
  return text + " as number " + std::to_string(signature.sequence);
}

Operation make_exchange() {
  Operation exchange;
  exchange.kind = OpKind::allgather;
  exchange.type = DataType::uint8;
  exchange.count = sizeof(Signature);
  return exchange;
}

}  // namespace

spi::BackendCommunicator& agreement_leaf(const detail::CommunicatorState& state) {
  return state.backend->route(make_exchange());
}

void check_agreement(const detail::CommunicatorState& state, spi::BackendCommunicator& backend,
                     const Operation& operation) {
  if (is_message(operation.kind)) return;
  const auto size = static_cast<std::size_t>(state.size);
  const HostBuffer memory((size + 1) * sizeof(Signature));
  const std::span<Signature> all = memory.as<Signature>().first(size);
  Signature& mine = memory.as<Signature>()[size];
  mine = signature_of(operation);
  Operation exchange = make_exchange();
  exchange.input = &mine;
  exchange.output = all.data();
  exchange.timeout = operation.timeout;
  exchange.sequence = operation.sequence;
  Emulator(backend, state.rank, state.size).run(exchange);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (std::memcmp(&all[0], &all[rank], sizeof(Signature)) == 0) continue;
    throw Error(ErrorCode::invalid_usage,
                "the ranks of communicator " + state.name + " do not agree: rank 0 calls " + describe(all[0]) +
                    ", rank " + std::to_string(rank) + " calls " + describe(all[rank]),
                backend.name());
  }
  if (const auto mismatch = compare_vector_counts(backend, state.rank, state.size, operation)) {
    throw Error(ErrorCode::invalid_usage,
                "the ranks of communicator " + state.name + " do not agree on the counts of " +
                    std::string(name(operation.kind)) + " number " + std::to_string(operation.sequence) + ": rank " +
                    std::to_string(mismatch->from) + " sends " + std::to_string(mismatch->sent) + " " +
                    std::string(name(operation.type)) + " to rank " + std::to_string(mismatch->to) +
                    ", which expects " + std::to_string(mismatch->expected),
                backend.name());
  }
}

}  // namespace tutti
