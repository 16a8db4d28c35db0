#pragma once

#include <level_zero/ze_api.h>
#include <level_zero/zes_api.h>

#include "objects.hpp"

/// The functions of the driver, for the tables that the loader asks for; named after the functions of Level Zero.
namespace fake_level_zero {

/// Number of queue groups: a group for compute and copy and, unless FAKE_LEVEL_ZERO_COPY_GROUP is 0, a group for copy.
[[nodiscard]] std::uint32_t queue_groups();
/// FAKE_LEVEL_ZERO_QUEUES; the default is 2.
[[nodiscard]] std::uint32_t queues_per_group();

ze_result_t device_get(ze_driver_handle_t, std::uint32_t* count, ze_device_handle_t* handles);
ze_result_t device_get_sub_devices(ze_device_handle_t handle, std::uint32_t* count, ze_device_handle_t* handles);
ze_result_t device_get_properties(ze_device_handle_t handle, ze_device_properties_t* properties);
ze_result_t device_get_memory_properties(ze_device_handle_t handle, std::uint32_t* count,
                                         ze_device_memory_properties_t* properties);
ze_result_t device_get_queue_groups(ze_device_handle_t handle, std::uint32_t* count,
                                    ze_command_queue_group_properties_t* properties);
ze_result_t device_get_timestamps(ze_device_handle_t handle, std::uint64_t* host, std::uint64_t* device);
ze_result_t device_get_pci(ze_device_handle_t handle, ze_pci_ext_properties_t* properties);
ze_result_t device_can_access_peer(ze_device_handle_t handle, ze_device_handle_t peer, ze_bool_t* value);
/// All tiles that the program can see: the vertices of the fabric.
[[nodiscard]] std::vector<Device*> visible_tiles();
/// All tiles of the card of the device.
[[nodiscard]] std::vector<Device*> tiles_of_card(const Device& device);
[[nodiscard]] std::uint64_t memory_of(const Device& device);

ze_result_t fabric_vertex_get(ze_driver_handle_t, std::uint32_t* count, ze_fabric_vertex_handle_t* vertices);
ze_result_t fabric_vertex_get_device(ze_fabric_vertex_handle_t vertex, ze_device_handle_t* device);
ze_result_t device_get_fabric_vertex(ze_device_handle_t device, ze_fabric_vertex_handle_t* vertex);
ze_result_t fabric_edge_get(ze_fabric_vertex_handle_t a, ze_fabric_vertex_handle_t b, std::uint32_t* count,
                            ze_fabric_edge_handle_t* edges);
ze_result_t fabric_edge_get_properties(ze_fabric_edge_handle_t edge, ze_fabric_edge_exp_properties_t* properties);

ze_result_t sysman_enumerate_memory(zes_device_handle_t device, std::uint32_t* count, zes_mem_handle_t* modules);
ze_result_t sysman_memory_properties(zes_mem_handle_t module, zes_mem_properties_t* properties);
ze_result_t sysman_memory_state(zes_mem_handle_t module, zes_mem_state_t* state);

ze_result_t context_create(ze_driver_handle_t, const ze_context_desc_t*, ze_context_handle_t* handle);
ze_result_t context_destroy(ze_context_handle_t handle);

/// Residency has no effect: all memory is resident.
ze_result_t context_check_memory(ze_context_handle_t context, ze_device_handle_t device, void* pointer,
                                 std::size_t bytes);

ze_result_t memory_allocate_device(ze_context_handle_t, const ze_device_mem_alloc_desc_t*, std::size_t bytes,
                                   std::size_t alignment, ze_device_handle_t device, void** pointer);
ze_result_t memory_allocate_host(ze_context_handle_t, const ze_host_mem_alloc_desc_t*, std::size_t bytes,
                                 std::size_t alignment, void** pointer);
ze_result_t memory_allocate_shared(ze_context_handle_t, const ze_device_mem_alloc_desc_t*,
                                   const ze_host_mem_alloc_desc_t*, std::size_t bytes, std::size_t alignment,
                                   ze_device_handle_t device, void** pointer);
ze_result_t memory_free(ze_context_handle_t context, void* pointer);
ze_result_t memory_get_properties(ze_context_handle_t context, const void* pointer,
                                  ze_memory_allocation_properties_t* properties, ze_device_handle_t* device);
ze_result_t memory_get_range(ze_context_handle_t context, const void* pointer, void** base, std::size_t* bytes);
ze_result_t memory_get_ipc_handle(ze_context_handle_t context, const void* pointer, ze_ipc_mem_handle_t* handle);
ze_result_t memory_open_ipc_handle(ze_context_handle_t context, ze_device_handle_t device, ze_ipc_mem_handle_t handle,
                                   ze_ipc_memory_flags_t flags, void** pointer);
ze_result_t memory_close_ipc_handle(ze_context_handle_t context, const void* pointer);

ze_result_t pool_create(ze_context_handle_t context, const ze_event_pool_desc_t* desc, std::uint32_t devices,
                        ze_device_handle_t* handles, ze_event_pool_handle_t* pool);
ze_result_t pool_destroy(ze_event_pool_handle_t pool);
ze_result_t event_create(ze_event_pool_handle_t pool, const ze_event_desc_t* desc, ze_event_handle_t* event);
ze_result_t event_destroy(ze_event_handle_t event);
ze_result_t event_signal(ze_event_handle_t event);
ze_result_t event_synchronize(ze_event_handle_t event, std::uint64_t timeout_ns);
ze_result_t event_query(ze_event_handle_t event);
ze_result_t event_reset(ze_event_handle_t event);
ze_result_t event_get_times(ze_event_handle_t event, ze_kernel_timestamp_result_t* times);

ze_result_t list_create_immediate(ze_context_handle_t context, ze_device_handle_t device,
                                  const ze_command_queue_desc_t* desc, ze_command_list_handle_t* list);
ze_result_t list_create(ze_context_handle_t context, ze_device_handle_t device, const ze_command_list_desc_t*,
                        ze_command_list_handle_t* list);
ze_result_t list_close(ze_command_list_handle_t list);
ze_result_t list_reset(ze_command_list_handle_t list);
ze_result_t list_destroy(ze_command_list_handle_t list);
ze_result_t list_append_barrier(ze_command_list_handle_t list, ze_event_handle_t signal, std::uint32_t waits,
                                ze_event_handle_t* events);
ze_result_t list_append_copy(ze_command_list_handle_t list, void* to, const void* from, std::size_t bytes,
                             ze_event_handle_t signal, std::uint32_t waits, ze_event_handle_t* events);
ze_result_t list_append_fill(ze_command_list_handle_t list, void* to, const void* pattern, std::size_t pattern_bytes,
                             std::size_t bytes, ze_event_handle_t signal, std::uint32_t waits,
                             ze_event_handle_t* events);
ze_result_t list_append_kernel(ze_command_list_handle_t list, ze_kernel_handle_t kernel, const ze_group_count_t*,
                               ze_event_handle_t signal, std::uint32_t waits, ze_event_handle_t* events);
ze_result_t list_append_signal(ze_command_list_handle_t list, ze_event_handle_t event);
ze_result_t list_append_wait(ze_command_list_handle_t list, std::uint32_t waits, ze_event_handle_t* events);

// A queue is an immediate list that gets the commands of others.
ze_result_t queue_create(ze_context_handle_t context, ze_device_handle_t device, const ze_command_queue_desc_t* desc,
                         ze_command_queue_handle_t* queue);
ze_result_t queue_destroy(ze_command_queue_handle_t queue);
ze_result_t queue_execute(ze_command_queue_handle_t queue, std::uint32_t count, ze_command_list_handle_t* lists,
                          ze_fence_handle_t);
ze_result_t queue_synchronize(ze_command_queue_handle_t queue, std::uint64_t timeout_ns);

// Kernels do nothing.
ze_result_t module_create(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t*,
                          ze_module_handle_t* module, ze_module_build_log_handle_t*);
ze_result_t module_destroy(ze_module_handle_t);
ze_result_t kernel_create(ze_module_handle_t, const ze_kernel_desc_t* desc, ze_kernel_handle_t* kernel);
ze_result_t kernel_destroy(ze_kernel_handle_t kernel);
ze_result_t kernel_set_group_size(ze_kernel_handle_t kernel, std::uint32_t, std::uint32_t, std::uint32_t);

}  // namespace fake_level_zero
