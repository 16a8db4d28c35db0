#pragma once

#include <cstddef>
#include <vector>

/// Overloads of oneCCL on sycl::buffer by the symbols that a program of the SYCL compiler calls.
namespace tutti::test {

struct Object {
  void* inside;
};

#define TUTTI_TEST_BUFFER "N4sycl3_V16bufferI"
#define TUTTI_TEST_ALLOCATOR "Li1ENS3_6detail17aligned_allocatorI"

/// allreduce(const buffer<float>&, buffer<float>&, count, reduction, communicator, stream, attributes, events)
void allreduce_of_buffers(Object& event, const Object& in, Object& out, std::size_t count, int reduction,
                          const Object& communicator, const Object& stream, const Object& attributes,
                          const std::vector<Object>& events) __asm__("_ZN3ccl2v19allreduceI" TUTTI_TEST_BUFFER
                                                                     "f" TUTTI_TEST_ALLOCATOR
                                                                     "fEEvEENS0_5eventEEES9_RKT_RSA_mNS0_9reductionERKN"
                                                                     "S0_12communicatorERKNS0_6streamERKNS0_14allreduce"
                                                                     "_attrERKSt6vectorIS9_SaIS9_EE");
/// scatter(const buffer<int>&, buffer<int>&, count, root, communicator, attributes, events)
void scatter_of_buffers(Object& event, const Object& in, Object& out, std::size_t count, int root,
                        const Object& communicator, const Object& attributes,
                        const std::vector<Object>& events) __asm__("_ZN3ccl2v17scatterI" TUTTI_TEST_BUFFER
                                                                   "i" TUTTI_TEST_ALLOCATOR
                                                                   "iEEvEENS0_5eventEEES9_RKT_RSA_miRKNS0_12communicato"
                                                                   "rERKNS0_12scatter_attrERKSt6vectorIS9_SaIS9_EE");

}  // namespace tutti::test
