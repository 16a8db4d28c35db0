#include "prof/program_check.hpp"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <vector>

#include "text/text.hpp"

namespace tutti::tools {
namespace {

constexpr std::size_t kHead = 4096;

std::string read_head(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(kHead, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head;
}

/// Whether the kernel gives the program privileges of its own, so that its loader ignores preloaded libraries.
bool gains_privileges(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return false;
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != getuid()) return true;
  if ((status.st_mode & S_ISGID) != 0 && status.st_gid != getgid()) return true;
  return getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

ProgramCheck check_elf(const std::string& path, const std::string& head) {
  ProgramCheck check;
  Elf64_Ehdr header{};
  std::memcpy(&header, head.data(), sizeof header);
#ifdef __x86_64__
  constexpr Elf64_Half kMachine = EM_X86_64;
#else
  constexpr Elf64_Half kMachine = EM_AARCH64;
#endif
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kMachine) {
    check.obstacle = "it is built for another kind of processor than tutti";
    check.accepts_preload = false;
    return check;
  }
  if (gains_privileges(path)) {
    check.obstacle = "it has privileges of its own (set-user-ID or capabilities), so that nothing is loaded into it";
    return check;
  }
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr entry{};
    if (header.e_phentsize != sizeof entry || !file.read(reinterpret_cast<char*>(&entry), sizeof entry)) return check;
    if (entry.p_type == PT_INTERP) return check;
  }
  check.obstacle = "it is statically linked";
  return check;
}

ProgramCheck check_file(const std::string& path, bool may_be_script) {
  const std::string head = read_head(path);
  if (head.size() >= sizeof(Elf64_Ehdr) && head.starts_with(ELFMAG)) return check_elf(path, head);
  if (!may_be_script || head.empty()) return {};
  if (!head.starts_with("#!")) return {.obstacle = {}, .needs_shell = head.find('\0') == std::string::npos};
  const std::string line(trim(std::string_view(head).substr(2, head.find('\n') - 2)));
  const std::vector<std::string> words = split(line, ' ');
  return words.empty() ? ProgramCheck{} : check_file(words.front(), false);
}

}  // namespace

ProgramCheck check_program(const std::string& path) { return check_file(path, true); }

}  // namespace tutti::tools
