// Calls of oneCCL's C++ interface by any program (ccl_c_source.cpp has the C interface). Its functions are methods and
// functions on classes of libccl.so.1; this source names none of them, so that it needs neither oneCCL's headers nor
// the library: a wrapper has the symbol of the function and passes its words on. All arguments are integers or
// addresses, results that are objects are written to an address that is the first word.
#include <numeric>
#include <vector>

#include "base/interpose/real_function.hpp"
#include "sources/ccl/ccl_communicators.hpp"
#include "sources/ccl/ccl_library.hpp"

#if defined(__x86_64__)

namespace tutti::profiling {

using interpose::RealFunction;
namespace {

using ccl_objects::Word;
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

std::uint64_t sum(Word address) noexcept {
  const auto& counts = *reinterpret_cast<const std::vector<std::size_t>*>(address);
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

void describe(Call& call, std::string_view name, Type type, Amount amount, Word count, Word counts,
              Word communicator) noexcept {
  LibraryCommunicators::Entry* entry = ccl_objects::find(communicator);
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

// `after` looks at the result, in a0, whether the call is recorded or not.
#define TUTTI_CCL_WRAPPER(identifier, title, purpose, symbol, words, facts, after)                        \
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
    const Word result = target(TUTTI_VALUES_##words);                                                     \
    if (call.is_of_program(__builtin_return_address(0))) {                                                \
      after;                                                                                              \
    }                                                                                                     \
    return result;                                                                                        \
  }

#define TUTTI_CCL_OPERATION(number, op_name, symbol, words, amount, count, counts, type, communicator) \
  TUTTI_CCL_WRAPPER(                                                                                   \
      wrapper_##number, #op_name, operation, symbol, words,                                            \
      describe(call, #op_name, type == 0 ? Type{} : type_of(a##type), amount, a##count, a##counts, a##communicator), )

#define TUTTI_CCL_OF_TYPE(number, letter, text, op_name, front, back, words, amount, count, counts, communicator) \
  TUTTI_CCL_WRAPPER(wrapper_##number##_##letter, #op_name, operation, front text back, words,                     \
                    describe(call, #op_name, type_of(text[0]), amount, a##count, a##counts, a##communicator), )

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

#define TUTTI_CCL_ALLOCATOR "Li1ENS3_6detail17aligned_allocatorI"
#define TUTTI_CCL_OF_BUFFER(number, letter, text, op_name, front, back, ...) \
  TUTTI_CCL_OF_TYPE(number, letter, text, op_name, front, TUTTI_CCL_ALLOCATOR text back, __VA_ARGS__)

#define TUTTI_CCL_BUFFERED(number, ...)            \
  TUTTI_CCL_OF_BUFFER(number, a, "a", __VA_ARGS__) \
  TUTTI_CCL_OF_BUFFER(number, h, "h", __VA_ARGS__) \
  TUTTI_CCL_OF_BUFFER(number, s, "s", __VA_ARGS__) \
  TUTTI_CCL_OF_BUFFER(number, t, "t", __VA_ARGS__) \
  TUTTI_CCL_OF_BUFFER(number, i, "i", __VA_ARGS__) \
  TUTTI_CCL_OF_BUFFER(number, j, "j", __VA_ARGS__) \
  TUTTI_CCL_OF_BUFFER(number, l, "l", __VA_ARGS__) \
  TUTTI_CCL_OF_BUFFER(number, m, "m", __VA_ARGS__) \
  TUTTI_CCL_OF_BUFFER(number, f, "f", __VA_ARGS__) \
  TUTTI_CCL_OF_BUFFER(number, d, "d", __VA_ARGS__)

#define TUTTI_CCL_CALL(number, title, symbol, words, purpose) \
  TUTTI_CCL_WRAPPER(wrapper_##number, title, purpose, symbol, words, , )

#define TUTTI_CCL_CREATION(number, title, symbol, words, after) \
  TUTTI_CCL_WRAPPER(wrapper_##number, title, setup, symbol, words, , after)

namespace tutti::profiling {
#include "sources/ccl/ccl_buffer_functions.inc"
#include "sources/ccl/ccl_functions.inc"
}  // namespace tutti::profiling

#endif
