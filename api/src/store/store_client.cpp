#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>

#include "store/deadline.hpp"
#include "store/socket_store.hpp"
#include "store/wire/socket_address.hpp"
#include "store/wire/socket_transfer.hpp"
#include "store/wire/store_handshake.hpp"
#include "tutti/error.hpp"
#include "tutti/rendezvous.hpp"
#include "tutti/spi/abstract_socket.hpp"
#include "tutti/types/operation.hpp"

namespace tutti {
namespace {

constexpr std::chrono::milliseconds kFirstPause{5};
constexpr std::chrono::milliseconds kLongestPause{200};

Hello introduce(const JobMember& member) {
  static const Nonce process = make_nonce();
  Hello hello{.rank = member.rank, .size = member.size, .pid = ::getpid(), .job = short_job_id(member.job_id)};
  std::copy_n(process.begin(), hello.process.size(), hello.process.begin());
  std::array<char, kHostBytes + 1> host{};
  ::gethostname(host.data(), host.size() - 1);
  hello.host = host.data();
  return hello;
}

/// Why the handshake ended without a verdict.
std::string failure_text(Transfer result) {
  return result == Transfer::late ? "a server listens there, but does not answer like a tutti store"
                                  : "the connection was closed during the handshake";
}

void check_member(const JobMember& member) {
  if (member.rank < 0 || member.rank < member.size) return;
  throw Error(ErrorCode::invalid_argument, "rank " + std::to_string(member.rank) + " of " +
                                               std::to_string(member.size) +
                                               " is out of range; accepted: 0 <= rank < size");
}

}  // namespace

std::shared_ptr<Store> open_store(spi::FileDescriptor socket, const std::string& address, std::string_view secret,
                                  const JobMember& member, Deadline deadline, std::string& failure,
                                  const Nonce& nonce) {
  // Transfers return early with the failure.
  const auto is_done = [&failure](Transfer result) {
    if (result != Transfer::done) failure = failure_text(result);
    return result == Transfer::done;
  };
  const auto throw_stranger = [&address] {
    throw Error(ErrorCode::invalid_argument, "the server at " + address + " is not a tutti store of this version");
  };
  HomeDescriptor connection(std::move(socket));
  std::string greeting(kGreetingBytes, '\0');
  if (!is_done(receive_all(connection.get(), greeting, deadline))) return nullptr;
  const std::optional<Nonce> server = decode_greeting(greeting);
  if (!server) throw_stranger();
  const std::string response = make_response(secret, introduce(member), nonce, *server);
  if (!is_done(send_all(connection.get(), response, deadline))) return nullptr;
  std::string verdict_head(kVerdictHeadBytes, '\0');
  if (!is_done(receive_all(connection.get(), verdict_head, deadline))) return nullptr;
  const std::optional<std::size_t> bytes = reason_bytes(verdict_head);
  if (!bytes) throw_stranger();
  std::string reason(*bytes, '\0');
  if (!is_done(receive_all(connection.get(), reason, deadline))) return nullptr;
  switch (decode_verdict(verdict_head, reason, secret, nonce, *server)) {
    case Verdict::welcome:
      break;
    case Verdict::refused:
      throw Error(ErrorCode::invalid_argument, "the job's store at " + address + " refuses this process: " + reason);
    case Verdict::other_secret:
      throw Error(ErrorCode::invalid_argument,
                  "the job's store at " + address + " and this process do not have the same secret (TUTTI_JOB_SECRET)");
  }
  return std::make_shared<SocketStore>(OpenConnection{.socket = std::move(connection),
                                                      .address = address,
                                                      .rank = member.rank,
                                                      .server_rank = member.server_rank,
                                                      .sent = FrameSeal(secret, Role::client, nonce, *server),
                                                      .received = FrameSeal(secret, Role::server, nonce, *server)});
}

std::shared_ptr<Store> connect_store(std::string_view address, std::string_view secret,
                                     std::chrono::nanoseconds timeout, const JobMember& member) {
  const SocketAddress where = SocketAddress::parse(address);
  const std::string text = where.text();
  check_secret(where, secret);
  check_member(member);
  const Deadline deadline = deadline_after(timeout);
  for (std::chrono::nanoseconds pause = kFirstPause;;
       pause = std::min<std::chrono::nanoseconds>(2 * pause, kLongestPause)) {
    Connection connection = connect_to(where, deadline);
    if (connection.socket) {
      if (where.is_unix && !spi::is_of_same_user(connection.socket.get())) {
        throw Error(ErrorCode::invalid_argument, "the server at " + text + " belongs to another user");
      }
      tune_socket(where, connection.socket.get());
      if (auto store = open_store(std::move(connection.socket), text, secret, member, deadline, connection.failure)) {
        return store;
      }
    }
    if (Clock::now() >= deadline) {
      const bool is_served_by_rank = member.server_rank >= 0 && member.server_rank != member.rank;
      throw Error(ErrorCode::timeout, "no connection to the job's store at " + text + " within " +
                                          format_duration(timeout) + ": " + connection.failure +
                                          (is_served_by_rank ? "; rank " + std::to_string(member.server_rank) +
                                                                   " of the job, which serves the store, has not "
                                                                   "come, or has ended"
                                                             : std::string()));
    }
    std::this_thread::sleep_for(std::min(pause, time_left(deadline)));
  }
}

}  // namespace tutti
