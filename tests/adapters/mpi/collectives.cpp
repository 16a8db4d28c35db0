// Calls every collective that the adapter serves, in many forms, and some that it passes on, and checks the results.
// Prints "wrong: ..." lines, and at the end a number made of all results, which must not depend on the adapter.
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

int failures = 0;
std::uint64_t digest = 14695981039346656037U;

template <typename T>
void expect(const char* name, int count, const std::vector<T>& found, const std::vector<T>& expected) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(found.data());
  for (std::size_t i = 0; i < found.size() * sizeof(T); ++i) digest = (digest ^ bytes[i]) * 1099511628211U;
  if (found == expected) return;
  ++failures;
  std::printf("wrong: %s of %d elements\n", name, count);
}

struct Place {
  MPI_Comm comm;
  int rank = 0;
  int size = 1;
  explicit Place(MPI_Comm made) : comm(made) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
  }
};

int value(int rank, int index) { return (rank + 1) * 7 + index % 31; }
std::vector<int> values(int rank, int count) {
  std::vector<int> made(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) made[static_cast<std::size_t>(i)] = value(rank, i);
  return made;
}
std::vector<int> sums(const Place& at, int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  for (int rank = 0; rank < at.size; ++rank)
    for (int i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] += value(rank, i);
  return all;
}
/// Inputs of all ranks one after the other.
std::vector<int> joined(const Place& at, int count) {
  std::vector<int> all;
  for (int rank = 0; rank < at.size; ++rank) {
    const std::vector<int> one = values(rank, count);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}
std::vector<int> part(const std::vector<int>& all, int first, int count) {
  return {all.begin() + first, all.begin() + first + count};
}

/// Blocks of different lengths; that of rank 0 is empty.
void uneven_reductions(const Place& at, int count) {
  std::vector<int> counts;
  int before = 0;
  int all_counts = 0;
  for (int rank = 0; rank < at.size; ++rank) {
    counts.push_back(rank * count);
    if (rank < at.rank) before += rank * count;
    all_counts += rank * count;
  }
  const int own = counts[static_cast<std::size_t>(at.rank)];
  std::vector<int> all = values(at.rank, all_counts);
  const std::vector<int> total = sums(at, all_counts);
  std::vector<int> out(static_cast<std::size_t>(own), -1);
  MPI_Reduce_scatter(all.data(), out.data(), counts.data(), MPI_INT, MPI_SUM, at.comm);
  expect("reduce_scatter of different blocks", count, out, part(total, before, own));
  MPI_Reduce_scatter(MPI_IN_PLACE, all.data(), counts.data(), MPI_INT, MPI_SUM, at.comm);
  expect("reduce_scatter of different blocks in place", count, part(all, 0, own), part(total, before, own));
}

void reductions(const Place& at, int count, int root) {
  const std::vector<int> mine = values(at.rank, count);
  std::vector<int> out(mine.size(), -1);
  MPI_Allreduce(mine.data(), out.data(), count, MPI_INT, MPI_SUM, at.comm);
  expect("allreduce", count, out, sums(at, count));
  out = mine;
  MPI_Allreduce(MPI_IN_PLACE, out.data(), count, MPI_INT, MPI_SUM, at.comm);
  expect("allreduce in place", count, out, sums(at, count));
  out = mine;
  MPI_Allreduce(MPI_IN_PLACE, out.data(), count, MPI_INT, MPI_MAX, at.comm);
  expect("allreduce max", count, out, values(at.size - 1, count));
  out.assign(mine.size(), -1);
  MPI_Reduce(mine.data(), at.rank == root ? out.data() : nullptr, count, MPI_INT, MPI_SUM, root, at.comm);
  expect("reduce", count, out, at.rank == root ? sums(at, count) : std::vector<int>(mine.size(), -1));
  // Root 0: MPICH 4.0 reads MPI_IN_PLACE as an address where the root is another rank.
  out = mine;
  MPI_Reduce(at.rank == 0 ? MPI_IN_PLACE : mine.data(), out.data(), count, MPI_INT, MPI_SUM, 0, at.comm);
  expect("reduce in place", count, out, at.rank == 0 ? sums(at, count) : mine);

  std::vector<int> all = values(at.rank, count * at.size);
  const std::vector<int> total = sums(at, count * at.size);
  out.assign(mine.size(), -1);
  MPI_Reduce_scatter_block(all.data(), out.data(), count, MPI_INT, MPI_SUM, at.comm);
  expect("reduce_scatter_block", count, out, part(total, count * at.rank, count));
  const std::vector<int> counts(static_cast<std::size_t>(at.size), count);
  MPI_Reduce_scatter(MPI_IN_PLACE, all.data(), counts.data(), MPI_INT, MPI_SUM, at.comm);
  expect("reduce_scatter in place", count, part(all, 0, count), part(total, count * at.rank, count));
  uneven_reductions(at, count);

  std::vector<double> real(mine.begin(), mine.end());
  MPI_Allreduce(MPI_IN_PLACE, real.data(), count, MPI_DOUBLE, MPI_MIN, at.comm);
  const std::vector<int> first = values(0, count);
  expect("allreduce of doubles", count, real, std::vector<double>(first.begin(), first.end()));
  MPI_Scan(mine.data(), out.data(), count, MPI_INT, MPI_SUM, at.comm);
  Place lower = at;
  lower.size = at.rank + 1;
  expect("scan", count, out, sums(lower, count));
}

void own_operation(void* in, void* in_out, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i)
    static_cast<int*>(in_out)[i] = std::max(static_cast<int*>(in)[i], static_cast<int*>(in_out)[i]);
}

/// Operations and types that are passed on, between others that are served.
void passed_on(const Place& at, int count) {
  MPI_Op own = MPI_OP_NULL;
  MPI_Op_create(&own_operation, 1, &own);
  std::vector<int> out = values(at.rank, count);
  MPI_Allreduce(MPI_IN_PLACE, out.data(), count, MPI_INT, own, at.comm);
  expect("allreduce with an operation of the program", count, out, values(at.size - 1, count));
  MPI_Op_free(&own);
  MPI_Request request = MPI_REQUEST_NULL;
  std::vector<int> later = values(at.rank, count);
  MPI_Iallreduce(MPI_IN_PLACE, later.data(), count, MPI_INT, MPI_SUM, at.comm, &request);
  out = values(at.rank, count);
  MPI_Allreduce(MPI_IN_PLACE, out.data(), count, MPI_INT, MPI_SUM, at.comm);
  expect("allreduce during iallreduce", count, out, sums(at, count));
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect("iallreduce", count, later, sums(at, count));
}

void movements(const Place& at, int count, int root) {
  const std::vector<int> mine = values(at.rank, count);
  const std::vector<int> all = joined(at, count);
  const std::vector<int> empty(all.size(), -1);
  std::vector<int> out = mine;
  MPI_Bcast(out.data(), count, MPI_INT, root, at.comm);
  expect("bcast", count, out, values(root, count));
  out = empty;
  MPI_Allgather(mine.data(), count, MPI_INT, out.data(), count, MPI_INT, at.comm);
  expect("allgather", count, out, all);
  out = empty;
  std::copy(mine.begin(), mine.end(), out.begin() + count * at.rank);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out.data(), count, MPI_INT, at.comm);
  expect("allgather in place", count, out, all);
  out = empty;
  MPI_Gather(mine.data(), count, MPI_INT, out.data(), count, MPI_INT, root, at.comm);
  expect("gather", count, out, at.rank == root ? all : empty);
  out = empty;
  std::copy(mine.begin(), mine.end(), out.begin() + count * at.rank);
  MPI_Gather(at.rank == root ? MPI_IN_PLACE : mine.data(), count, MPI_INT, out.data(), count, MPI_INT, root, at.comm);
  if (at.rank == root) expect("gather in place", count, out, all);
  out.assign(mine.size(), -1);
  MPI_Scatter(at.rank == root ? all.data() : nullptr, count, MPI_INT, out.data(), count, MPI_INT, root, at.comm);
  expect("scatter", count, out, mine);
  out = at.rank == root ? all : std::vector<int>(mine.size(), -1);
  MPI_Scatter(all.data(), count, MPI_INT, at.rank == root ? MPI_IN_PLACE : out.data(), count, MPI_INT, root, at.comm);
  expect("scatter in place", count, out, at.rank == root ? all : mine);
  const std::vector<int> sent = values(at.rank, count * at.size);
  std::vector<int> received;
  for (int rank = 0; rank < at.size; ++rank) {
    const std::vector<int> block = part(values(rank, count * at.size), count * at.rank, count);
    received.insert(received.end(), block.begin(), block.end());
  }
  out = empty;
  MPI_Alltoall(sent.data(), count, MPI_INT, out.data(), count, MPI_INT, at.comm);
  expect("alltoall", count, out, received);
  out = sent;
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out.data(), count, MPI_INT, at.comm);
  expect("alltoall in place", count, out, received);
}

/// Vector forms: rank r has count + r elements, blocks lie in reverse order with gaps.
void vectors(const Place& at, int count, int root) {
  std::vector<int> counts;
  std::vector<int> places(static_cast<std::size_t>(at.size));
  for (int rank = 0; rank < at.size; ++rank) counts.push_back(count + rank);
  int end = 0;
  for (int rank = at.size - 1; rank >= 0; --rank) {
    places[static_cast<std::size_t>(rank)] = end;
    end += counts[static_cast<std::size_t>(rank)] + 2;
  }
  std::vector<int> all(static_cast<std::size_t>(end), -1);
  for (int rank = 0; rank < at.size; ++rank) {
    const std::vector<int> block = values(rank, count + rank);
    std::copy(block.begin(), block.end(), all.begin() + places[static_cast<std::size_t>(rank)]);
  }
  const std::vector<int> mine = values(at.rank, count + at.rank);
  const int own = count + at.rank;
  const std::vector<int> empty(all.size(), -1);
  std::vector<int> out = empty;
  MPI_Allgatherv(mine.data(), own, MPI_INT, out.data(), counts.data(), places.data(), MPI_INT, at.comm);
  expect("allgatherv", count, out, all);
  out = empty;
  MPI_Gatherv(mine.data(), own, MPI_INT, out.data(), counts.data(), places.data(), MPI_INT, root, at.comm);
  expect("gatherv", count, out, at.rank == root ? all : empty);
  out.assign(mine.size(), -1);
  MPI_Scatterv(all.data(), counts.data(), places.data(), MPI_INT, out.data(), own, MPI_INT, root, at.comm);
  expect("scatterv", count, out, mine);
  // Everybody sends its own block to everybody.
  const std::vector<int> same(static_cast<std::size_t>(at.size), own);
  const std::vector<int> here(static_cast<std::size_t>(at.size), 0);
  out = empty;
  MPI_Alltoallv(mine.data(), same.data(), here.data(), MPI_INT, out.data(), counts.data(), places.data(), MPI_INT,
                at.comm);
  expect("alltoallv", count, out, all);
}

/// The root has another type than the others, of the same signature.
void derived_types(const Place& at, int count, int root) {
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Type_vector(count, 1, 2, MPI_INT, &column);
  MPI_Type_commit(&column);
  const std::vector<int> block = values(root, count);
  std::vector<int> spread(static_cast<std::size_t>(2 * count), -1);
  for (int i = 0; i < count; ++i) spread[static_cast<std::size_t>(2 * i)] = block[static_cast<std::size_t>(i)];
  std::vector<int> out(block.size(), -1);
  if (at.rank == root) {
    MPI_Bcast(spread.data(), 1, column, root, at.comm);
  } else {
    MPI_Bcast(out.data(), count, MPI_INT, root, at.comm);
    expect("bcast from a derived type", count, out, block);
  }
  std::vector<int> wide(static_cast<std::size_t>(2 * count), -1);
  if (at.rank == root) {
    MPI_Bcast(const_cast<int*>(block.data()), count, MPI_INT, root, at.comm);
  } else {
    MPI_Bcast(wide.data(), 1, column, root, at.comm);
    expect("bcast to a derived type", count, wide, spread);
  }
  const std::vector<int> mine = values(at.rank, count);
  out.assign(static_cast<std::size_t>(count * at.size), -1);
  std::vector<int> own(static_cast<std::size_t>(2 * count), -1);
  for (int i = 0; i < count; ++i) own[static_cast<std::size_t>(2 * i)] = mine[static_cast<std::size_t>(i)];
  // Not MPI_Allgather: Intel MPI 2021.18 mixes up the elements of such a type.
  MPI_Gather(own.data(), 1, column, out.data(), count, MPI_INT, root, at.comm);
  if (at.rank == root) expect("gather of a derived type", count, out, joined(at, count));
  MPI_Type_free(&column);
}

/// A message that needs the sender's progress while the sender is in a collective that is served.
void progress(const Place& at) {
  if (at.size < 2 || at.rank > 1) return;
  MPI_Comm pair = MPI_COMM_NULL;
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group two = MPI_GROUP_NULL;
  const int members[] = {0, 1};
  MPI_Comm_group(at.comm, &all);
  MPI_Group_incl(all, 2, members, &two);
  MPI_Comm_create_group(at.comm, two, 5, &pair);
  constexpr int kCount = 1 << 20;  // far beyond what is sent without the receiver
  std::vector<int> data = values(at.rank, kCount);
  int one = 1;
  for (int round = 0; round < 5; ++round) {
    if (at.rank == 0) {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Isend(data.data(), kCount, MPI_INT, 1, 3, pair, &request);
      MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_MAX, pair);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(data.data(), kCount, MPI_INT, 0, 3, pair, MPI_STATUS_IGNORE);
      MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_MAX, pair);
    }
  }
  expect("message during a collective", kCount, data, values(0, kCount));
  MPI_Group_free(&all);
  MPI_Group_free(&two);
  MPI_Comm_free(&pair);
}

void signed_bytes(const Place& at) {
  std::vector<signed char> bytes(1001, 100);
  MPI_Allreduce(MPI_IN_PLACE, bytes.data(), 1001, MPI_SIGNED_CHAR, MPI_SUM, at.comm);
  // Modular; Open MPI's own sums saturate, therefore this is no part of the digest.
  const auto sum = static_cast<signed char>(100 * at.size);
  if (std::count(bytes.begin(), bytes.end(), sum) != 1001) std::printf("note: sums of bytes saturate\n");
}

void everything(MPI_Comm comm) {
  const Place at(comm);
  for (const int count : {0, 1, 3, 1001, 40003}) {
    const int root = count % at.size;
    reductions(at, count, root);
    movements(at, count, root);
    vectors(at, count, root);
    passed_on(at, count);
    if (count > 0) derived_types(at, count, root);
  }
  MPI_Barrier(comm);
}

void threads(int number) {
  std::vector<MPI_Comm> comms(static_cast<std::size_t>(number));
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::vector<std::thread> workers;
  std::vector<int> wrong(comms.size());
  for (std::size_t i = 0; i < comms.size(); ++i) {
    workers.emplace_back([&, i] {
      const Place at(comms[i]);
      for (int round = 0; round < 50; ++round) {
        std::vector<int> data = values(at.rank, 5003);
        MPI_Allreduce(MPI_IN_PLACE, data.data(), 5003, MPI_INT, MPI_SUM, at.comm);
        wrong[i] += data != sums(at, 5003);
        MPI_Bcast(data.data(), 5003, MPI_INT, round % at.size, at.comm);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  expect("collectives of threads", 5003, wrong, std::vector<int>(comms.size()));
}

}  // namespace

int main(int count, char** words) {
  int provided = 0;
  MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &provided);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  everything(MPI_COMM_WORLD);
  everything(MPI_COMM_SELF);
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  everything(made);
  MPI_Comm_free(&made);
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, -rank, &made);
  everything(made);
  MPI_Comm_free(&made);
  int periodic = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &made);
  everything(made);
  MPI_Comm_free(&made);
  // Communicators that end at once, whose handles come again.
  for (int round = 0; round < 20; ++round) {
    MPI_Comm_split(MPI_COMM_WORLD, round % 3 == 0 ? rank : 0, 0, &made);
    const Place at(made);
    std::vector<int> data = values(at.rank, 11);
    MPI_Allreduce(MPI_IN_PLACE, data.data(), 11, MPI_INT, MPI_SUM, made);
    expect("allreduce on a short-lived communicator", 11, data, sums(at, 11));
    MPI_Comm_free(&made);
  }
  progress(Place(MPI_COMM_WORLD));
  signed_bytes(Place(MPI_COMM_WORLD));
  if (provided == MPI_THREAD_MULTIPLE) threads(2);
  std::printf("digest %d %llx\n", rank, static_cast<unsigned long long>(digest));
  std::fflush(stdout);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
