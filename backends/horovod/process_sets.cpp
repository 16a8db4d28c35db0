#include "process_sets.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/inner_switch.hpp"
#include "settings/horovod_settings.hpp"

namespace tutti::horovod {

namespace {

constexpr const char* kAllRanks = "all";  ///< scope of process set 0

std::vector<int> all_of(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// Ranks of this rank's host, and whether every host has the same number.
std::pair<int, bool> local_size(const spi::Peers& peers) {
  const auto ranks_of = [&](const std::string& host) {
    return static_cast<int>(std::ranges::count(peers.hosts, host));
  };
  const int mine = ranks_of(peers.hosts[static_cast<std::size_t>(peers.rank)]);
  return {mine, std::ranges::all_of(peers.hosts, [&](const std::string& host) { return ranks_of(host) == mine; })};
}

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorCode::invalid_argument, text, "horovod"); }

}  // namespace

ProcessSets::ProcessSets(const spi::CreateContext& context, spi::BackendCommunicator& inner)
    : config_(context.config),
      meeting_(context.rendezvous.subset(all_of(context.peers.size), "horovod")),
      peers_(context.peers),
      is_first_(context.parent == nullptr),
      inner_(inner),
      stall_board_(context.progress) {
  const HorovodSettings settings = read_horovod_settings(!peers_.same_host);
  make_all_ranks(settings);
  if (is_first_ && !settings.timeline.empty()) all_->start_timeline(settings.timeline, settings.timeline_marks_cycles);
}

/// Makes the engine of all ranks, with the best values of an earlier search, or with a search.
void ProcessSets::make_all_ranks(const HorovodSettings& settings) {
  const std::vector<int> ranks = all_of(peers_.size);
  inners_ = {inner_.name()};
  std::optional<TuningResult> known;
  if (is_first_) {
    std::string wanted;
    // One rank reads and tells the others, so that they cannot differ.
    if (peers_.rank == 0) {
      if (settings.autotune) {
        kept_result().check_writable();
        wanted = config_.text("TUTTI_HOROVOD_TUNE_INNER");
      } else {
        known = kept_result().load();
        if (known && known->inner_backend != inners_.front()) wanted = known->inner_backend;
      }
    }
    for (std::string& spec : usable_inners(config_, meeting_, peers_, inners_.front(), wanted))
      inners_.push_back(std::move(spec));
  }
  all_ = make_engine(ranks, kAllRanks);
  sets_.push_back({ranks, all_});
  if (known) all_->set_parameters(parameters_of(*known, settings, given_partition(), inners_));
}

/// Cores are listed by the ranks of a host; a shorter list leaves the rest of the ranks free.
int ProcessSets::core_of_this_rank(const std::vector<int>& cores) const {
  const std::string& host = peers_.hosts[static_cast<std::size_t>(peers_.rank)];
  const auto before =
      static_cast<std::size_t>(std::count(peers_.hosts.begin(), peers_.hosts.begin() + peers_.rank, host));
  return before < cores.size() ? cores[before] : -1;
}

/// The size of parts, if the user has set it.
std::optional<std::uint64_t> ProcessSets::given_partition() const {
  if (config_.source("TUTTI_HOROVOD_PARTITION") == "default") return std::nullopt;
  return config_.bytes("TUTTI_HOROVOD_PARTITION");
}

std::unique_ptr<Autotuner> ProcessSets::make_tuner(const HorovodSettings& settings) const {
  Autotuner::Options options;
  if (config_.text("TUTTI_HOROVOD_LOG_COLUMNS") == "6") options.log_format = LogFormat::before_torus;
  if (config_.text("TUTTI_HOROVOD_LOG_COLUMNS") == "9") options.log_format = LogFormat::extended;
  options.tunes_partition = config_.flag("TUTTI_HOROVOD_TUNE_PARTITION") && !given_partition();
  options.watches_workload = config_.flag("TUTTI_HOROVOD_RETUNE");
  if (inners_.size() > 1) options.inner_backends = inners_;
  options.kept = kept_result();
  options.partition = config_.bytes("TUTTI_HOROVOD_PARTITION");
  return std::make_unique<Autotuner>(settings, std::move(options), std::chrono::steady_clock::now());
}

std::shared_ptr<SetEngine> ProcessSets::make_engine(std::span<const int> members, const std::string& scope) {
  const spi::Peers peers = spi::subset(peers_, members);
  const auto communicator = [&](const std::string& part) {
    const Rendezvous meeting = meeting_.subset(members, scope + "." + part);
    return spi::create_backend(
        {}, {.config = config_, .rendezvous = meeting, .peers = peers, .parent = &inner_, .members = members});
  };
  const auto [local, is_homogeneous] = local_size(peers);
  SetEngine::Options options;
  options.controller.rank = peers.rank;
  options.controller.size = peers.size;
  options.controller.local_size = local;
  options.controller.is_homogeneous = is_homogeneous;
  const HorovodSettings settings = read_horovod_settings(!peers.same_host);
  options.controller.cache_capacity = settings.cache_capacity_or_default();
  options.controller.fuses_groups = settings.fuses_groups;
  options.controller.layers_first = config_.text("TUTTI_HOROVOD_PRIORITY") == "layers";
  options.controller.parameters = {.fusion_threshold = settings.fusion_threshold_or_default(),
                                   .partition = config_.bytes("TUTTI_HOROVOD_PARTITION"),
                                   .cycle_ns = static_cast<std::uint64_t>(settings.cycle_time_or_default().count()),
                                   .cache = true};
  options.piece_bytes = config_.bytes("TUTTI_HOROVOD_PIECE");
  options.adasum_message = settings.adasum_chunk;
  options.stalls = {
      .enabled = settings.stall_check, .warning = settings.stall_warning, .shutdown = settings.stall_shutdown};
  if (!settings.thread_affinity.empty()) options.core = core_of_this_rank(settings.thread_affinity);
  options.shows_stall = [this, scope, ranks = std::vector<int>(members.begin(), members.end())](
                            const StallInspector::Missing& missing) { stall_board_.show(scope, missing, ranks); };
  // As upstream, the first rank of all ranks tunes.
  const bool tunes = settings.autotune && is_first_ && scope == kAllRanks;
  options.controller.parameters.is_tuning = tunes;
  std::unique_ptr<Autotuner> tuner;
  if (tunes && peers.rank == 0) tuner = make_tuner(settings);
  auto control = communicator("control");
  auto data = communicator("data");
  if (scope == kAllRanks && inners_.size() > 1) {
    const Rendezvous meeting = meeting_.subset(members, "inners");
    auto data_switch =
        std::make_unique<InnerSwitch>(data->capabilities(), std::move(data), std::span(inners_).subspan(1),
                                      spi::CreateContext{.config = config_, .rendezvous = meeting, .peers = peers});
    options.inner_switch = data_switch.get();
    data = std::move(data_switch);
  }
  return std::make_shared<SetEngine>(std::move(control), std::move(data),
                                     meeting_.subset(members, scope + ".departure"), options, std::move(tuner));
}

/// All ranks must make the same call: they would wait for each other for ever otherwise.
void ProcessSets::require_agreement(const std::string& call) {
  const std::vector<std::string> calls = meeting_.allgather("set", call);
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    if (calls[rank] == call) continue;
    refuse("process sets differ between the ranks: rank " + std::to_string(peers_.rank) + " called " + call +
           ", but rank " + std::to_string(rank) + " called " + calls[rank]);
  }
}

int ProcessSets::add(std::span<const int> ranks) {
  std::vector<int> members(ranks.begin(), ranks.end());
  std::ranges::sort(members);
  std::vector<std::int64_t> shown(members.begin(), members.end());
  require_agreement("add_process_set(" + describe_shape(shown) + ")");
  if (members.empty() || members.front() < 0 || members.back() >= peers_.size ||
      std::ranges::adjacent_find(members) != members.end()) {
    refuse("a process set takes different ranks of 0 to " + std::to_string(peers_.size - 1) + ", not " +
           describe_shape(shown));
  }
  std::unique_lock lock(mutex_);
  if (std::ranges::any_of(sets_, [&](const Set& set) { return set.ranks == members; })) {
    refuse("a process set with the ranks " + describe_shape(shown) + " has been added before");
  }
  int id = static_cast<int>(sets_.size());
  if (free_.empty()) {
    sets_.emplace_back();
  } else {
    id = free_.front();
    free_.erase(free_.begin());
  }
  sets_[static_cast<std::size_t>(id)].ranks = members;
  lock.unlock();
  std::shared_ptr<SetEngine> engine;
  if (std::ranges::binary_search(members, peers_.rank)) engine = make_engine(members, "set" + std::to_string(id));
  lock.lock();
  sets_[static_cast<std::size_t>(id)].engine = std::move(engine);
  return id;
}

void ProcessSets::remove(int id) {
  require_agreement("remove_process_set(" + std::to_string(id) + ")");
  if (id == 0) refuse("the process set 0 has all ranks and stays");
  std::shared_ptr<SetEngine> engine;
  {
    const std::scoped_lock lock(mutex_);
    (void)checked(id);
    Set& set = sets_[static_cast<std::size_t>(id)];
    engine = std::move(set.engine);
    set = {};
    free_.push_back(id);
  }
  if (engine != nullptr) engine->close();
}

const ProcessSets::Set& ProcessSets::checked(int id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= sets_.size() || sets_[static_cast<std::size_t>(id)].ranks.empty()) {
    refuse("there is no process set " + std::to_string(id) + ", or it has been removed");
  }
  return sets_[static_cast<std::size_t>(id)];
}

std::vector<int> ProcessSets::ids() const {
  const std::scoped_lock lock(mutex_);
  std::vector<int> ids;
  for (std::size_t id = 0; id < sets_.size(); ++id) {
    if (!sets_[id].ranks.empty()) ids.push_back(static_cast<int>(id));
  }
  return ids;
}

std::vector<int> ProcessSets::ranks(int id) const {
  const std::scoped_lock lock(mutex_);
  return checked(id).ranks;
}

std::shared_ptr<SetEngine> ProcessSets::engine(int id) const {
  const std::scoped_lock lock(mutex_);
  const Set& set = checked(id);
  if (set.engine == nullptr) {
    refuse("rank " + std::to_string(peers_.rank) + " does not belong to the process set " + std::to_string(id));
  }
  return set.engine;
}

int ProcessSets::rank_in(int id) const {
  const std::scoped_lock lock(mutex_);
  const std::vector<int>& ranks = checked(id).ranks;
  return static_cast<int>(std::ranges::find(ranks, peers_.rank) - ranks.begin());
}

std::vector<std::shared_ptr<SetEngine>> ProcessSets::engines() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<SetEngine>> engines;
  for (const Set& set : sets_) {
    if (set.engine != nullptr) engines.push_back(set.engine);
  }
  return engines;
}

std::string ProcessSets::stall_warning() const {
  for (const auto& engine : engines()) {
    if (std::string warning = engine->stall_warning(); !warning.empty()) return warning;
  }
  return {};
}

void ProcessSets::fail(const Error& error) noexcept {
  for (const auto& engine : engines()) engine->fail(error);
}

bool ProcessSets::interrupt(const Error& cause) noexcept {
  bool are_outside = true;
  for (const auto& engine : engines()) are_outside &= engine->interrupt(cause);
  return are_outside;
}

void ProcessSets::close() noexcept {
  const auto all = engines();
  // All threads first: a communicator's close() may wait for the other ranks.
  for (const auto& engine : all) engine->shutdown();
  for (const auto& engine : all) engine->close();
}

}  // namespace tutti::horovod
