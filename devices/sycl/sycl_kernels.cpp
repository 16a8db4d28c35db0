#include "sycl_kernels.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "reduce_arguments.hpp"
#include "reduce_source.hpp"
#include "sycl_call.hpp"
#include "sycl_events.hpp"

namespace tutti::sycl_device {

namespace {

namespace experimental = ::sycl::ext::oneapi::experimental;
using sycl_kernels::ReduceArguments;

/// The name of the type in reduce_kernels.hpp.
std::string source_type(DataType type) {
  if (is_narrow_float(type)) return "tutti::" + std::string(name(type));
  if (type == DataType::float32) return "float";
  if (type == DataType::float64) return "double";
  return "std::" + std::string(name(type)) + "_t";
}

std::string source_for(DataType type) {
  return "#define TUTTI_KERNEL_TYPE " + source_type(type) + "\n#define TUTTI_KERNEL_INTEGER " +
         (is_floating(type) ? "0" : "1") + "\n" + std::string(kReduceSource);
}

ReduceArguments arguments_of(const spi::DeviceReduction& reduction) {
  static_assert(sizeof(ReduceArguments::inputs) / sizeof(void*) == spi::DeviceReduction::kMaxInputs);
  static_assert(sizeof(ReduceArguments::outputs) / sizeof(void*) == spi::DeviceReduction::kMaxOutputs);
  ReduceArguments arguments{};
  std::ranges::copy(reduction.outputs, arguments.outputs);
  std::ranges::copy(reduction.inputs, arguments.inputs);
  arguments.count = reduction.count;
  arguments.divisor = reduction.divisor;
  arguments.prescale64 = std::bit_cast<std::uint64_t>(reduction.prescale);
  arguments.prescale32 = static_cast<float>(reduction.prescale);
  arguments.outputs_count = static_cast<std::uint32_t>(reduction.outputs.size());
  arguments.sources = static_cast<std::uint32_t>(reduction.inputs.size());
  return arguments;
}

/// Enough work-items to fill the device; each takes several elements.
::sycl::nd_range<1> range_for(const ::sycl::device& device, std::uint64_t count) {
  namespace info = ::sycl::info::device;
  const std::size_t group = std::min<std::size_t>(256, device.get_info<info::max_work_group_size>());
  const std::size_t most = std::size_t{64} * device.get_info<info::max_compute_units>();
  const std::size_t groups = std::clamp<std::size_t>((count + group - 1) / group, 1, most);
  return {groups * group, group};
}

bool can_build(::sycl::device device) { return device.ext_oneapi_can_build(experimental::source_language::sycl); }

bool has_type(const ::sycl::device& device, DataType type) {
  return type != DataType::float64 || device.has(::sycl::aspect::fp64);
}

}  // namespace

bool Kernels::can_reduce(const Stream& stream, DataType type) {
  const ::sycl::device device = queue_of(stream).get_device();
  return can_build(device) && has_type(device, type);
}

::sycl::kernel Kernels::kernel(const ::sycl::queue& queue, Reduction reduction, DataType type) {
  const ::sycl::context context = queue.get_context();
  ::sycl::device device = queue.get_device();
  if (reduction == Reduction::average) reduction = Reduction::sum;
  const std::scoped_lock lock(mutex_);
  auto known = std::ranges::find_if(built_, [&](const Built& built) {
    return built.type == type && built.context == context && built.device == device;
  });
  if (known == built_.end()) {
    if (!can_build(device)) {
      throw Error(ErrorCode::unsupported, "the SYCL runtime has no kernel compiler for this device", "sycl");
    }
    if (!has_type(device, type)) {
      throw Error(ErrorCode::unsupported, "the SYCL device does not support float64", "sycl");
    }
    auto source = call("create_kernel_bundle_from_source", [&] {
      return experimental::create_kernel_bundle_from_source(context, experimental::source_language::sycl,
                                                            source_for(type));
    });
    // No fused multiply-add and exact division: the bits are part of the contract, as on the host.
    const experimental::build_options options(
        std::vector<std::string>{"-std=c++20", "-ffp-contract=off", "-foffload-fp32-prec-div"});
    auto bundle = call(
        "build", [&] { return experimental::build(source, std::vector{device}, experimental::properties{options}); });
    known = built_.insert(known, Built{context, device, type, std::move(bundle), {}});
  }
  const auto kept = known->kernels.find(reduction);
  if (kept != known->kernels.end()) return kept->second;
  const std::string name = "tutti_" + std::string(tutti::name(reduction));
  const auto get = [&] { return known->bundle.ext_oneapi_get_kernel(name); };
  return known->kernels.emplace(reduction, call("kernel_bundle::ext_oneapi_get_kernel", get)).first->second;
}

std::unique_ptr<spi::DeviceEvent> Kernels::reduce(const Stream& stream, const spi::DeviceReduction& reduction) {
  const ::sycl::queue& queue = queue_of(stream);
  const ::sycl::kernel function = kernel(queue, reduction.reduction, reduction.type);
  const ReduceArguments arguments = arguments_of(reduction);
  const ::sycl::nd_range<1> range = range_for(queue.get_device(), reduction.count);
  return submit(stream, "reduce", "handler::parallel_for", [&](::sycl::handler& handler) {
    handler.set_arg(0, arguments);
    handler.parallel_for(range, function);
  });
}

}  // namespace tutti::sycl_device
