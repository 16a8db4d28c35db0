// Calls overloads of oneCCL on sycl::buffer by their symbols; prints the counts of its calls.
#include "buffer_functions.hpp"
#include "profiling/support/expected_tally.hpp"

namespace {

using tutti::test::Object;

tutti::test::ExpectedTally tally;

void count_operation(const std::string& name, const std::string& type, std::uint64_t bytes) {
  const std::string context = name + "/" + type + "/ccl//" + std::to_string(bytes) + "/0";
  tally.add("host|BACKEND_CCL|" + name + "|" + context, bytes, false);
  tally.add("operation|BACKEND_CCL|" + name + "|" + context, bytes, false);
}

}  // namespace

int main() {
  Object event{}, in{}, out{}, communicator{}, stream{}, attributes{};
  const std::vector<Object> events;
  for (std::size_t count = 1; count <= 50; ++count) {
    event.inside = nullptr;
    tutti::test::allreduce_of_buffers(event, in, out, count, 0, communicator, stream, attributes, events);
    if (event.inside != &out) return 1;
    count_operation("allreduce", "float32", count * 4);
    event.inside = nullptr;
    tutti::test::scatter_of_buffers(event, in, out, count, 0, communicator, attributes, events);
    if (event.inside != &out) return 1;
    count_operation("scatter", "int32", count * 4);
  }
  tally.print();
  return 0;
}
