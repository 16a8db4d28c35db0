#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <vector>

#include "store/store_session.hpp"
#include "store/store_table.hpp"
#include "store/wire/socket_address.hpp"
#include "tutti/error.hpp"
#include "tutti/rendezvous.hpp"
#include "tutti/spi/abstract_socket.hpp"
#include "tutti/spi/home_process.hpp"
#include "tutti/spi/thread.hpp"

namespace tutti {
namespace {

// Connections that have not authenticated. A further one takes the place of the oldest that is silent: connections
// that nobody uses must not keep the ranks out. A rank that is dropped under a flood connects again.
constexpr std::size_t kMaxStrangers = 128;
// A flood of connections must not keep the server from reading what the earlier ones have sent.
constexpr int kAcceptsPerTurn = 32;
// Pause before the next accept() when the process has run out of file descriptors.
constexpr std::chrono::milliseconds kExhaustedPause{100};
// The end of a server takes this much longer when ranks have failed: those that still come are to be told which one.
constexpr std::chrono::seconds kWaitForOthers{3};
// So long clients have to take the last notice. A connection that is closed while data of the client is on its way
// may lose the notice.
constexpr std::chrono::milliseconds kWaitForNotice{500};

HomeDescriptor checked(int fd, const char* what) {
  if (fd >= 0) return HomeDescriptor(spi::FileDescriptor(fd));
  throw Error(ErrorCode::system,
              std::string("the job's store cannot create ") + what + ": " + std::generic_category().message(errno), {},
              errno);
}

}  // namespace

struct StoreServer::Impl {
  Impl(std::string_view where, std::string_view secret, const StoreJob& job)
      : waits_for_others(job.is_served_by_rank),
        address(SocketAddress::parse(where)),
        shared{.secret = std::string(secret), .members = {job.id, job.size}} {
    check_secret(address, secret);
    listener = HomeDescriptor(listen_at(address));
    address_text = address.text();
    poll = checked(::epoll_create1(EPOLL_CLOEXEC), "an epoll instance");
    stop = checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "an eventfd");
    watch(EPOLL_CTL_ADD, stop.get(), EPOLLIN);
    watch(EPOLL_CTL_ADD, listener.get(), EPOLLIN);
    thread = spi::start_thread("tutti-store", [this] { run(); });
  }

  ~Impl() {
    const std::uint64_t one = 1;
    while (::write(stop.get(), &one, sizeof one) < 0 && errno == EINTR) {
    }
    thread.join();
  }

  void run() noexcept {
    try {
      while (turn()) {
      }
      say_the_end();
    } catch (const std::exception&) {
      // Out of memory: the closed connections tell waiting clients that the store is gone.
    }
    sessions.clear();
    listener.reset();
  }

  /// Clients can then tell this end from a crash. Where ranks have failed, those that come late are waited for.
  void say_the_end() {
    ::epoll_ctl(poll.get(), EPOLL_CTL_DEL, stop.get(), nullptr);
    last_turn = deadline_after(kWaitForOthers);
    while (waits_for_others && shared.members.must_tell_others() && Clock::now() < last_turn) (void)turn();
    const bool has_failed = shared.members.first_failure().has_value();
    for (const auto& [fd, session] : sessions) session->tell_closing();
    settle();
    last_turn = deadline_after(kWaitForNotice);
    while (has_failed && !sessions.empty() && Clock::now() < last_turn) (void)turn();
  }

  /// Waits for events and handles them; returns false if the server is to stop.
  bool turn() {
    std::array<epoll_event, 64> events;
    const int count =
        ::epoll_wait(poll.get(), events.data(), static_cast<int>(events.size()), poll_timeout(next_deadline()));
    bool go_on = true;
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == stop.get()) {
        go_on = false;
      } else if (fd == listener.get()) {
        accept_clients();
      } else {
        serve(fd, events[static_cast<std::size_t>(i)].events);
      }
    }
    const Deadline now = Clock::now();
    shared.table.expire(now);
    for (const int fd : late_strangers(now)) sessions.erase(fd);
    settle();
    watch_listener(now);
    return go_on;
  }

  void accept_clients() {
    for (int turn = 0; turn < kAcceptsPerTurn; ++turn) {
      spi::FileDescriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket) {
        if (errno == EINTR || errno == ECONNABORTED) continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK) return;
        listen_again = deadline_after(kExhaustedPause);
        drop_stranger();
        return;
      }
      if (address.is_unix && !spi::is_of_same_user(socket.get())) continue;
      if (strangers.size() >= kMaxStrangers) drop_stranger();
      tune_socket(address, socket.get());
      const int fd = socket.get();
      auto session = std::make_unique<StoreSession>(HomeDescriptor(std::move(socket)), shared,
                                                    [this](StoreSession& one) { answered.push_back(one.socket()); });
      session->polled_events = EPOLLIN;
      watch(EPOLL_CTL_ADD, fd, EPOLLIN);
      sessions.emplace(fd, std::move(session));
      strangers.push_back(fd);
    }
  }

  /// Drops the oldest silent stranger, or the oldest one if none is silent.
  void drop_stranger() {
    if (strangers.empty()) return;
    auto oldest = std::find_if(strangers.begin(), strangers.end(), [this](int fd) {
      const auto found = sessions.find(fd);
      return found != sessions.end() && found->second->is_silent();
    });
    if (oldest == strangers.end()) oldest = strangers.begin();
    const auto found = sessions.find(*oldest);
    // A stranger that has authenticated in this turn is none any more; settle() takes it off the list.
    if (found != sessions.end() && found->second->is_authenticated()) return;
    if (found != sessions.end()) sessions.erase(found);
    strangers.erase(oldest);
  }

  void serve(int fd, std::uint32_t events) {
    const auto found = sessions.find(fd);
    if (found == sessions.end()) return;
    StoreSession& session = *found->second;
    if ((events & ~std::uint32_t{EPOLLOUT}) != 0) session.receive();
    answered.push_back(fd);
  }

  /// Sends queued answers and removes the sessions that are over. Sessions of ranks are destroyed only here, never
  /// while another session is being served.
  void settle() {
    for (std::size_t i = 0; i < answered.size(); ++i) {
      const auto found = sessions.find(answered[i]);
      if (found == sessions.end()) continue;
      StoreSession& session = *found->second;
      size.store(shared.table.size(), std::memory_order_relaxed);  // before clients get their answers
      session.flush();
      if (session.is_over()) {
        const bool is_lost = session.lose_rank();
        sessions.erase(found);
        if (is_lost) tell_lost();
        continue;
      }
      const std::uint32_t wanted = (session.wants_to_receive() ? std::uint32_t{EPOLLIN} : 0U) |
                                   (session.wants_to_send() ? std::uint32_t{EPOLLOUT} : 0U);
      if (wanted == session.polled_events) continue;
      session.polled_events = wanted;
      watch(EPOLL_CTL_MOD, found->first, wanted);
    }
    size.store(shared.table.size(), std::memory_order_relaxed);
    answered.clear();
    std::erase_if(strangers, [this](int fd) {
      const auto found = sessions.find(fd);
      return found == sessions.end() || found->second->is_authenticated();
    });
  }

  void tell_lost() {
    shared.table.end_waits();
    for (const auto& [fd, session] : sessions) session->tell_lost();
  }

  [[nodiscard]] std::vector<int> late_strangers(Deadline now) const {
    std::vector<int> late;
    for (const int fd : strangers) {
      const auto found = sessions.find(fd);
      if (found == sessions.end() || found->second->is_authenticated()) continue;
      if (found->second->handshake_deadline() <= now) late.push_back(fd);
    }
    return late;
  }

  [[nodiscard]] Deadline next_deadline() const noexcept {
    Deadline next = std::min({shared.table.next_deadline(), listen_again, last_turn});
    for (const int fd : strangers) {
      const auto found = sessions.find(fd);
      if (found != sessions.end()) next = std::min(next, found->second->handshake_deadline());
    }
    return next;
  }

  void watch_listener(Deadline now) noexcept {
    if (listen_again <= now) listen_again = Deadline::max();
    const bool wanted = listen_again == Deadline::max();
    if (wanted == listening) return;
    listening = wanted;
    watch(EPOLL_CTL_MOD, listener.get(), wanted ? std::uint32_t{EPOLLIN} : 0U);
  }

  void watch(int action, int fd, std::uint32_t events) const noexcept {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    ::epoll_ctl(poll.get(), action, fd, &event);
  }

  spi::HomeProcess home;
  bool waits_for_others;
  SocketAddress address;
  std::string address_text;
  std::atomic<std::size_t> size = 0;
  HomeDescriptor listener;
  HomeDescriptor poll;
  HomeDescriptor stop;
  bool listening = true;
  Deadline listen_again = Deadline::max();  ///< end of a pause of accept(); max: no pause
  Deadline last_turn = Deadline::max();     ///< end of the wait for clients before the server ends; max: it serves
  StoreShared shared;                       // outlives the sessions, whose destructors use it
  std::unordered_map<int, std::unique_ptr<StoreSession>> sessions;
  std::vector<int> strangers;  ///< sessions that have not authenticated
  std::vector<int> answered;   ///< sessions with data to flush
  std::thread thread;
};

StoreServer::StoreServer(std::string_view address, std::string_view secret, const StoreJob& job)
    : impl_(std::make_unique<Impl>(address, secret, job)) {}

StoreServer::~StoreServer() {
  // A child made by fork() does not have the thread, and its descriptors are closed.
  if (!impl_->home.is_here()) (void)impl_.release();
}

const std::string& StoreServer::address() const noexcept { return impl_->address_text; }

std::size_t StoreServer::size() const noexcept { return impl_->size.load(std::memory_order_relaxed); }

}  // namespace tutti
