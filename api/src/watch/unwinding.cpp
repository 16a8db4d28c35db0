#include "watch/unwinding.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>

namespace tutti {
namespace {

// Encodings of values in exception tables (Linux Standard Base, DWARF extensions).
constexpr std::uint8_t kOmitted = 0xff;
constexpr std::uint8_t kFormat = 0x0f;

/// Reads the values of an exception table.
class TableReader {
 public:
  explicit TableReader(const void* begin) noexcept : at_(static_cast<const std::uint8_t*>(begin)) {}

  std::uint8_t byte() noexcept { return *at_++; }

  std::uint64_t uleb() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint8_t part = byte();
      if (shift < 64) value |= std::uint64_t{part & 0x7fu} << shift;
      if ((part & 0x80u) == 0) return value;
    }
  }

  /// A value without its base. Nothing for a format that offsets do not have.
  std::optional<std::uint64_t> offset(std::uint8_t encoding) noexcept {
    switch (encoding & kFormat) {
      case 0x00:
      case 0x04:
      case 0x0c:
        return fixed<std::uint64_t>();
      case 0x01:
        return uleb();
      case 0x02:
      case 0x0a:
        return fixed<std::uint16_t>();
      case 0x03:
      case 0x0b:
        return fixed<std::uint32_t>();
      default:
        return std::nullopt;
    }
  }

  [[nodiscard]] const std::uint8_t* at() const noexcept { return at_; }

 private:
  template <typename Value>
  Value fixed() noexcept {
    Value value = 0;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  const std::uint8_t* at_;
};

/// Whether the exception table of a C++ function has an entry for the instruction at `offset` in it. Without one the
/// run time ends the process.
bool has_entry(const void* table, std::uint64_t offset) noexcept {
  TableReader reader(table);
  if (const std::uint8_t encoding = reader.byte(); encoding != kOmitted) {
    if (!reader.offset(encoding)) return false;
  }
  if (reader.byte() != kOmitted) (void)reader.uleb();
  const std::uint8_t encoding = reader.byte();
  const std::uint64_t length = reader.uleb();
  const std::uint8_t* const end = reader.at() + length;
  while (reader.at() < end) {
    const auto begin = reader.offset(encoding);
    const auto size = reader.offset(encoding);
    const auto landing = reader.offset(encoding);
    if (!begin || !size || !landing) return false;
    (void)reader.uleb();
    if (offset < *begin) return false;  // the entries are sorted
    if (offset < *begin + *size) return true;
  }
  return false;
}

/// Looks at the frames from the interrupted one outwards.
struct Walk {
  _Unwind_Word frame;
  bool is_in_handler = true;
  bool passes = true;
  bool arrived = false;
};

_Unwind_Reason_Code look_at(_Unwind_Context* context, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  int is_before = 0;
  const _Unwind_Ptr address = _Unwind_GetIPInfo(context, &is_before);
  if (address == 0) return _URC_END_OF_STACK;
  const _Unwind_Word stack_pointer = _Unwind_GetCFA(context);
  // An interrupted instruction has not been carried out; a call has.
  if (walk.is_in_handler && is_before != 0) {
    walk.is_in_handler = false;
    if (stack_pointer > walk.frame) return _URC_END_OF_STACK;  // a stack below this one
  }
  if (walk.is_in_handler) return _URC_NO_REASON;
  if (stack_pointer > walk.frame) {  // outside of the function with the frame
    walk.arrived = true;
    return _URC_END_OF_STACK;
  }
  const void* const table = _Unwind_GetLanguageSpecificData(context);
  if (table == nullptr) return _URC_NO_REASON;
  const _Unwind_Ptr instruction = is_before != 0 ? address : address - 1;
  walk.passes = walk.passes && has_entry(table, instruction - _Unwind_GetRegionStart(context));
  return _URC_NO_REASON;
}

/// Libraries that an exception must not interrupt: they may hold locks that the whole process needs.
bool is_run_time(std::string_view file) noexcept {
  constexpr std::array kNames = {"libc.so",    "libc-",    "ld-linux",   "libpthread", "libstdc++",
                                 "libgcc_s",   "libc++",   "libm.so",    "libdl.so",   "librt.so",
                                 "linux-vdso", "libtutti", "libunwind.", "libasan",    "libtsan"};
  const std::string_view name = file.substr(file.rfind('/') + 1);
  return std::ranges::any_of(kNames, [&](std::string_view one) { return name.starts_with(one); });
}

bool is_waiting_function(std::string_view name) noexcept {
  constexpr std::array kNames = {"sched_yield",     "poll",  "ppoll", "epoll_wait", "nanosleep",
                                 "clock_nanosleep", "select"};
  while (name.starts_with('_')) name.remove_prefix(1);
  return std::ranges::find(kNames, name) != kNames.end();
}

bool is_program(const void* base) noexcept {
  Dl_info program{};
  const auto* const headers = reinterpret_cast<const void*>(getauxval(AT_PHDR));
  return dladdr(headers, &program) != 0 && program.dli_fbase == base;
}

}  // namespace

Unwinding unwinding_to(const void* frame) noexcept {
  Walk walk{reinterpret_cast<_Unwind_Word>(frame)};
  _Unwind_Backtrace(&look_at, &walk);
  if (!walk.arrived) return Unwinding::elsewhere;
  return walk.passes ? Unwinding::possible : Unwinding::impossible;
}

CodePlace place_of(const void* instruction) noexcept {
  Dl_info info{};
  if (dladdr(instruction, &info) == 0 || info.dli_fname == nullptr) return CodePlace::other;
  if (!is_run_time(info.dli_fname)) return is_program(info.dli_fbase) ? CodePlace::other : CodePlace::library;
  // Behind "syscall": the kernel has interrupted it.
  constexpr std::array<std::uint8_t, 2> kSystemCall = {0x0f, 0x05};
  const auto* const code = static_cast<const std::uint8_t*>(instruction) - kSystemCall.size();
  const bool waits = info.dli_sname != nullptr && is_waiting_function(info.dli_sname) &&
                     std::equal(kSystemCall.begin(), kSystemCall.end(), code);
  return waits ? CodePlace::waiting : CodePlace::other;
}

}  // namespace tutti
