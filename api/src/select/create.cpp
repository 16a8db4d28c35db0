#include "select/create.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <tuple>

#include "call/emulation/emulation.hpp"
#include "call/rank_names.hpp"
#include "check/call_site.hpp"
#include "check/check_level.hpp"
#include "handled_error.hpp"
#include "observers.hpp"
#include "select/candidates.hpp"
#include "select/observer_modules.hpp"
#include "select/ownership.hpp"
#include "select/peers.hpp"
#include "settings/common_settings.hpp"
#include "settings/settings.hpp"
#include "tutti/error.hpp"
#include "watch/call_scope.hpp"
#include "watch/failed_before.hpp"

namespace tutti {

namespace {

std::atomic<std::uint64_t> next_communicator{1};

/// The backend that a new communicator is to have.
struct Wanted {
  BackendSpec spec;
  std::string reason;
};

Wanted wanted_backend(const Config& config, const spi::ForeignHandle* handle) {
  BackendSpec spec = parse_backend_spec(config.text("TUTTI_BACKEND"));
  // A communicator handed over names its backend, unless the user asks for another one over the same ranks.
  if (handle != nullptr && spec.name == kAuto) {
    return {{.name = std::string(handle->backend)}, "the application handed over a communicator of it"};
  }
  return {std::move(spec), "TUTTI_BACKEND (" + std::string(config.source("TUTTI_BACKEND")) + ") names it"};
}

}  // namespace

namespace detail {

CommunicatorState::CommunicatorState(const Rendezvous& meeting, const CommunicatorOptions& options)
    : board_entry(meeting.rank(), meeting.size(), options.name),
      rank(meeting.rank()),
      size(meeting.size()),
      id(next_communicator.fetch_add(1, std::memory_order_relaxed)),
      name(options.name),
      config(options.config),
      rendezvous(meeting),
      strict(config.flag("TUTTI_STRICT")),
      has_progress_thread(config.flag("TUTTI_PROGRESS_THREAD")) {
  // An explicit 0 is "none"; nothing leaves it to the backend.
  const bool given = !config.text("TUTTI_TIMEOUT").empty();
  timeout =
      std::min(config.duration("TUTTI_TIMEOUT").value_or(given ? kLongestTimeout : std::chrono::nanoseconds::zero()),
               kLongestTimeout);
  if (check_level(config) == CheckLevel::exchange) set(kCheck);
  if (ProgressSlot* slot = board_entry.slot()) call_progress = &slot->call;
}

CommunicatorState::~CommunicatorState() {
  if (process.is_home()) {
    failed_before::show(*this);
    board_entry.close();
    // The communicator ends before observers are told, who may count on its operations having ended.
    dropped_works.finish();
    progress.reset();
    if (backend != nullptr) backend->close();
    if (is_watched) watcher::remove(*this);
    backend.reset();
    if (is_reported) report_destroyed(id);
    return;
  }
  // The job goes on without this copy: it must not say that the rank leaves, nor wait for threads that are not here.
  dropped_works.forget();
  (void)progress.release();
  (void)backend.release();
}

void CommunicatorState::adopt(std::unique_ptr<spi::BackendCommunicator> created) {
  backend = std::move(created);
  executor = backend.get();
  const spi::Capabilities& has = backend->capabilities();
  if (!has.has(OpKind::allreduce)) return;
  for (const Reduction reduction : kReductions) {
    for (const DataType type : kDataTypes) {
      if (has.has(reduction, type)) {
        allreduce_types[static_cast<std::size_t>(reduction)] |= 1u << static_cast<unsigned>(type);
      }
    }
  }
}

void CommunicatorState::begin_comparison() {
  if (check_level(config) != CheckLevel::boards) return;
  comparison = CallComparison::create(*this);
  if (comparison != nullptr) executor = comparison.get();
}

void CommunicatorState::begin_watch() {
  if (!backend->needs_watch()) return;
  const std::string& reaction = config.text("TUTTI_ON_HANG");
  on_hang = reaction == "report" ? OnHang::report : reaction == "terminate" ? OnHang::terminate : OnHang::error;
  if (timeout.count() == 0 || timeout >= kShortestWatchedTimeout) {
    hang_time = timeout.count() == 0 ? kDefaultTimeout : timeout;
    timeout = {};
  } else {
    hang_time = kLongestTimeout;  // the backend keeps it
  }
  watcher::add(*this);
  is_watched = true;
}

void CommunicatorState::note_failure(const Error& error) noexcept {
  if (spi::ends_communicator(error.code())) board_entry.fail(error.code(), error.what());
}

Error CommunicatorState::completed(const Error& error) {
  Error whole = failed_before::with_reason(*this, with_ranks(error, rank_names));
  note_failure(whole);
  // Wrong arguments are found before the other ranks are concerned.
  if (whole.code() != ErrorCode::invalid_argument && whole.code() != ErrorCode::unsupported) {
    failed_before::note(*this, whole);
  }
  return whole;
}

Error CommunicatorState::with_mismatch(const Error& error) {
  Error cause = error;
  // An error of the library may follow from calls that do not match. That of another rank is the first one.
  const bool may_follow = error.code() == ErrorCode::backend_failure || error.code() == ErrorCode::invalid_usage;
  if (comparison != nullptr && may_follow) {
    if (auto mismatch = comparison->find_mismatch()) {
      board_entry.fail(mismatch->code(), mismatch->what());
      (void)backend->interrupt(*mismatch);
      if (error.code() != ErrorCode::invalid_usage) cause = std::move(*mismatch);
    }
  }
  const std::string_view text = cause.what();
  if (cause.code() != ErrorCode::invalid_usage || text.find("+0x") != std::string_view::npos) return cause;
  const std::string site = call_site();
  if (site.empty()) return cause;
  return {cause.code(), std::string(text) + "; rank " + std::to_string(rank) + " calls it at " + site, cause.backend(),
          cause.vendor_code()};
}

void CommunicatorState::end_failed_call() {
  try {
    throw;
  } catch (const Error& error) {
    throw Error(completed(with_mismatch(error)));
  } catch (...) {
    const Error error = handled_error(name, rank);
    note_failure(error);
    failed_before::note(*this, error);
    backend->abort();
    throw Error(error);
  }
}

void CallState::leave_after_failure() {
  call_progress->leave_collective(sequence);
  // Every CallState is the part of a CommunicatorState that the compiler of the caller sees.
  static_cast<CommunicatorState*>(this)->end_failed_call();
}

void CommunicatorState::finish_staging() {
  if (!is(kStaging)) return;
  progress->drain();
  clear(kStaging);
}

}  // namespace detail

namespace {

/// The ranks meet, and see each other's progress from then on. `job`: of the parent, empty for a first communicator.
/// Returns a number of the communicator that is the same on all ranks.
std::uint64_t meet_ranks(detail::CommunicatorState& state, std::string_view job) {
  std::vector<std::string> cards;
  state.peers = meet(state.rendezvous, state.board_entry.card(state.id), cards);
  state.peer_progress = detail::PeerProgress(cards, state.peers);
  const detail::CardIdentity identity = detail::identity_of(cards.front());
  state.job = job.empty() ? identity.job : std::string(job);
  const auto self = static_cast<std::size_t>(state.rank);
  state.board_entry.set_identity(state.job, identity.communicator,
                                 state.job_ranks.empty() ? state.rank : state.job_ranks[self],
                                 static_cast<int>(std::ranges::count(state.peers.hosts, state.peers.hosts[self])));
  return identity.communicator;
}

/// Tells the observers of a communicator that is ready for use.
void report(detail::CommunicatorState& state, std::uint64_t parent, std::uint64_t key) {
  state.board_entry.activate(state.backend->name());
  state.begin_comparison();
  state.begin_watch();
  LiveCommunicator live{.id = state.id,
                        .parent = parent,
                        .key = key,
                        .name = state.name,
                        .backend = state.backend->name(),
                        .rank = state.rank,
                        .size = state.size,
                        .hosts = state.peers.hosts};
  // "NAME/BOOT": the second part tells hosts with the same name apart, which is no matter of observers.
  for (std::string& host : live.hosts) host.resize(std::min(host.rfind('/'), host.size()));
  report_created(std::move(live));
  state.is_reported = true;
}

}  // namespace

namespace {

/// Calls make(); its failure is announced to the other ranks of the attempt, which would wait for this one.
template <typename Make>
std::shared_ptr<detail::CommunicatorState> announcing_failure(const Rendezvous& attempt, const std::string& name,
                                                              Make make) {
  try {
    return make();
  } catch (...) {
    attempt.fail(handled_error(name, attempt.rank()).what());
    throw;
  }
}

/// The ranks of the parent that name this color, in their new order.
std::vector<int> members_of(const std::vector<std::string>& answers, int color) {
  std::vector<std::tuple<int, int>> ordered;  // key, rank
  for (int rank = 0; rank < static_cast<int>(answers.size()); ++rank) {
    const std::string& answer = answers[static_cast<std::size_t>(rank)];
    int its_color = -1;
    int its_key = 0;
    const char* end = answer.data() + answer.size();
    const auto color_end = std::from_chars(answer.data(), end, its_color).ptr;
    if (color_end != end) std::from_chars(color_end + 1, end, its_key);
    if (its_color == color) ordered.emplace_back(its_key, rank);
  }
  std::ranges::sort(ordered);
  std::vector<int> members;
  for (const auto& [order, rank] : ordered) members.push_back(rank);
  return members;
}

std::shared_ptr<detail::CommunicatorState> create_of_attempt(const Rendezvous& rendezvous,
                                                             const CommunicatorOptions& options,
                                                             const spi::ForeignHandle* handle) {
  options.config.check();
  start_observer_modules(options.config);
  auto state = std::make_shared<detail::CommunicatorState>(rendezvous, options);
  const std::uint64_t key_on_all_ranks = meet_ranks(*state, {});
  state->local_ranks = local_ranks(state->peers);
  // Ranks that carry out an operation in different ways would wait for each other for ever.
  require_common_settings(rendezvous, state->config, core_settings(), "core");
  const Wanted wanted = wanted_backend(state->config, handle);
  state->selection = select(rendezvous, state->peers, state->config, wanted.spec, true);
  if (state->selection.reason.empty()) state->selection.reason = wanted.reason;
  state->adopt(create(state->selection, {.config = state->config,
                                         .rendezvous = state->rendezvous,
                                         .peers = state->peers,
                                         .handle = handle,
                                         .progress = state->call_progress}));
  // Rank 0 may serve the store and leaves a barrier last: nobody is still reading when it goes on and perhaps ends.
  rendezvous.barrier("created");
  report(*state, 0, key_on_all_ranks);
  return state;
}

std::shared_ptr<detail::CommunicatorState> split_in_attempt(detail::CommunicatorState& parent,
                                                            const Rendezvous& attempt, int color, int key,
                                                            std::string name) {
  const std::string scope = "split" + std::to_string(parent.children++) + "." + std::to_string(color);
  const auto answers = attempt.allgather("split", std::to_string(color) + " " + std::to_string(key));
  if (color < 0) {
    attempt.barrier("split");
    return nullptr;
  }
  const std::vector<int> members = members_of(answers, color);
  CommunicatorOptions options{parent.config,
                              name.empty() ? parent.name + "/" + std::to_string(color) : std::move(name)};
  auto state = std::make_shared<detail::CommunicatorState>(attempt.subset(members, scope), options);
  for (const int rank : members) {
    state->job_ranks.push_back(parent.job_ranks.empty() ? rank : parent.job_ranks[static_cast<std::size_t>(rank)]);
  }
  const std::uint64_t key_on_all_ranks = meet_ranks(*state, parent.job);
  state->rank_names = describe_ranks(state->name, state->job_ranks);
  state->local_ranks = parent.local_ranks;
  state->selection = parent.selection;
  if (const auto& plan = state->selection.plan; plan != nullptr && state->size != parent.size) {
    state->selection.plan = plan->for_ranks(state->size);
  }
  state->adopt(create(state->selection, {.config = state->config,
                                         .rendezvous = state->rendezvous,
                                         .peers = state->peers,
                                         .parent = parent.backend.get(),
                                         .members = members,
                                         .progress = state->call_progress}));
  spi::Ownership::set_ranks(*state->backend, state->rank_names);
  state->membership = parent.membership;
  attempt.barrier("split");
  report(*state, parent.id, key_on_all_ranks);
  return state;
}

}  // namespace

std::shared_ptr<detail::CommunicatorState> create_communicator(const Rendezvous& rendezvous,
                                                               const CommunicatorOptions& options,
                                                               const spi::ForeignHandle* handle) {
  const Rendezvous attempt = rendezvous.attempt();
  return announcing_failure(attempt, options.name, [&] { return create_of_attempt(attempt, options, handle); });
}

std::shared_ptr<detail::CommunicatorState> split_communicator(detail::CommunicatorState& parent, int color, int key,
                                                              std::string name) {
  parent.finish_staging();
  // On the backend first: it carries out what is still under way, and fails at once where the group has failed already.
  Operation meeting;
  meeting.timeout = parent.timeout;
  meeting.sequence = ++parent.sequence;
  const detail::CallScope inside(*parent.call_progress, meeting);
  Emulator(parent.backend->route(meeting), parent.rank, parent.size).run(meeting);
  const Rendezvous attempt = parent.rendezvous.attempt();
  return announcing_failure(attempt, parent.name,
                            [&] { return split_in_attempt(parent, attempt, color, key, std::move(name)); });
}

}  // namespace tutti
