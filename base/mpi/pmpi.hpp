#pragma once

#include "base/interpose/real_function.hpp"
#include "base/mpi/mpi_abi.hpp"

/// Functions of the process's MPI library that an interposer itself calls, by their PMPI names, with the program's
/// handles.
namespace tutti::mpi_table {

/// One PMPI function. Returns a failure if the library lacks it.
class Pmpi {
 public:
  constexpr explicit Pmpi(const char* name) noexcept : function_(name) {}

  /// True on success. Arguments: words, and pointers to results.
  template <typename... Arguments>
  bool operator()(Arguments... arguments) noexcept {
    const auto call = reinterpret_cast<int (*)(Arguments...)>(function_.get());
    return call != nullptr && call(arguments...) == 0;
  }
  /// For functions that return a handle.
  [[nodiscard]] Word handle(int value) noexcept {
    const auto call = reinterpret_cast<Word (*)(int)>(function_.get());
    return call == nullptr ? 0 : call(value);
  }

 private:
  interpose::RealFunction<void (*)()> function_;
};

namespace pmpi {
inline constinit Pmpi initialized{"PMPI_Initialized"};
inline constinit Pmpi finalized{"PMPI_Finalized"};
inline constinit Pmpi get_library_version{"PMPI_Get_library_version"};
inline constinit Pmpi comm_rank{"PMPI_Comm_rank"};
inline constinit Pmpi comm_size{"PMPI_Comm_size"};
inline constinit Pmpi comm_group{"PMPI_Comm_group"};
inline constinit Pmpi comm_remote_group{"PMPI_Comm_remote_group"};
inline constinit Pmpi comm_test_inter{"PMPI_Comm_test_inter"};
inline constinit Pmpi comm_get_name{"PMPI_Comm_get_name"};
inline constinit Pmpi comm_get_parent{"PMPI_Comm_get_parent"};
inline constinit Pmpi comm_f2c{"PMPI_Comm_f2c"};
inline constinit Pmpi group_size{"PMPI_Group_size"};
inline constinit Pmpi group_rank{"PMPI_Group_rank"};
inline constinit Pmpi group_translate_ranks{"PMPI_Group_translate_ranks"};
inline constinit Pmpi group_free{"PMPI_Group_free"};
inline constinit Pmpi group_from_session_pset{"PMPI_Group_from_session_pset"};
inline constinit Pmpi topo_test{"PMPI_Topo_test"};
inline constinit Pmpi cartdim_get{"PMPI_Cartdim_get"};
inline constinit Pmpi graph_neighbors_count{"PMPI_Graph_neighbors_count"};
inline constinit Pmpi dist_graph_neighbors_count{"PMPI_Dist_graph_neighbors_count"};
inline constinit Pmpi type_size_x{"PMPI_Type_size_x"};
inline constinit Pmpi type_get_name{"PMPI_Type_get_name"};
inline constinit Pmpi type_f2c{"PMPI_Type_f2c"};
inline constinit Pmpi op_f2c{"PMPI_Op_f2c"};
inline constinit Pmpi request_f2c{"PMPI_Request_f2c"};
}  // namespace pmpi

}  // namespace tutti::mpi_table
