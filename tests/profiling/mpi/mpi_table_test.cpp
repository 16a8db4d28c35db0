// The table of MPI functions against a real mpi.h, at compile time: arity, size and class of the parameters, and types
// at the positions that the table names.
#include <gtest/gtest.h>
#include <mpi.h>

#include <tuple>
#include <type_traits>

#include "base/mpi/mpi_abi.hpp"
#include "base/mpi/mpi_functions.hpp"

namespace {

using tutti::mpi_table::Function;
using tutti::mpi_table::FunctionKind;
using tutti::mpi_table::Role;

template <typename Parameter>
constexpr bool is_word = sizeof(Parameter) <= sizeof(void*) &&
                         (std::is_integral_v<Parameter> || std::is_pointer_v<Parameter> || std::is_enum_v<Parameter>);

// Parameters of a function by position.
template <typename Signature>
struct Signature_of;
template <typename... Parameters>
struct Signature_of<int (*)(Parameters...)> {
  static constexpr std::size_t count = sizeof...(Parameters);
  static constexpr bool are_words = (is_word<Parameters> && ...);
  // At a position that the table leaves out everything is right.
  template <template <typename> typename Trait>
  static constexpr bool at(int position) {
    if (position < 0) return true;
    int index = 0;
    bool holds = false;
    ((index++ == position ? void(holds = Trait<Parameters>::value) : void()), ...);
    return holds;
  }
};

template <typename Type>
using Pointee = std::remove_cv_t<std::remove_pointer_t<Type>>;
template <typename Type, typename Wanted>
constexpr bool is_or_points_to = std::is_same_v<Type, Wanted> ||
                                 (std::is_pointer_v<Type> && std::is_same_v<Pointee<Type>, Wanted>);

template <typename Type>
struct IsCommunicator : std::is_same<Type, MPI_Comm> {};
template <typename Type>
struct IsNewCommunicator : std::is_same<Type, MPI_Comm*> {};
template <typename Type>
struct IsType : std::bool_constant<is_or_points_to<Type, MPI_Datatype>> {};
template <typename Type>
struct IsCount : std::bool_constant<is_or_points_to<Type, int> || is_or_points_to<Type, MPI_Count>> {};
template <typename Type>
struct IsRank : std::is_same<Type, int> {};
template <typename Type>
struct IsFlag : std::is_same<Type, int*> {};
template <typename Type>
struct IsRequest : std::is_same<Type, MPI_Request*> {};

template <typename Pointer>
consteval bool fits(const Function& function) {
  using Parameters = Signature_of<Pointer>;
  const auto& at = function.at;
  return Parameters::count == function.arguments && Parameters::are_words &&
         Parameters::template at<IsCount>(at.count) && Parameters::template at<IsCount>(at.in_count) &&
         Parameters::template at<IsType>(at.type) && Parameters::template at<IsType>(at.in_type) &&
         Parameters::template at<IsCommunicator>(at.comm) && Parameters::template at<IsRank>(at.root) &&
         Parameters::template at<IsRank>(at.peer) && Parameters::template at<IsFlag>(at.flag) &&
         Parameters::template at<IsRequest>(at.request) && Parameters::template at<IsNewCommunicator>(at.created) &&
         (function.kind != FunctionKind::collective || at.comm >= 0);
}

#if MPI_VERSION >= 4
#define TUTTI_CHECK_4(Symbol, Name) \
  static_assert(fits<decltype(&Symbol)>(tutti::mpi_table::function(tutti::mpi_table::Row::Name)), #Symbol);
#define TUTTI_FORM_large(Name) TUTTI_CHECK_4(MPI_##Name##_c, Name)
#else
#define TUTTI_CHECK_4(Symbol, Name)
#define TUTTI_FORM_large(Name)
#endif
#define TUTTI_CHECK_3(Symbol, Name) \
  static_assert(fits<decltype(&Symbol)>(tutti::mpi_table::function(tutti::mpi_table::Row::Name)), #Symbol);
#define TUTTI_FORM_classic(Name)
#define TUTTI_MPI(version, forms, Name, ...) TUTTI_CHECK_##version(MPI_##Name, Name) TUTTI_FORM_##forms(Name)
#include "base/mpi/mpi_functions.def"

TEST(MpiTable, has_the_constants_of_the_header) {
#ifdef OPEN_MPI
  const tutti::mpi_table::Abi& abi = tutti::mpi_table::kOpenMpiAbi;
#else
  const tutti::mpi_table::Abi& abi = tutti::mpi_table::kMpichAbi;
  const auto word = [](int handle) { return static_cast<std::uintptr_t>(static_cast<std::uint32_t>(handle)); };
  EXPECT_EQ(abi.comm_world, word(MPI_COMM_WORLD));
  EXPECT_EQ(abi.comm_self, word(MPI_COMM_SELF));
  EXPECT_EQ(abi.comm_null, word(MPI_COMM_NULL));
  EXPECT_EQ(abi.type_null, word(MPI_DATATYPE_NULL));
#endif
  EXPECT_EQ(abi.wide_handles, sizeof(MPI_Comm) == sizeof(void*));
  EXPECT_EQ(abi.in_place, reinterpret_cast<std::uintptr_t>(MPI_IN_PLACE));
  EXPECT_EQ(abi.proc_null, MPI_PROC_NULL);
  EXPECT_EQ(abi.root, MPI_ROOT);
  EXPECT_EQ(abi.graph, MPI_GRAPH);
  EXPECT_EQ(abi.cartesian, MPI_CART);
  EXPECT_EQ(abi.distributed_graph, MPI_DIST_GRAPH);
  EXPECT_EQ(static_cast<std::size_t>(abi.status_bytes), sizeof(MPI_Status));
  EXPECT_EQ(static_cast<std::size_t>(abi.status_source) * sizeof(int), offsetof(MPI_Status, MPI_SOURCE));
  EXPECT_EQ(offsetof(MPI_Status, MPI_TAG), offsetof(MPI_Status, MPI_SOURCE) + sizeof(int));
  // Statuses that are ignored: what interposers take for "no address".
  EXPECT_LE(reinterpret_cast<std::uintptr_t>(MPI_STATUS_IGNORE), 1U);
  EXPECT_LE(reinterpret_cast<std::uintptr_t>(MPI_STATUSES_IGNORE), 1U);
  EXPECT_LT(MPI_ANY_SOURCE, 0);
  EXPECT_NE(MPI_ANY_SOURCE, MPI_PROC_NULL);
  EXPECT_LT(MPI_ANY_TAG, 0);
}

TEST(MpiTable, names_operations_without_the_mark_of_the_form) {
  using tutti::mpi_table::Row;
  EXPECT_EQ(tutti::mpi_table::function(Row::Iallreduce).operation, "allreduce");
  EXPECT_EQ(tutti::mpi_table::function(Row::Ibcast).operation, "broadcast");
  EXPECT_EQ(tutti::mpi_table::function(Row::Isend).operation, "send");
  EXPECT_EQ(tutti::mpi_table::function(Row::Init).operation, "init");
  EXPECT_EQ(tutti::mpi_table::function(Row::Iprobe).operation, "iprobe");
}

}  // namespace
