// Queries about the links between cards and about the memory in use.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "driver.hpp"

namespace fake_level_zero {

namespace {

constexpr std::uint32_t kLinks = 2;  ///< between two tiles with the same number on two cards

/// A handle that encodes the edge.
std::uintptr_t edge_number(const Device& a, const Device& b, std::uint32_t link) {
  return 1 + link + 16 * static_cast<std::uintptr_t>(a.card * 64 + b.card * 8 + a.tile);
}

/// FAKE_LEVEL_ZERO_OTHER_USE; the default is 0.
std::uint64_t memory_of_others() {
  const char* value = std::getenv("FAKE_LEVEL_ZERO_OTHER_USE");  // NOLINT: drivers read the environment
  return value == nullptr ? 0 : std::strtoull(value, nullptr, 10);
}

}  // namespace

ze_result_t fabric_vertex_get(ze_driver_handle_t, std::uint32_t* count, ze_fabric_vertex_handle_t* vertices) {
  const auto tiles = visible_tiles();
  const std::uint32_t wanted = vertices == nullptr ? 0 : std::min(*count, static_cast<std::uint32_t>(tiles.size()));
  *count = static_cast<std::uint32_t>(tiles.size());
  for (std::uint32_t i = 0; i < wanted; ++i) vertices[i] = reinterpret_cast<ze_fabric_vertex_handle_t>(tiles[i]);
  return ZE_RESULT_SUCCESS;
}

ze_result_t fabric_vertex_get_device(ze_fabric_vertex_handle_t vertex, ze_device_handle_t* device) {
  *device = reinterpret_cast<ze_device_handle_t>(vertex);
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_get_fabric_vertex(ze_device_handle_t device, ze_fabric_vertex_handle_t* vertex) {
  const Device* tile = find_device(device, "zeDeviceGetFabricVertexExp");
  if (tile == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (tile->tile < 0) return ZE_RESULT_EXP_ERROR_DEVICE_IS_NOT_VERTEX;
  *vertex = reinterpret_cast<ze_fabric_vertex_handle_t>(device);
  return ZE_RESULT_SUCCESS;
}

ze_result_t fabric_edge_get(ze_fabric_vertex_handle_t a, ze_fabric_vertex_handle_t b, std::uint32_t* count,
                            ze_fabric_edge_handle_t* edges) {
  const auto& from = *reinterpret_cast<const Device*>(a);
  const auto& to = *reinterpret_cast<const Device*>(b);
  const std::uint32_t there = from.card != to.card && from.tile == to.tile ? kLinks : 0;
  const std::uint32_t wanted = edges == nullptr ? 0 : std::min(*count, there);
  *count = there;
  for (std::uint32_t i = 0; i < wanted; ++i) {
    edges[i] = reinterpret_cast<ze_fabric_edge_handle_t>(edge_number(from, to, i));
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t fabric_edge_get_properties(ze_fabric_edge_handle_t, ze_fabric_edge_exp_properties_t* properties) {
  std::strncpy(properties->model, "XeLink", sizeof(properties->model) - 1);
  properties->bandwidth = 25;
  properties->bandwidthUnit = ZE_BANDWIDTH_UNIT_BYTES_PER_NANOSEC;
  properties->duplexity = ZE_FABRIC_EDGE_EXP_DUPLEXITY_FULL_DUPLEX;
  return ZE_RESULT_SUCCESS;
}

// Each tile is a memory module. Memory of the card as a whole counts for the card, not for its tiles. As with a real
// driver, the query for a tile lists all modules of its card.
ze_result_t sysman_enumerate_memory(zes_device_handle_t handle, std::uint32_t* count, zes_mem_handle_t* modules) {
  const Device* device = find_device(reinterpret_cast<ze_device_handle_t>(handle), "zesDeviceEnumMemoryModules");
  if (device == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  const auto tiles = tiles_of_card(*device);
  const std::uint32_t wanted = modules == nullptr ? 0 : std::min(*count, static_cast<std::uint32_t>(tiles.size()));
  *count = static_cast<std::uint32_t>(tiles.size());
  for (std::uint32_t i = 0; i < wanted; ++i) modules[i] = reinterpret_cast<zes_mem_handle_t>(tiles[i]);
  return ZE_RESULT_SUCCESS;
}

ze_result_t sysman_memory_properties(zes_mem_handle_t module, zes_mem_properties_t* properties) {
  const auto& tile = *reinterpret_cast<const Device*>(module);
  properties->type = ZES_MEM_TYPE_HBM;
  properties->location = ZES_MEM_LOC_DEVICE;
  properties->onSubdevice = 1;
  properties->subdeviceId = static_cast<std::uint32_t>(tile.tile);
  properties->physicalSize = memory_of(tile);
  return ZE_RESULT_SUCCESS;
}

ze_result_t sysman_memory_state(zes_mem_handle_t module, zes_mem_state_t* state) {
  const auto& tile = *reinterpret_cast<const Device*>(module);
  state->health = ZES_MEM_HEALTH_OK;
  state->size = memory_of(tile);
  // Another program takes memory once this one has asked for the first time.
  static std::mutex mutex;
  static std::set<const Device*> asked;
  const std::scoped_lock lock(mutex);
  const std::uint64_t of_others = asked.insert(&tile).second ? 0 : memory_of_others();
  state->free = state->size - tile.used_bytes - of_others;
  return ZE_RESULT_SUCCESS;
}

}  // namespace fake_level_zero
