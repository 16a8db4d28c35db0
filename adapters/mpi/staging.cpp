#include "staging.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/mpi/pmpi.hpp"
#include "tutti/error.hpp"

namespace tutti::adapters::mpi {
namespace {

using mpi_table::Pmpi;

constinit Pmpi type_get_extent{"PMPI_Type_get_extent"};
constinit Pmpi type_dup{"PMPI_Type_dup"};
constinit Pmpi type_free{"PMPI_Type_free"};
constinit Pmpi mpi_pack{"PMPI_Pack"};
constinit Pmpi mpi_unpack{"PMPI_Unpack"};

// PMPI_Pack takes sizes as int.
constexpr std::uint64_t kPiece = std::uint64_t{1} << 30;

/// Calls action(first element, elements, first byte, bytes) for pieces of at most kPiece bytes, or one element.
template <typename Action>
void in_pieces(std::int64_t count, const Layout& layout, Action action) {
  if (layout.bytes == 0) return;
  const auto most = std::max<std::int64_t>(1, static_cast<std::int64_t>(kPiece / layout.bytes));
  for (std::int64_t first = 0; first < count; first += most) {
    const std::int64_t elements = std::min(most, count - first);
    const std::uint64_t bytes = static_cast<std::uint64_t>(elements) * layout.bytes;
    if (bytes > kPiece) throw Error(ErrorCode::system, "an element of a derived MPI type is larger than 1 GiB", "mpi");
    action(first, static_cast<int>(elements), static_cast<std::uint64_t>(first) * layout.bytes,
           static_cast<int>(bytes));
  }
}

/// Of the conversion nothing depends on it, and that of the call may have been freed.
Word any_communicator() noexcept { return mpi_table::abi().comm_self; }

void require(bool is_done, int position, int bytes, const char* function) {
  // Ranks of one host have one data format: packed data are the bytes of the elements and nothing else.
  if (!is_done || position != bytes)
    throw Error(ErrorCode::system, std::string(function) + " did not convert the elements of a derived type", "mpi");
}

}  // namespace

bool Layout::read(Word type, Layout& layout) noexcept {
  layout.type = type;
  if (const PredefinedType known = predefined_type(type); known.bytes != 0) [[likely]] {
    layout.bytes = known.bytes;
    layout.extent = known.bytes;
    layout.is_contiguous = true;
    return true;
  }
  if (type == 0 || type == mpi_table::abi().type_null) return false;
  std::int64_t size = 0;
  std::intptr_t lower = 0;
  std::intptr_t extent = 0;
  if (!mpi_table::pmpi::type_size_x(type, &size) || size < 0 || !type_get_extent(type, &lower, &extent)) return false;
  layout.bytes = static_cast<std::uint64_t>(size);
  layout.extent = extent;
  layout.is_contiguous = false;
  return true;
}

bool Layout::keep(Layout& layout) noexcept {
  if (layout.is_contiguous || layout.type == 0) return true;
  Word made = 0;
  const bool is_made = type_dup(layout.type, &made);
  layout.type = is_made ? mpi_table::handle_at(reinterpret_cast<Word>(&made)) : 0;
  return is_made;
}

void Layout::drop(Layout& layout) noexcept {
  if (layout.is_contiguous || layout.type == 0) return;
  (void)type_free(&layout.type);
  layout.type = 0;
}

void pack(const void* elements, std::int64_t count, const Layout& layout, std::byte* bytes) {
  auto* from = const_cast<void*>(elements);
  if (layout.is_contiguous) {
    if (count > 0) std::memcpy(bytes, from, static_cast<std::uint64_t>(count) * layout.bytes);
    return;
  }
  in_pieces(count, layout, [&](std::int64_t first, int number, std::uint64_t offset, int size) {
    int position = 0;
    const bool is_done =
        mpi_pack(layout.at(from, first), number, layout.type, bytes + offset, size, &position, any_communicator());
    require(is_done, position, size, "MPI_Pack");
  });
}

void unpack(const std::byte* bytes, void* elements, std::int64_t count, const Layout& layout) {
  if (layout.is_contiguous) {
    if (count > 0) std::memcpy(elements, bytes, static_cast<std::uint64_t>(count) * layout.bytes);
    return;
  }
  in_pieces(count, layout, [&](std::int64_t first, int number, std::uint64_t offset, int size) {
    int position = 0;
    const bool is_done = mpi_unpack(bytes + offset, size, &position, layout.at(elements, first), number, layout.type,
                                    any_communicator());
    require(is_done, position, size, "MPI_Unpack");
  });
}

}  // namespace tutti::adapters::mpi
