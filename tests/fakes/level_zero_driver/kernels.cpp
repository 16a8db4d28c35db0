#include "driver.hpp"

namespace fake_level_zero {

namespace {

int the_module;  // its address is the handle

}  // namespace

ze_result_t module_create(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t*,
                          ze_module_handle_t* module, ze_module_build_log_handle_t*) {
  const std::scoped_lock lock(world().mutex);
  if (world().contexts.find(context) == nullptr) return unknown_handle("zeModuleCreate", "context");
  if (find_device(device, "zeModuleCreate") == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  *module = reinterpret_cast<ze_module_handle_t>(&the_module);
  return ZE_RESULT_SUCCESS;
}

ze_result_t module_destroy(ze_module_handle_t) { return ZE_RESULT_SUCCESS; }

ze_result_t kernel_create(ze_module_handle_t, const ze_kernel_desc_t* desc, ze_kernel_handle_t* kernel) {
  const std::scoped_lock lock(world().mutex);
  *kernel = world().kernels.add(std::make_shared<Kernel>(Kernel{desc->pKernelName}));
  return ZE_RESULT_SUCCESS;
}

ze_result_t kernel_destroy(ze_kernel_handle_t kernel) {
  const std::scoped_lock lock(world().mutex);
  if (world().kernels.find(kernel) == nullptr) return unknown_handle("zeKernelDestroy", "kernel");
  world().kernels.remove(kernel);
  return ZE_RESULT_SUCCESS;
}

ze_result_t kernel_set_group_size(ze_kernel_handle_t kernel, std::uint32_t, std::uint32_t, std::uint32_t) {
  const std::scoped_lock lock(world().mutex);
  return world().kernels.find(kernel) == nullptr ? unknown_handle("zeKernelSetGroupSize", "kernel") : ZE_RESULT_SUCCESS;
}

}  // namespace fake_level_zero
