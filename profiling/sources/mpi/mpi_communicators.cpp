#include "mpi/mpi_communicators.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/mpi/handle_table.hpp"
#include "mpi/mpi_library.hpp"

namespace tutti::profiling::mpi {

namespace {

constexpr std::uint64_t kWorldKey = 0x7475747469000001U;
constexpr std::uint64_t kSpawnedWorldKey = 0x7475747469000002U;
constexpr std::uint64_t kUnknownParent = 0x7475747469000003U;

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 29);
}

struct Registry {
  HandleTable<4096> handles;
  std::mutex mutex;
  std::map<std::uint64_t, std::uint64_t> made;  // communicators per parent and members
};

Registry& registry() noexcept {
  // Never destroyed: MPI may be called while the process exits.
  static Registry& only = *new Registry;
  return only;
}

// A group of MPI for the length of a scope.
class Group {
 public:
  Group() = default;
  ~Group() {
    if (is_known) (void)pmpi::group_free(&handle);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  Word handle = 0;
  bool is_known = false;
};

void take_world(Group& group) noexcept {
  int initialized = 0;
  if (pmpi::initialized(&initialized) && initialized != 0)
    group.is_known = pmpi::comm_group(abi().comm_world, &group.handle);
  else if (const Word session = open_session(); session != 0)
    group.is_known = pmpi::group_from_session_pset(session, "mpi://WORLD", &group.handle);
}

// Hash of the members' world ranks, in order.
std::uint64_t members_of(const Group& group, const Group& world, int size) noexcept {
  std::uint64_t hash = mix(1, static_cast<std::uint64_t>(size));
  if (!group.is_known || !world.is_known) return hash;
  try {
    const auto count = static_cast<std::size_t>(size);
    std::vector<int> ranks(2 * count);
    for (std::size_t rank = 0; rank < count; ++rank) ranks[rank] = static_cast<int>(rank);
    int* const translated = ranks.data() + count;
    if (pmpi::group_translate_ranks(group.handle, size, ranks.data(), world.handle, translated))
      for (std::size_t rank = 0; rank < count; ++rank)
        hash = mix(hash, static_cast<std::uint64_t>(static_cast<std::int64_t>(translated[rank])));
  } catch (...) {
    // Without memory the size has to do.
  }
  return hash;
}

void ask_members(Word handle, Communicator& made) noexcept {
  Group own;
  Group other;
  Group world;
  take_world(world);
  (void)pmpi::comm_rank(handle, &made.group_rank);
  (void)pmpi::comm_size(handle, &made.group_size);
  own.is_known = pmpi::comm_group(handle, &own.handle);
  made.members = members_of(own, world, made.group_size);
  made.rank = made.group_rank;
  made.size = made.group_size;
  int is_inter = 0;
  if (!pmpi::comm_test_inter(handle, &is_inter) || is_inter == 0) return;
  other.is_known = pmpi::comm_remote_group(handle, &other.handle);
  if (other.is_known) (void)pmpi::group_size(other.handle, &made.remote_size);
  const std::uint64_t others = members_of(other, world, made.remote_size);
  // Both groups agree on who comes first.
  made.size += made.remote_size;
  if (others < made.members) made.rank += made.remote_size;
  made.members = made.members < others ? mix(made.members, others) : mix(others, made.members);
}

std::uint64_t world_key() noexcept {
  Word parent = 0;
  // The world of spawned processes is another one than the world of the processes that spawned them.
  const bool is_spawned = pmpi::comm_get_parent(&parent) && handle_of(parent) != abi().comm_null;
  return is_spawned ? kSpawnedWorldKey : kWorldKey;
}

Communicator* add(Word handle, std::unique_ptr<Communicator> made, std::uint64_t parent) noexcept {
  Registry& all = registry();
  try {
    const std::lock_guard lock(all.mutex);
    if (const auto known = all.handles.find(handle)) return reinterpret_cast<Communicator*>(*known);
    if (made->key == 0) {
      const std::uint64_t family = mix(parent, made->members);
      made->key = mix(family, ++all.made[family]);
    }
    if (!all.handles.insert(handle, reinterpret_cast<Word>(made.get()))) return nullptr;
    return made.release();
  } catch (...) {
    return nullptr;
  }
}

std::unique_ptr<Communicator> make() noexcept { return std::unique_ptr<Communicator>(new (std::nothrow) Communicator); }

bool is_communicator(Word handle) noexcept { return handle != 0 && handle != abi().comm_null; }

}  // namespace

Communicator* communicator_of(Word handle) noexcept {
  if (!is_communicator(handle)) return nullptr;
  if (const auto known = registry().handles.find(handle)) [[likely]]
    return reinterpret_cast<Communicator*>(*known);
  auto made = make();
  if (made == nullptr) return nullptr;
  ask_members(handle, *made);
  if (handle == abi().comm_world) made->key = world_key();
  return add(handle, std::move(made), kUnknownParent);
}

void note_created(Word handle, const Communicator* parent, std::string_view tag) noexcept {
  if (!is_communicator(handle) || registry().handles.find(handle)) return;
  auto made = make();
  if (made == nullptr) return;
  ask_members(handle, *made);
  std::uint64_t family = parent == nullptr ? kUnknownParent : parent->key;
  for (const char letter : tag) family = mix(family, static_cast<unsigned char>(letter));
  (void)add(handle, std::move(made), family);
}

void note_duplicate(Word handle, const Communicator* parent) noexcept {
  if (!is_communicator(handle) || parent == nullptr) return;
  auto made = make();
  if (made == nullptr) return;
  made->members = parent->members;
  made->rank = parent->rank;
  made->size = parent->size;
  made->group_rank = parent->group_rank;
  made->group_size = parent->group_size;
  made->remote_size = parent->remote_size;
  (void)add(handle, std::move(made), parent->key);
}

void forget_communicator(Word handle) noexcept {
  if (const auto value = registry().handles.erase(handle)) delete reinterpret_cast<Communicator*>(*value);
}

CommunicatorId session_id(Communicator& communicator, Word handle) noexcept {
  // Relaxed: the number alone matters. Two threads may describe a communicator at once; the session merges by key.
  if (const CommunicatorId id = communicator.id.load(std::memory_order_relaxed); id != 0) [[likely]]
    return id;
  char name[512] = {};  // MPI_MAX_OBJECT_NAME is 64 to 256
  int length = 0;
  (void)pmpi::comm_get_name(handle, name, &length);
  const CommunicatorId id =
      add_communicator({.key = communicator.key, .name = name, .rank = communicator.rank, .size = communicator.size});
  communicator.id.store(id, std::memory_order_relaxed);
  return id;
}

int out_neighbors(Communicator& communicator, Word handle) noexcept {
  int known = communicator.out_neighbors.load(std::memory_order_relaxed);
  if (known >= 0) return known;
  known = 0;
  int dimensions = 0;
  int in = 0;
  int weighted = 0;
  int topology = 0;
  if (pmpi::topo_test(handle, &topology)) {
    if (topology == abi().cartesian && pmpi::cartdim_get(handle, &dimensions)) known = 2 * dimensions;
    if (topology == abi().graph) (void)pmpi::graph_neighbors_count(handle, communicator.group_rank, &known);
    if (topology == abi().distributed_graph) (void)pmpi::dist_graph_neighbors_count(handle, &in, &known, &weighted);
  }
  communicator.out_neighbors.store(known, std::memory_order_relaxed);
  return known;
}

std::optional<WorldPlace> world_place() noexcept {
  WorldPlace place;
  int initialized = 0;
  if (pmpi::initialized(&initialized) && initialized != 0) {
    if (pmpi::comm_rank(abi().comm_world, &place.rank) && pmpi::comm_size(abi().comm_world, &place.size)) return place;
    return std::nullopt;
  }
  Group world;
  take_world(world);
  if (world.is_known && pmpi::group_rank(world.handle, &place.rank) && pmpi::group_size(world.handle, &place.size) &&
      place.rank >= 0)
    return place;
  return std::nullopt;
}

void tell_rank() noexcept {
  if (const std::optional<WorldPlace> place = world_place()) set_rank(place->rank, place->size);
}

}  // namespace tutti::profiling::mpi
