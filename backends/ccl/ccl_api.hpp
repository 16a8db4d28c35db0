#pragma once

#include "bridge/ccl_bridge.hpp"
#include "tutti/spi/instrument.hpp"

/// Every call into oneCCL goes through this table, so that the observer sees it and a test can substitute its own
/// functions.
namespace tutti::ccl {

struct Api {
  /// Copies the functions of the bridge.
  explicit Api(const Bridge& bridge);

  const char* (*error)();
  decltype(Bridge::release) release;
  /// Makes two calls into oneCCL (allreduce and wait) without reporting them: use it only when there is no observer.
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
