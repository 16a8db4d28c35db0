#include "local_symbols.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace tutti::profiling {

namespace {

struct Search {
  std::string_view prefix;
  const char* file = nullptr;
  std::size_t base = 0;
};

Search find_object(std::string_view prefix) noexcept {
  Search search{.prefix = prefix};
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        if (object->dlpi_name == nullptr) return 0;
        std::string_view name = object->dlpi_name;
        name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
        if (name.substr(0, wanted.prefix.size()) != wanted.prefix) return 0;
        wanted.file = object->dlpi_name;  // stays, as the object does
        wanted.base = object->dlpi_addr;
        return 1;
      },
      &search);
  return search;
}

}  // namespace

LocalSymbols::LocalSymbols(std::string_view prefix) noexcept {
  const Search object = find_object(prefix);
  if (object.file == nullptr) return;
  const int descriptor = open(object.file, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  struct stat status = {};
  if (fstat(descriptor, &status) == 0 && status.st_size > 0) {
    file_bytes_ = static_cast<std::size_t>(status.st_size);
    void* mapped = mmap(nullptr, file_bytes_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    file_ = mapped == MAP_FAILED ? nullptr : static_cast<const std::byte*>(mapped);
  }
  close(descriptor);
  base_ = object.base;
  if (file_ != nullptr) read_sections();
}

LocalSymbols::~LocalSymbols() {
  if (file_ != nullptr) munmap(const_cast<std::byte*>(file_), file_bytes_);
}

const std::byte* LocalSymbols::at(std::size_t offset, std::size_t bytes) const noexcept {
  return offset <= file_bytes_ && bytes <= file_bytes_ - offset ? file_ + offset : nullptr;
}

void LocalSymbols::read_sections() noexcept {
  ElfW(Ehdr) header;
  const std::byte* begin = at(0, sizeof header);
  if (begin == nullptr) return;
  std::memcpy(&header, begin, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shentsize != sizeof(ElfW(Shdr))) return;
  const auto section = [&](std::size_t number, ElfW(Shdr) & to) {
    const std::byte* from = at(header.e_shoff + number * sizeof to, sizeof to);
    if (from != nullptr) std::memcpy(&to, from, sizeof to);
    return from != nullptr;
  };
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    ElfW(Shdr) table;
    ElfW(Shdr) names;
    if (!section(i, table) || table.sh_type != SHT_SYMTAB || !section(table.sh_link, names)) continue;
    symbols_ = at(table.sh_offset, table.sh_size);
    symbol_count_ = symbols_ == nullptr ? 0 : table.sh_size / sizeof(ElfW(Sym));
    names_ = reinterpret_cast<const char*>(at(names.sh_offset, names.sh_size));
    names_bytes_ = names_ == nullptr ? 0 : names.sh_size;
    return;
  }
}

void* LocalSymbols::find(std::string_view function) const noexcept {
  void* found = nullptr;
  for (std::size_t i = 0; i < symbol_count_; ++i) {
    ElfW(Sym) symbol;
    std::memcpy(&symbol, symbols_ + i * sizeof symbol, sizeof symbol);
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
    if (symbol.st_name >= names_bytes_ || names_bytes_ - symbol.st_name <= function.size()) continue;
    const char* name = names_ + symbol.st_name;
    if (std::memcmp(name, function.data(), function.size()) != 0 || name[function.size()] != '\0') continue;
    if (found != nullptr) return nullptr;
    found = reinterpret_cast<void*>(base_ + symbol.st_value);
  }
  return found;
}

}  // namespace tutti::profiling
