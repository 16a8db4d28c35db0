#pragma once

#include "bridge/ccl_bridge.hpp"
#include "tutti/spi/instrument.hpp"

/// Every call into oneCCL goes through this table: there it is seen by the observer, and a test can put in functions of
/// its own.
namespace tutti::ccl {

struct Api {
  /// Takes over the functions of the bridge.
  explicit Api(const Bridge& bridge);

  const char* (*error)();
  decltype(Bridge::release) release;
  /// Two calls into oneCCL at once, which nobody can be told of: to be used when nobody observes.
  decltype(Bridge::whole_allreduce) whole_allreduce;

  spi::VendorFunction<decltype(Bridge::init)> init;
  spi::VendorFunction<decltype(Bridge::create_main_kvs)> create_main_kvs;
  spi::VendorFunction<decltype(Bridge::create_kvs)> create_kvs;
  spi::VendorFunction<decltype(Bridge::create_communicator)> create_communicator;
  spi::VendorFunction<decltype(Bridge::create_on_queue)> create_on_queue;
  spi::VendorFunction<decltype(Bridge::bind_queue)> bind_queue;
  spi::VendorFunction<decltype(Bridge::destroy_communicator)> destroy_communicator;

  spi::VendorFunction<decltype(Bridge::allreduce)> allreduce;
  spi::VendorFunction<decltype(Bridge::allgather)> allgather;
  spi::VendorFunction<decltype(Bridge::allgatherv)> allgatherv;
  spi::VendorFunction<decltype(Bridge::reduce_scatter)> reduce_scatter;
  spi::VendorFunction<decltype(Bridge::broadcast)> broadcast;
  spi::VendorFunction<decltype(Bridge::reduce)> reduce;
  spi::VendorFunction<decltype(Bridge::alltoall)> alltoall;
  spi::VendorFunction<decltype(Bridge::alltoallv)> alltoallv;
  spi::VendorFunction<decltype(Bridge::barrier)> barrier;
  spi::VendorFunction<decltype(Bridge::wait)> wait;
};

}  // namespace tutti::ccl
