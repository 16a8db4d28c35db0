// Calls every non-blocking collective that the adapter serves, many at a time, and checks the results. Prints
// "wrong: ..." lines, and at the end a number made of all results.
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

using Values = std::vector<int>;

int failures = 0;
std::uint64_t digest = 14695981039346656037U;

void expect(const char* name, const Values& found, const Values& expected) {
  for (const int one : found) digest = (digest ^ static_cast<std::uint64_t>(one)) * 1099511628211U;
  if (found == expected) return;
  ++failures;
  std::printf("wrong: %s of %zu elements\n", name, found.size());
}

struct Place {
  explicit Place(MPI_Comm made) : comm(made) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
  }
  MPI_Comm comm;
  int rank = 0;
  int size = 1;
};

/// Element `index` of the block that rank `from` has for rank `to`.
int value(int from, int to, int index) { return (from + 1) * 1000 + to * 100 + index % 37; }
Values block(int from, int to, int count) {
  Values made;
  for (int i = 0; i < count; ++i) made.push_back(value(from, to, i));
  return made;
}
/// Blocks of all ranks: `from` and `to` by the number of the rank.
template <typename From, typename To>
Values blocks(const Place& at, int count, From from, To to) {
  Values all;
  for (int rank = 0; rank < at.size; ++rank) {
    const Values one = block(from(rank), to(rank), count);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}
Values sum(const Place& at, int to, int count) {
  Values all(static_cast<std::size_t>(count));
  for (int rank = 0; rank < at.size; ++rank)
    for (int i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] += value(rank, to, i);
  return all;
}

/// All requests of one round, in flight at the same time.
struct Requests {
  std::vector<MPI_Request> list;
  MPI_Request* add() {
    list.push_back(MPI_REQUEST_NULL);
    return &list.back();
  }
  explicit Requests(std::size_t most) { list.reserve(most); }
  void wait() { MPI_Waitall(static_cast<int>(list.size()), list.data(), MPI_STATUSES_IGNORE); }
};

void everything(const Place& at, int count) {
  const int root = at.size - 1;
  const auto self = [&](int) { return at.rank; };
  const auto each = [](int rank) { return rank; };
  const auto none = [](int) { return 0; };
  const Values mine = block(at.rank, 0, count);
  const Values to_all = blocks(at, count, self, each);
  const Values from_all = blocks(at, count, each, self);
  const Values all = blocks(at, count, each, none);
  const Values of_root = blocks(
      at, count, [&](int) { return root; }, each);
  const bool is_root = at.rank == root;
  const Values empty(all.size(), -1);
  const Values gap(mine.size(), -1);
  const Values counts(static_cast<std::size_t>(at.size), count);
  Values places;
  for (int rank = 0; rank < at.size; ++rank) places.push_back(rank * count);

  Requests requests(32);
  Values sums = gap, in_place = mine, at_root = gap, part = gap, part_of_counts = gap, seen = is_root ? mine : gap;
  Values gathered = empty, gathered_v = empty, at_root_all = empty, at_root_all_v = empty, got = gap, got_v = gap;
  Values exchanged = empty, exchanged_v = empty, message = gap;
  const MPI_Comm comm = at.comm;
  MPI_Irecv(message.data(), count, MPI_INT, (at.rank + at.size - 1) % at.size, 4, comm, requests.add());
  MPI_Iallreduce(mine.data(), sums.data(), count, MPI_INT, MPI_SUM, comm, requests.add());
  MPI_Ibarrier(comm, requests.add());
  MPI_Iallreduce(MPI_IN_PLACE, in_place.data(), count, MPI_INT, MPI_SUM, comm, requests.add());
  MPI_Ireduce(mine.data(), at_root.data(), count, MPI_INT, MPI_SUM, root, comm, requests.add());
  MPI_Ireduce_scatter_block(to_all.data(), part.data(), count, MPI_INT, MPI_SUM, comm, requests.add());
  MPI_Ireduce_scatter(to_all.data(), part_of_counts.data(), counts.data(), MPI_INT, MPI_SUM, comm, requests.add());
  MPI_Ibcast(seen.data(), count, MPI_INT, root, comm, requests.add());
  MPI_Iallgather(mine.data(), count, MPI_INT, gathered.data(), count, MPI_INT, comm, requests.add());
  MPI_Iallgatherv(mine.data(), count, MPI_INT, gathered_v.data(), counts.data(), places.data(), MPI_INT, comm,
                  requests.add());
  MPI_Igather(mine.data(), count, MPI_INT, at_root_all.data(), count, MPI_INT, root, comm, requests.add());
  MPI_Igatherv(mine.data(), count, MPI_INT, at_root_all_v.data(), counts.data(), places.data(), MPI_INT, root, comm,
               requests.add());
  MPI_Iscatter(to_all.data(), count, MPI_INT, got.data(), count, MPI_INT, root, comm, requests.add());
  MPI_Iscatterv(to_all.data(), counts.data(), places.data(), MPI_INT, got_v.data(), count, MPI_INT, root, comm,
                requests.add());
  MPI_Ialltoall(to_all.data(), count, MPI_INT, exchanged.data(), count, MPI_INT, comm, requests.add());
  MPI_Ialltoallv(to_all.data(), counts.data(), places.data(), MPI_INT, exchanged_v.data(), counts.data(), places.data(),
                 MPI_INT, comm, requests.add());
  // A blocking call while all of them are in flight; and the message that rank 0 sends after it.
  Values blocking = gap;
  MPI_Allreduce(mine.data(), blocking.data(), count, MPI_INT, MPI_SUM, comm);
  MPI_Isend(mine.data(), count, MPI_INT, (at.rank + 1) % at.size, 4, comm, requests.add());
  requests.wait();

  expect("message among them", message, block((at.rank + at.size - 1) % at.size, 0, count));
  expect("iallreduce", sums, sum(at, 0, count));
  expect("iallreduce in place", in_place, sum(at, 0, count));
  expect("blocking allreduce among them", blocking, sum(at, 0, count));
  if (is_root) expect("ireduce", at_root, sum(at, 0, count));
  expect("ireduce_scatter_block", part, sum(at, at.rank, count));
  expect("ireduce_scatter", part_of_counts, sum(at, at.rank, count));
  expect("ibcast", seen, block(root, 0, count));
  expect("iallgather", gathered, all);
  expect("iallgatherv", gathered_v, all);
  if (is_root) expect("igather", at_root_all, all);
  if (is_root) expect("igatherv", at_root_all_v, all);
  expect("iscatter", got, block(root, at.rank, count));
  expect("iscatterv", got_v, block(root, at.rank, count));
  expect("ialltoall", exchanged, from_all);
  expect("ialltoallv", exchanged_v, from_all);
}

/// Types, and if asked for the communicator and counts, that the program frees or changes before the end of the
/// operation. Open MPI 4.1 itself crashes if the communicator is freed, and changed counts are an error that MPI
/// forgives.
void freed_early(const Place& at, int count, bool is_freed) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(at.comm, &comm);
  Values ones(static_cast<std::size_t>(count), 1);
  for (int round = 0; round < 3; ++round) MPI_Allreduce(MPI_IN_PLACE, ones.data(), count, MPI_INT, MPI_MAX, comm);
  MPI_Datatype spread = MPI_DATATYPE_NULL;
  MPI_Type_vector(count, 1, 2, MPI_INT, &spread);
  MPI_Type_commit(&spread);
  Values wide(static_cast<std::size_t>(2 * count), -1);
  for (int i = 0; i < count && at.rank == 0; ++i) wide[static_cast<std::size_t>(2 * i)] = value(0, 0, i);
  Values sums = block(at.rank, 0, count);
  MPI_Request requests[] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Ibcast(wide.data(), 1, spread, 0, comm, &requests[0]);
  MPI_Iallreduce(MPI_IN_PLACE, sums.data(), count, MPI_INT, MPI_SUM, comm, &requests[1]);
  Values counts(static_cast<std::size_t>(at.size), count);
  Values part(static_cast<std::size_t>(count), -1);
  Values all = blocks(
      at, count, [&](int) { return at.rank; }, [](int rank) { return rank; });
  MPI_Ireduce_scatter(all.data(), part.data(), counts.data(), MPI_INT, MPI_SUM, comm, &requests[2]);
  MPI_Type_free(&spread);
  if (is_freed) {
    MPI_Comm_free(&comm);
    counts.assign(counts.size(), -1);
  }
  int is_done = 0;
  while (is_done == 0) MPI_Testall(3, requests, &is_done, MPI_STATUSES_IGNORE);
  if (!is_freed) MPI_Comm_free(&comm);
  Values expected(wide.size(), -1);
  for (int i = 0; i < count; ++i) expected[static_cast<std::size_t>(2 * i)] = value(0, 0, i);
  expect("ibcast of a type that was freed", wide, expected);
  expect("iallreduce on a communicator that was freed", sums, sum(at, 0, count));
  expect("ireduce_scatter with counts that changed", part, sum(at, at.rank, count));
}

/// A rank that comes to the operation only when another has sent it a message after its own call.
void late_ranks(const Place& at) {
  int token = 1;
  int total = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (at.rank == 0) {
    MPI_Iallreduce(&token, &total, 1, MPI_INT, MPI_SUM, at.comm, &request);
    for (int rank = 1; rank < at.size; ++rank) MPI_Send(&token, 1, MPI_INT, rank, 6, at.comm);
  } else {
    MPI_Recv(&token, 1, MPI_INT, 0, 6, at.comm, MPI_STATUS_IGNORE);
    MPI_Iallreduce(&token, &total, 1, MPI_INT, MPI_SUM, at.comm, &request);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect("iallreduce of late ranks", {total}, {at.size});
}

/// Non-blocking calls before and after one blocking call, which is no reduction.
void issued_only(const Place& at) {
  for (int round = 0; round < 7; ++round) {
    if (round == 3) MPI_Barrier(at.comm);
    int mine = at.rank + round;
    int total = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(&mine, &total, 1, MPI_INT, MPI_SUM, at.comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect("iallreduce of a program without blocking reductions", {total},
           {at.size * (at.size - 1) / 2 + at.size * round});
  }
}

}  // namespace

/// Arguments: the level of threads, 3 (MPI_THREAD_MULTIPLE) or less; "freed": a communicator is freed early; "only":
/// hardly any blocking call.
int main(int count, char** words) {
  const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
  const int wanted = count > 1 ? std::atoi(words[1]) : 3;
  const std::string_view how = count > 2 ? words[2] : "";
  int provided = 0;
  MPI_Init_thread(&count, &words, levels[wanted], &provided);
  const Place at(MPI_COMM_WORLD);
  if (how == "only") {
    issued_only(at);
    MPI_Finalize();
    return failures == 0 ? 0 : 1;
  }
  // The ranks meet at a blocking call.
  int one = 1;
  for (int round = 0; round < 3; ++round) MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_MAX, at.comm);
  for (const int size : {1, 1001, 60007}) everything(at, size);
  freed_early(at, 1003, how == "freed");
  for (int round = 0; round < 20; ++round) late_ranks(at);
  std::printf("digest %d %llx\n", at.rank, static_cast<unsigned long long>(digest));
  std::fflush(stdout);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
