#include "ccl_threads.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <string_view>

namespace tutti::ccl {
namespace {

constexpr const char* kTerminate = "_ZSt9terminatev";

ThreadFailed the_reaction = nullptr;

/// Whether the code at the address is of tutti or of the program itself.
bool is_of_caller(std::uintptr_t address) noexcept {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(address), &info) == 0 || info.dli_fname == nullptr) return true;
  Dl_info program{};
  if (dladdr(reinterpret_cast<const void*>(getauxval(AT_PHDR)), &program) != 0 && program.dli_fbase == info.dli_fbase) {
    return true;
  }
  const std::string_view file = info.dli_fname;
  return file.substr(file.rfind('/') + 1).starts_with("libtutti");
}

struct Walk {
  bool is_first = true;  ///< the frame of the function below
  bool is_of_caller = false;
};

/// Whether a function of tutti or of the program is on the stack: the thread is then not oneCCL's own.
bool is_called_by_program() noexcept {
  Walk walk;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* argument) {
        Walk& so_far = *static_cast<Walk*>(argument);
        const std::uintptr_t address = _Unwind_GetIP(context);
        if (address == 0) return _URC_END_OF_STACK;
        Dl_info info{};
        Dl_info here{};
        const bool is_here = dladdr(reinterpret_cast<const void*>(address - 1), &info) != 0 &&
                             dladdr(reinterpret_cast<const void*>(&the_reaction), &here) != 0 &&
                             info.dli_fbase == here.dli_fbase;
        // The innermost frames are those of this file.
        if (so_far.is_first && is_here) return _URC_NO_REASON;
        so_far.is_first = false;
        so_far.is_of_caller = is_of_caller(address - 1);
        return so_far.is_of_caller ? _URC_END_OF_STACK : _URC_NO_REASON;
      },
      &walk);
  return walk.is_of_caller;
}

std::string text_of_exception() {
  try {
    if (std::current_exception()) throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception of another type";
  }
  return "no exception";
}

/// In place of std::terminate().
[[noreturn]] void on_terminate() {
  if (is_called_by_program()) std::terminate();
  try {
    the_reaction(text_of_exception());
  } catch (const std::exception&) {
    // Out of memory: the other ranks' state shows the failure, too.
  }
  while (true) pause();
}

/// The entry of the function in the table through which a library calls other libraries.
void** slot_of(const link_map& library, const char* function) noexcept {
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela)* relocations = nullptr;
  std::size_t bytes = 0;
  for (const ElfW(Dyn)* entry = library.l_ld; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    // Some dynamic loaders leave addresses in the file.
    const auto address = entry->d_un.d_ptr + (entry->d_un.d_ptr < library.l_addr ? library.l_addr : 0);
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(address);
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(address);
    if (entry->d_tag == DT_JMPREL) relocations = reinterpret_cast<const ElfW(Rela)*>(address);
    if (entry->d_tag == DT_PLTRELSZ) bytes = entry->d_un.d_val;
    if (entry->d_tag == DT_PLTREL && entry->d_un.d_val != DT_RELA) return nullptr;
  }
  if (symbols == nullptr || names == nullptr || relocations == nullptr) return nullptr;
  for (std::size_t i = 0; i < bytes / sizeof *relocations; ++i) {
    const auto symbol = ELF64_R_SYM(relocations[i].r_info);
    if (std::strcmp(names + symbols[symbol].st_name, function) != 0) continue;
    return reinterpret_cast<void**>(library.l_addr + relocations[i].r_offset);
  }
  return nullptr;
}

}  // namespace

bool hold_failed_threads(const char* file, ThreadFailed on_failure) noexcept {
  void* const handle = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  link_map* library = nullptr;
  const bool is_known = dlinfo(handle, RTLD_DI_LINKMAP, &library) == 0 && library != nullptr;
  void** const slot = is_known ? slot_of(*library, kTerminate) : nullptr;
  dlclose(handle);
  if (slot == nullptr) return false;
  the_reaction = on_failure;
  // The dynamic loader may have made the table read-only.
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* const begin = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(slot) & ~(page - 1));
  if (mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) return false;
  *slot = reinterpret_cast<void*>(&on_terminate);
  return true;
}

}  // namespace tutti::ccl
