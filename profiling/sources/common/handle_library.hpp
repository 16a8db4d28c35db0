#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/interpose/real_function.hpp"
#include "sources/common/collective_library.hpp"

/// Libraries with NCCL's kind of C interface: every function returns a code, communicators are handles.
namespace tutti::profiling {

/// A type as such a library numbers it.
struct NumberedType {
  std::string_view name;
  std::uint64_t bytes = 0;
};

/// Communicators of such a library. `Library` has, beside the constants of ObservedCall, kCommCount and kCommUserRank,
/// the names of functions that tell size and rank, and kInProgress, the code of a call that goes on.
template <typename Library>
class HandleLibrary {
 public:
  using Call = ObservedCall<Library>;
  using Entry = LibraryCommunicators::Entry;

  [[nodiscard]] static LibraryCommunicators& communicators() noexcept {
    return CollectiveLibrary<Library>::communicators();
  }

  /// A communicator; one whose creation was not seen, or that had no rank yet, is asked for its facts.
  static Entry* communicator_of(void* comm, std::uint64_t key = 0) noexcept {
    static constinit interpose::RealFunction<int (*)(void*, int*)> comm_count(Library::kCommCount);
    static constinit interpose::RealFunction<int (*)(void*, int*)> comm_user_rank(Library::kCommUserRank);
    if (comm == nullptr) return nullptr;
    if (Entry* known = communicators().find(comm)) return known;
    const auto count = comm_count.get();
    const auto user_rank = comm_user_rank.get();
    int size = 0;
    int rank = 0;
    if (count == nullptr || user_rank == nullptr || count(comm, &size) != 0 || user_rank(comm, &rank) != 0)
      return nullptr;
    if (key == 0) {
      static std::atomic<std::uint64_t> unknown{0};
      key = mixed_key(
          mixed_key(bytes_key(Library::kSource.data(), Library::kSource.size()), static_cast<std::uint64_t>(size)),
          unknown.fetch_add(1));
    }
    return communicators().add(comm, key, rank, size);
  }

  static int checked(Call& call, int result) noexcept {
    if (result != 0 && result != Library::kInProgress) call.fail(result);
    return result;
  }

  static void created(int result, void* const* comm, std::uint64_t key, int rank, int size) noexcept {
    if ((result == 0 || result == Library::kInProgress) && comm != nullptr && *comm != nullptr)
      (void)communicators().add(*comm, key, rank, size);
  }

  /// Members of a communicator made from another one derive its key alike: from the parent, the number of its children
  /// and the colour.
  [[nodiscard]] static std::uint64_t child_key(Entry* parent, int color) noexcept {
    if (parent == nullptr) return 0;
    const std::uint64_t number = parent->children.fetch_add(1, std::memory_order_relaxed);
    return mixed_key(mixed_key(parent->key, number), static_cast<std::uint64_t>(color) + 1);
  }

  /// `blocks`: the message has a block per rank.
  static void describe(Call& call, std::string_view name, std::size_t count, const NumberedType& type, void* comm,
                       bool blocks) noexcept {
    Entry* entry = communicator_of(comm);
    const std::uint64_t bytes = count * type.bytes;
    call.set({.name = name,
              .type = type.name,
              .bytes = bytes,
              .message_bytes = blocks && entry != nullptr ? bytes * entry->ranks : bytes,
              .communicator = entry,
              .counts = name != "send" && name != "recv"});
  }
};

}  // namespace tutti::profiling

/// A function in front of the library's. In its scope are Call, RealFunction, checked() and kInvalidUsage. `facts`
/// describes the call before it is made, `after` looks at its result, whether the call is recorded or not.
#define TUTTI_HANDLE_FUNCTION(name, purpose, parameters, arguments, facts, after) \
  extern "C" __attribute__((visibility("default"))) int name parameters {         \
    static constinit LibraryFunctionName function(#name, Purpose::purpose);       \
    static constinit RealFunction<int(*) parameters> real(#name);                 \
    const auto target = real.get(__builtin_return_address(0));                    \
    if (target == nullptr) return kInvalidUsage;                                  \
    Call call(function, __builtin_return_address(0));                             \
    if (call) {                                                                   \
      facts;                                                                      \
    }                                                                             \
    const int result = checked(call, target arguments);                           \
    if (call.is_of_program(__builtin_return_address(0))) {                        \
      after;                                                                      \
    }                                                                             \
    return result;                                                                \
  }
