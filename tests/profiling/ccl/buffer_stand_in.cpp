// Overloads of oneCCL on sycl::buffer that do nothing but note that they were called.
#include "buffer_functions.hpp"

namespace tutti::test {

void allreduce_of_buffers(Object& event, const Object&, Object& out, std::size_t, int, const Object&, const Object&,
                          const Object&, const std::vector<Object>&) {
  event.inside = &out;
}

void scatter_of_buffers(Object& event, const Object&, Object& out, std::size_t, int, const Object&, const Object&,
                        const std::vector<Object>&) {
  event.inside = &out;
}

}  // namespace tutti::test
