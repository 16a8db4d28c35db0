// Compares tutti's declarations of oneCCL's C interface with the header, if the oneCCL of the build has it. There is no
// code here.
#if __has_include(<oneapi/ccl.h>)
#include <oneapi/ccl.h>

#include <type_traits>

#include "channel/ccl_c_api.hpp"
#include "channel/ccl_c_types.hpp"

namespace tutti::ccl {
namespace {

static_assert(sizeof(CUniqueId) == sizeof(::onecclUniqueId) && alignof(CUniqueId) == alignof(::onecclUniqueId));

/// Maps the header's types to those of the table.
template <typename T>
struct Ours {
  using Type = std::conditional_t<std::is_enum_v<T>, int, T>;
};
template <>
struct Ours<::onecclComm_t> {
  using Type = CHandle;
};
template <>
struct Ours<::onecclComm_t*> {
  using Type = CHandle*;
};
template <>
struct Ours<::onecclUniqueId> {
  using Type = CUniqueId;
};
template <>
struct Ours<::onecclUniqueId*> {
  using Type = CUniqueId*;
};

template <typename Result, typename... Arguments>
auto ours(Result (*)(Arguments...)) -> typename Ours<Result>::Type (*)(typename Ours<Arguments>::Type...);

#define TUTTI_CHECK(member, name) \
  static_assert(std::is_same_v<decltype(ours(&::name)), decltype(CApi::member)::Pointer>)
TUTTI_CHECK(get_unique_id, onecclGetUniqueId);
TUTTI_CHECK(comm_init_rank, onecclCommInitRank);
TUTTI_CHECK(comm_destroy, onecclCommDestroy);
TUTTI_CHECK(all_reduce, onecclAllReduce);
TUTTI_CHECK(all_gather, onecclAllGather);
TUTTI_CHECK(reduce_scatter, onecclReduceScatter);
TUTTI_CHECK(broadcast, onecclBroadcast);
TUTTI_CHECK(reduce, onecclReduce);
TUTTI_CHECK(all_to_all, onecclAllToAll);
#undef TUTTI_CHECK
static_assert(std::is_same_v<decltype(ours(&::onecclGetErrorString)), decltype(CApi::error_string)>);
static_assert(std::is_same_v<decltype(ours(&::onecclGetLastError)), decltype(CApi::last_error)>);

static_assert(::onecclSuccess == 0);
static_assert(c_datatype(DataType::int8) == ::onecclInt8 && c_datatype(DataType::uint8) == ::onecclUint8);
static_assert(c_datatype(DataType::int32) == ::onecclInt32 && c_datatype(DataType::uint32) == ::onecclUint32);
static_assert(c_datatype(DataType::int64) == ::onecclInt64 && c_datatype(DataType::uint64) == ::onecclUint64);
static_assert(c_datatype(DataType::float16) == ::onecclFloat16 && c_datatype(DataType::bfloat16) == ::onecclBfloat16);
static_assert(c_datatype(DataType::float32) == ::onecclFloat32 && c_datatype(DataType::float64) == ::onecclFloat64);
static_assert(c_reduction(Reduction::sum) == ::onecclSum && c_reduction(Reduction::product) == ::onecclProd);
static_assert(c_reduction(Reduction::min) == ::onecclMin && c_reduction(Reduction::max) == ::onecclMax);

}  // namespace
}  // namespace tutti::ccl
#endif
