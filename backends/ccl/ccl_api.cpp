#include "ccl_api.hpp"

#include <string_view>

namespace tutti::ccl {
namespace {

constexpr std::string_view kLibrary = "oneCCL";

template <typename Function>
void fill(spi::VendorFunction<Function>& member, std::string_view name, Function function) {
  member = spi::VendorFunction<Function>(kLibrary, name);
  member.set(function);
}

}  // namespace

Api::Api(const Bridge& bridge) : error(bridge.error), release(bridge.release), whole_allreduce(bridge.whole_allreduce) {
#define TUTTI_FILL(member, name) fill(member, "ccl::" name, bridge.member)
  TUTTI_FILL(init, "init");
  TUTTI_FILL(create_main_kvs, "create_main_kvs");
  TUTTI_FILL(create_kvs, "create_kvs");
  TUTTI_FILL(create_communicator, "create_communicator");
  TUTTI_FILL(create_on_queue, "create_communicator");
  TUTTI_FILL(bind_queue, "create_stream");
  TUTTI_FILL(destroy_communicator, "~communicator");
  TUTTI_FILL(allreduce, "allreduce");
  TUTTI_FILL(allgather, "allgatherv");
  TUTTI_FILL(allgatherv, "allgatherv");
  TUTTI_FILL(reduce_scatter, "reduce_scatter");
  TUTTI_FILL(broadcast, "broadcast");
  TUTTI_FILL(reduce, "reduce");
  TUTTI_FILL(alltoall, "alltoall");
  TUTTI_FILL(alltoallv, "alltoallv");
  TUTTI_FILL(barrier, "barrier");
  TUTTI_FILL(wait, "event::wait");
#undef TUTTI_FILL
}

}  // namespace tutti::ccl
