// Calls of oneCCL's C++ interface by any program. Its functions are methods and functions on classes of libccl.so.1;
// this source names none of them, so that it needs neither oneCCL's headers nor the library: a wrapper has the symbol
// of the function and passes its words on. All arguments are integers or addresses, results that are objects are
// written to an address that is the first word.
#include <numeric>
#include <vector>

#include "sources/common/collective_library.hpp"
#include "base/interpose/real_function.hpp"

#if defined(__x86_64__)

namespace tutti::profiling {

using interpose::RealFunction;
namespace {

struct OneCcl {
  static constexpr std::string_view kSource = "ccl";
  static constexpr std::string_view kTitle = "BACKEND_CCL";
  static constexpr int kLevel = 8;
  static constexpr std::string_view kLeaf = "ccl";
};

using Word = std::uintptr_t;
using Call = ObservedCall<OneCcl>;

/// Amount of data of an operation, by its counts.
enum Amount : std::uint8_t {
  kNothing,
  kBlock,      ///< one block
  kBlocks,     ///< one block per rank
  kGathered,   ///< one block; a vector of the counts of all
  kExchanged,  ///< two vectors of counts
};

struct Type {
  std::string_view name;
  std::uint64_t bytes = 0;
};

/// ccl::datatype
Type type_of(Word number) noexcept {
  constexpr std::array<Type, 12> kTypes = {{{"int8", 1},
                                            {"uint8", 1},
                                            {"int16", 2},
                                            {"uint16", 2},
                                            {"int32", 4},
                                            {"uint32", 4},
                                            {"int64", 8},
                                            {"uint64", 8},
                                            {"float16", 2},
                                            {"float32", 4},
                                            {"float64", 8},
                                            {"bfloat16", 2}}};
  const auto index = static_cast<std::uint32_t>(number);
  return index < kTypes.size() ? kTypes[index] : Type{"custom", 0};
}

/// By the letter that a type has in symbols.
constexpr Type type_of(char letter) noexcept {
  switch (letter) {
    case 'a':
      return {"int8", 1};
    case 'h':
      return {"uint8", 1};
    case 's':
      return {"int16", 2};
    case 't':
      return {"uint16", 2};
    case 'i':
      return {"int32", 4};
    case 'j':
      return {"uint32", 4};
    case 'l':
      return {"int64", 8};
    case 'm':
      return {"uint64", 8};
    case 'f':
      return {"float32", 4};
    default:
      return {"float64", 8};
  }
}

constinit RealFunction<int (*)(const void*)> communicator_rank("_ZNK3ccl2v112communicator4rankEv");
constinit RealFunction<int (*)(const void*)> communicator_size("_ZNK3ccl2v112communicator4sizeEv");

/// A communicator by the object behind it, whose address is its first word. The n-th one of a size is the same on all
/// of its ranks in programs that make their communicators in the same order.
LibraryCommunicators::Entry* communicator_of(Word address) noexcept {
  const void* object = reinterpret_cast<const void*>(address);
  const auto size_function = communicator_size.get();
  const auto rank_function = communicator_rank.get();
  if (object == nullptr || size_function == nullptr || rank_function == nullptr) return nullptr;
  const void* inside = *static_cast<const void* const*>(object);
  if (inside == nullptr) return nullptr;
  LibraryCommunicators& all = CollectiveLibrary<OneCcl>::communicators();
  const int size = size_function(object);
  LibraryCommunicators::Entry* known = all.find(inside);
  // Another communicator may have taken the place of one that was destroyed.
  if (known != nullptr && known->ranks == static_cast<std::uint32_t>(size)) return known;
  static std::array<std::atomic<std::uint64_t>, 64> made{};
  const std::uint64_t number = made[static_cast<std::uint32_t>(size) % made.size()].fetch_add(1);
  return all.add(inside, mixed_key(mixed_key(0x6F6E6543434C, static_cast<std::uint64_t>(size)), number),
                 rank_function(object), size);
}

std::uint64_t sum(Word address) noexcept {
  const auto& counts = *reinterpret_cast<const std::vector<std::size_t>*>(address);
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

void describe(Call& call, std::string_view name, Type type, Amount amount, Word count, Word counts,
              Word communicator) noexcept {
  LibraryCommunicators::Entry* entry = communicator_of(communicator);
  const std::uint64_t ranks = entry == nullptr ? 1 : entry->ranks;
  std::uint64_t own = 0;
  std::uint64_t message = 0;
  switch (amount) {
    case kNothing:
      break;
    case kBlock:
      own = message = count;
      break;
    case kBlocks:
      own = count;
      message = count * ranks;
      break;
    case kGathered:
      own = count;
      message = sum(counts);
      break;
    case kExchanged:
      own = sum(count);
      message = std::max(own, sum(counts));
      break;
  }
  call.set({.name = name,
            .type = type.name,
            .bytes = own * type.bytes,
            .message_bytes = message * type.bytes,
            .communicator = entry,
            .counts = name != "send" && name != "recv"});
}

}  // namespace
}  // namespace tutti::profiling

#define TUTTI_WORDS_0
#define TUTTI_WORDS_1 Word a0
#define TUTTI_WORDS_2 TUTTI_WORDS_1, Word a1
#define TUTTI_WORDS_3 TUTTI_WORDS_2, Word a2
#define TUTTI_WORDS_4 TUTTI_WORDS_3, Word a3
#define TUTTI_WORDS_5 TUTTI_WORDS_4, Word a4
#define TUTTI_WORDS_6 TUTTI_WORDS_5, Word a5
#define TUTTI_WORDS_7 TUTTI_WORDS_6, Word a6
#define TUTTI_WORDS_8 TUTTI_WORDS_7, Word a7
#define TUTTI_WORDS_9 TUTTI_WORDS_8, Word a8
#define TUTTI_WORDS_10 TUTTI_WORDS_9, Word a9
#define TUTTI_WORDS_11 TUTTI_WORDS_10, Word a10
#define TUTTI_VALUES_0
#define TUTTI_VALUES_1 a0
#define TUTTI_VALUES_2 TUTTI_VALUES_1, a1
#define TUTTI_VALUES_3 TUTTI_VALUES_2, a2
#define TUTTI_VALUES_4 TUTTI_VALUES_3, a3
#define TUTTI_VALUES_5 TUTTI_VALUES_4, a4
#define TUTTI_VALUES_6 TUTTI_VALUES_5, a5
#define TUTTI_VALUES_7 TUTTI_VALUES_6, a6
#define TUTTI_VALUES_8 TUTTI_VALUES_7, a7
#define TUTTI_VALUES_9 TUTTI_VALUES_8, a8
#define TUTTI_VALUES_10 TUTTI_VALUES_9, a9
#define TUTTI_VALUES_11 TUTTI_VALUES_10, a10

#define TUTTI_CCL_WRAPPER(identifier, title, purpose, symbol, words, facts)                               \
  extern "C" __attribute__((visibility("default"))) Word identifier(TUTTI_WORDS_##words) __asm__(symbol); \
  Word identifier(TUTTI_WORDS_##words) {                                                                  \
    static constinit LibraryFunctionName function(title, Purpose::purpose);                               \
    static constinit RealFunction<Word (*)(TUTTI_WORDS_##words)> real(symbol);                            \
    const auto target = real.get(__builtin_return_address(0));                                            \
    if (target == nullptr) return 0;                                                                      \
    Call call(function, __builtin_return_address(0));                                                     \
    if (call) {                                                                                           \
      facts;                                                                                              \
    }                                                                                                     \
    return target(TUTTI_VALUES_##words);                                                                  \
  }

#define TUTTI_CCL_OPERATION(number, op_name, symbol, words, amount, count, counts, type, communicator) \
  TUTTI_CCL_WRAPPER(                                                                                   \
      wrapper_##number, #op_name, operation, symbol, words,                                            \
      describe(call, #op_name, type == 0 ? Type{} : type_of(a##type), amount, a##count, a##counts, a##communicator))

#define TUTTI_CCL_OF_TYPE(number, letter, text, op_name, front, back, words, amount, count, counts, communicator) \
  TUTTI_CCL_WRAPPER(wrapper_##number##_##letter, #op_name, operation, front text back, words,                     \
                    describe(call, #op_name, type_of(text[0]), amount, a##count, a##counts, a##communicator))

#define TUTTI_CCL_TYPED(number, ...)             \
  TUTTI_CCL_OF_TYPE(number, a, "a", __VA_ARGS__) \
  TUTTI_CCL_OF_TYPE(number, h, "h", __VA_ARGS__) \
  TUTTI_CCL_OF_TYPE(number, s, "s", __VA_ARGS__) \
  TUTTI_CCL_OF_TYPE(number, t, "t", __VA_ARGS__) \
  TUTTI_CCL_OF_TYPE(number, i, "i", __VA_ARGS__) \
  TUTTI_CCL_OF_TYPE(number, j, "j", __VA_ARGS__) \
  TUTTI_CCL_OF_TYPE(number, l, "l", __VA_ARGS__) \
  TUTTI_CCL_OF_TYPE(number, m, "m", __VA_ARGS__) \
  TUTTI_CCL_OF_TYPE(number, f, "f", __VA_ARGS__) \
  TUTTI_CCL_OF_TYPE(number, d, "d", __VA_ARGS__)

#define TUTTI_CCL_CALL(number, title, symbol, words, purpose) \
  TUTTI_CCL_WRAPPER(wrapper_##number, title, purpose, symbol, words, )

namespace tutti::profiling {
#include "sources/ccl/ccl_functions.inc"
}  // namespace tutti::profiling

#endif
