#include "check/agreement.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "call/emulation/emulation.hpp"
#include "check/call_site.hpp"
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

/// The places of the program in which the ranks make a call that does not match. All ranks see the mismatch, so all
/// exchange them.
class Sites {
 public:
  Sites(spi::BackendCommunicator& backend, const detail::CommunicatorState& state, Operation exchange)
      : memory_((static_cast<std::size_t>(state.size) + 1) * kBytes) {
    const auto size = static_cast<std::size_t>(state.size);
    char* const mine = memory_.as<char>().subspan(size * kBytes).data();
    std::fill_n(mine, kBytes, '\0');
    call_site().copy(mine, kBytes - 1);
    exchange.count = kBytes;
    exchange.input = mine;
    exchange.output = memory_.as<char>().data();
    Emulator(backend, state.rank, state.size).run(exchange);
  }

  /// " at app+0x12f4 (train_step)", or nothing.
  [[nodiscard]] std::string of(std::size_t rank) const {
    const std::string text = memory_.as<char>().subspan(rank * kBytes).data();
    return text.empty() ? text : " at " + text;
  }
  /// The same of the two ranks of a pair, behind the text that names them.
  [[nodiscard]] std::string both(std::size_t from, std::size_t to) const {
    std::string text;
    for (const std::size_t rank : {from, to}) {
      if (!of(rank).empty() && (rank == from || from != to)) {
        text += "; rank " + std::to_string(rank) + " calls it" + of(rank);
      }
    }
    return text;
  }

 private:
  static constexpr std::size_t kBytes = 320;
  HostBuffer memory_;
};

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
    const Sites sites(backend, state, exchange);
    throw Error(ErrorCode::invalid_usage,
                "the ranks of communicator " + state.name + " do not agree: rank 0 calls " + describe(all[0]) +
                    sites.of(0) + ", rank " + std::to_string(rank) + " calls " + describe(all[rank]) + sites.of(rank),
                backend.name());
  }
  if (const auto mismatch = compare_vector_counts(backend, state.rank, state.size, operation)) {
    const Sites sites(backend, state, exchange);
    const auto from = static_cast<std::size_t>(mismatch->from);
    const auto to = static_cast<std::size_t>(mismatch->to);
    throw Error(ErrorCode::invalid_usage,
                "the ranks of communicator " + state.name + " do not agree on the counts of " +
                    std::string(name(operation.kind)) + " number " + std::to_string(operation.sequence) + ": rank " +
                    std::to_string(mismatch->from) + " sends " + std::to_string(mismatch->sent) + " " +
                    std::string(name(operation.type)) + " to rank " + std::to_string(mismatch->to) +
                    ", which expects " + std::to_string(mismatch->expected) + sites.both(from, to),
                backend.name());
  }
}

}  // namespace tutti
