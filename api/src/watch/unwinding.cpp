#include "watch/unwinding.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace tutti {
namespace {

/// Libraries in which a thread must not be interrupted: it may hold locks that the whole process needs.
bool is_run_time(std::string_view file) noexcept {
  constexpr std::array kNames = {"libc.so",    "libc-",    "ld-linux",   "libpthread", "libstdc++",
                                 "libgcc_s",   "libc++",   "libm.so",    "libdl.so",   "librt.so",
                                 "linux-vdso", "libtutti", "libunwind.", "libasan",    "libtsan"};
  const std::string_view name = file.substr(file.rfind('/') + 1);
  return std::ranges::any_of(kNames, [&](std::string_view one) { return name.starts_with(one); });
}

std::string_view name_of_file(const Dl_info& info) noexcept {
  const std::string_view file = info.dli_fname == nullptr ? "" : info.dli_fname;
  return file.substr(file.rfind('/') + 1);
}

bool is_among(std::string_view name, std::span<const std::string_view> names) noexcept {
  while (name.starts_with('_')) name.remove_prefix(1);
  return std::ranges::find(names, name) != names.end();
}

bool is_waiting_function(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 15> kNames = {
      "sched_yield", "poll",   "ppoll", "epoll_wait", "epoll_pwait", "nanosleep", "clock_nanosleep", "select",
      "pselect",     "accept", "read",  "readv",      "recv",        "recvfrom",  "recvmsg"};
  return is_among(name, kNames);
}

/// Whether the function waits at a condition variable: in an internal function without a name, as those that wait for a
/// lock do, but its mutex is released meanwhile. A thread that was taken out of it must not be cancelled later.
bool is_condition(const void* instruction) noexcept {
  constexpr std::array<std::string_view, 3> kNames = {"pthread_cond_wait", "pthread_cond_timedwait",
                                                      "pthread_cond_clockwait"};
  Dl_info info{};
  return dladdr(instruction, &info) != 0 && info.dli_sname != nullptr && is_among(info.dli_sname, kNames);
}

/// Whether a thread may be taken out of a function with which the run time calls a waiting function. Others of its
/// functions may hold locks meanwhile: reading a line holds that of the file, finding a host that of the resolver.
bool may_leave(const Dl_info& info) noexcept {
  constexpr std::array<std::string_view, 5> kNames = {"nanosleep", "usleep", "sleep", "thrd_sleep", "ppoll"};
  const std::string_view file = name_of_file(info);
  // Sanitizers stand before the C library; that of C++ waits without locks of its own.
  for (const char* name : {"libasan", "libtsan", "libstdc++"}) {
    if (file.starts_with(name)) return true;
  }
  return info.dli_sname != nullptr && is_among(info.dli_sname, kNames);
}

bool is_program(const void* base) noexcept {
  Dl_info program{};
  const auto* const headers = reinterpret_cast<const void*>(getauxval(AT_PHDR));
  return dladdr(headers, &program) != 0 && program.dli_fbase == base;
}

/// Looks at the frames from the interrupted one outwards.
struct Walk {
  _Unwind_Word frame;
  bool is_in_handler = true;
  bool is_in_run_time = false;  ///< all frames so far are those of the run time
  bool is_unnamed = false;      ///< the interrupted function has no name; the one that called it shows what it does
  bool arrived = false;
  std::optional<WayOut> way = {};
};

/// Whether an exception can come from that instruction: code of tutti or of the program itself.
bool is_caller_code(const void* instruction) noexcept {
  Dl_info info{};
  if (dladdr(instruction, &info) == 0 || info.dli_fname == nullptr) return false;
  return name_of_file(info).starts_with("libtutti") || is_program(info.dli_fbase);
}

/// Whether the thread may be taken out of the function of that instruction, which is not the interrupted one.
bool may_skip(const void* instruction, bool& is_in_run_time) noexcept {
  Dl_info info{};
  if (dladdr(instruction, &info) == 0 || info.dli_fname == nullptr) return !std::exchange(is_in_run_time, false);
  // A library's constructor: the dynamic loader's lock is held.
  if (name_of_file(info).starts_with("ld-")) return false;
  is_in_run_time = is_in_run_time && is_run_time(info.dli_fname);
  return !is_in_run_time || may_leave(info);
}

WayOut way_to(_Unwind_Context* context, _Unwind_Word stack_pointer, _Unwind_Ptr address) noexcept {
  WayOut way{.instruction = address, .stack = stack_pointer};
#if defined(__aarch64__)
  for (std::size_t i = 0; i < WayOut::kSaved; ++i) way.saved[i] = _Unwind_GetGR(context, 19 + static_cast<int>(i));
  for (std::size_t i = 0; i < way.saved_floating.size(); ++i) {
    way.saved_floating[i] = _Unwind_GetGR(context, 72 + static_cast<int>(i));
  }
#else
  constexpr std::array<int, WayOut::kSaved> kNumbers = {3, 6, 12, 13, 14, 15};  // of DWARF
  for (std::size_t i = 0; i < WayOut::kSaved; ++i) way.saved[i] = _Unwind_GetGR(context, kNumbers[i]);
#endif
  return way;
}

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
    Dl_info info{};
    const auto* const interrupted = reinterpret_cast<const void*>(address);
    walk.is_in_run_time = place_of(interrupted) == CodePlace::waiting;
    walk.is_unnamed = walk.is_in_run_time && (dladdr(interrupted, &info) == 0 || info.dli_sname == nullptr);
    return _URC_NO_REASON;
  }
  if (walk.is_in_handler) return _URC_NO_REASON;
  if (const auto* const call = reinterpret_cast<const void*>(address - 1); std::exchange(walk.is_unnamed, false)) {
    if (!is_condition(call)) return _URC_END_OF_STACK;
  } else if (!walk.way) {
    if (is_caller_code(call)) {
      walk.way = way_to(context, stack_pointer, address);
    } else if (!may_skip(call, walk.is_in_run_time)) {
      return _URC_END_OF_STACK;
    }
  }
  if (stack_pointer <= walk.frame) return _URC_NO_REASON;
  walk.arrived = true;  // outside of the function with the frame
  return _URC_END_OF_STACK;
}

}  // namespace

std::optional<WayOut> way_out(const void* frame) noexcept {
  Walk walk{.frame = reinterpret_cast<_Unwind_Word>(frame)};
  _Unwind_Backtrace(&look_at, &walk);
  if (!walk.arrived || !walk.way || walk.way->stack > walk.frame) return std::nullopt;
  return walk.way;
}

void WayOut::take(ucontext_t& context, void (*function)()) const noexcept {
  mcontext_t& registers = context.uc_mcontext;
#if defined(__x86_64__)
  constexpr std::array kRegisters = {REG_RBX, REG_RBP, REG_R12, REG_R13, REG_R14, REG_R15};
  for (std::size_t i = 0; i < kSaved; ++i) registers.gregs[kRegisters[i]] = static_cast<greg_t>(saved[i]);
  // The return address is on the stack.
  auto* const top = reinterpret_cast<std::uintptr_t*>(stack) - 1;
  *top = instruction;
  registers.gregs[REG_RSP] = reinterpret_cast<greg_t>(top);
  registers.gregs[REG_RIP] = reinterpret_cast<greg_t>(function);
#elif defined(__aarch64__)
  for (std::size_t i = 0; i < kSaved; ++i) registers.regs[19 + i] = saved[i];
  registers.regs[30] = instruction;
  registers.sp = stack;
  registers.pc = reinterpret_cast<std::uintptr_t>(function);
  // The first of the additional records of the kernel.
  auto* const floating = reinterpret_cast<fpsimd_context*>(registers.__reserved);
  if (floating->head.magic != FPSIMD_MAGIC) return;
  for (std::size_t i = 0; i < saved_floating.size(); ++i) floating->vregs[8 + i] = saved_floating[i];
#else
  (void)registers, (void)function;
#endif
}

const void* instruction_of(const ucontext_t& context) noexcept {
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(context.uc_mcontext.pc);
#else
  (void)context;
  return nullptr;
#endif
}

CodePlace place_of(const void* instruction) noexcept {
  Dl_info info{};
  if (dladdr(instruction, &info) == 0 || info.dli_fname == nullptr) return CodePlace::other;
  if (!is_run_time(info.dli_fname)) return is_program(info.dli_fbase) ? CodePlace::other : CodePlace::library;
  if (info.dli_sname != nullptr && !is_waiting_function(info.dli_sname)) return CodePlace::other;
  // The kernel has interrupted the system call: it stands behind "syscall", or at it to carry it out again.
  constexpr std::array<std::uint8_t, 2> kSystemCall = {0x0f, 0x05};
  const auto* const code = static_cast<const std::uint8_t*>(instruction);
  const bool waits = std::equal(kSystemCall.begin(), kSystemCall.end(), code) ||
                     std::equal(kSystemCall.begin(), kSystemCall.end(), code - kSystemCall.size());
  return waits ? CodePlace::waiting : CodePlace::other;
}

}  // namespace tutti
