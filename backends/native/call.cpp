#include "call.hpp"

#include <array>
#include <bit>
#include <cstdio>

namespace tutti::native {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

std::string elements(const Call& call) { return std::to_string(call.count) + " " + std::string(name(call.type)); }

std::string peer_text(const Call& call) {
  if (!traits(call.kind).rooted) return {};
  const char* word = call.kind == OpKind::send   ? " to rank "
                     : call.kind == OpKind::recv ? " from rank "
                                                 : " with root ";
  return word + std::to_string(call.root);
}

bool is_same_kind(const Call& mine, const Call& theirs) noexcept {
  return mine.kind == theirs.kind && mine.root == theirs.root && mine.reduction == theirs.reduction &&
         mine.prescale == theirs.prescale;
}

std::string whole(const Call& call) {
  std::string text(name(call.kind));
  if (traits(call.kind).reduces) text.append("(").append(name(call.reduction)).append(")");
  text += " #" + std::to_string(call.sequence);
  if (call.kind != OpKind::barrier) text += " of " + elements(call);
  text += peer_text(call);
  if (traits(call.kind).reduces && call.prescale != 1.0) text += " prescaled by " + std::to_string(call.prescale);
  return text;
}

}  // namespace

Call Call::of(const Operation& operation) noexcept {
  return {operation.kind,  operation.type,     operation.reduction, operation.root,
          operation.count, operation.prescale, operation.sequence};
}

Call Call::load(const CallRecord& record) noexcept {
  return {static_cast<OpKind>(record.kind.load(kRelaxed)),
          static_cast<DataType>(record.type.load(kRelaxed)),
          static_cast<Reduction>(record.reduction.load(kRelaxed)),
          record.root.load(kRelaxed),
          record.count.load(kRelaxed),
          std::bit_cast<double>(record.prescale.load(kRelaxed)),
          record.sequence.load(kRelaxed)};
}

void Call::store(CallRecord& record) const noexcept {
  record.kind.store(static_cast<std::uint8_t>(kind), kRelaxed);
  record.type.store(static_cast<std::uint8_t>(type), kRelaxed);
  record.reduction.store(static_cast<std::uint8_t>(reduction), kRelaxed);
  record.root.store(root, kRelaxed);
  record.count.store(count, kRelaxed);
  record.prescale.store(std::bit_cast<std::uint64_t>(prescale), kRelaxed);
  record.sequence.store(sequence, kRelaxed);
}

std::string short_name(const Call& call) { return std::string(name(call.kind)) + " #" + std::to_string(call.sequence); }

std::string long_name(const Call& call) {
  std::string text = short_name(call);
  if (call.kind == OpKind::barrier) return text;
  if (call.kind != OpKind::alltoallv)
    text += " of " + elements(call) + " (" + format_bytes(call.count * size_of(call.type)) + ")";
  return text + peer_text(call);
}

bool is_same_call(const Call& mine, const Call& theirs) noexcept {
  return is_same_kind(mine, theirs) && mine.type == theirs.type && (is_vector(mine.kind) || mine.count == theirs.count);
}

std::string explain_mismatch(int rank, const Call& mine, int peer, const Call& theirs) {
  if (peer < rank) return explain_mismatch(peer, theirs, rank, mine);
  const std::string first = "rank " + std::to_string(rank);
  const std::string second = "rank " + std::to_string(peer);
  const bool same_call = is_same_kind(mine, theirs);
  if (!same_call)
    return "the ranks called different operations: " + first + " " + whole(mine) + ", " + second + " " + whole(theirs);
  if (mine.type == theirs.type && (mine.count == theirs.count || is_vector(mine.kind))) {
    return short_name(mine) + ": " + first + " and " + second + " have different block counts";
  }
  return short_name(mine) + ": " + first + " has " + elements(mine) + ", " + second + " has " + elements(theirs);
}

}  // namespace tutti::native
