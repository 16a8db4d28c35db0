// Fuzzer of the reader of profiling sessions: files of a process that were cut off and changed in one to eight places.
// Every file must end in a profile without a reference that leads nowhere.
//
//   session_fuzz [--runs N] [--seed S] [--first I]
//
// Input I of a seed is always the same: a failure names I, and --first I --runs 1 repeats it.
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "report/session_reader.hpp"
#include "session/file_layout.hpp"

namespace tutti::profiling {
namespace {

using namespace layout;
using Random = std::mt19937_64;

constexpr std::uint32_t kBlocks = 6;

void require(bool holds, const char* invariant) {
  if (!holds) throw std::logic_error(invariant);
}

/// A file as the recorder writes it, with one block of each type and two of rows.
class Image {
 public:
  Image() : bytes_(kBlocks * kBlockBytes, '\0') {
    Header header = {};
    header.magic = kMagic;
    header.version = kVersion;
    header.block_bytes = kBlockBytes;
    header.pid = 42;
    header.blocks = kBlocks;
    std::strcpy(header.host, "host");
    put(0, header);
    for (std::uint16_t type = 1; type < kDescriptionTypes; ++type) describe(static_cast<DescriptionType>(type));
    put(kBlockBytes, BlockHeader{.type = BlockType::descriptions, .used = used_});
    for (const std::uint32_t block : {2U, 3U}) {
      put(block * kBlockBytes, BlockHeader{.type = BlockType::rows, .used = 6, .thread = 7});
      for (std::uint8_t kind = 0; kind < 6; ++kind) {
        Row row = {};
        row.key = {.kind = kind, .source = 1, .name = 1, .context = 1, .device = 1, .region = 2};
        row.calls = 3;
        row.errors = 1;
        row.buckets[17] = 2;
        put(block * kBlockBytes + sizeof(BlockHeader) + kind * sizeof(Row), row);
      }
    }
    put(4 * kBlockBytes, BlockHeader{.type = BlockType::events, .used = 20, .thread = 7});
    for (std::uint32_t i = 0; i < 20; ++i) {
      put(4 * kBlockBytes + sizeof(BlockHeader) + i * sizeof(Event),
          Event{.begin_ns = 100 - i, .end_ns = 100, .row = row_place(2 + i % 2, i % 6), .operation = 1ULL << 48 | i});
    }
    put(5 * kBlockBytes, BlockHeader{.type = BlockType::balances, .used = 1});
    put(5 * kBlockBytes + sizeof(BlockHeader), Balance{.source = 1, .name = 1, .device = 1, .held = 5, .peak = 9});
  }

  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

 private:
  template <typename Part>
  void put(std::size_t at, const Part& part) {
    std::memcpy(bytes_.data() + at, &part, sizeof part);
  }
  void describe(DescriptionType type) {
    for (std::uint32_t number = 1; number <= 2; ++number) {
      constexpr std::string_view text = "text";
      const std::size_t at = kBlockBytes + sizeof(BlockHeader) + used_;
      put(at, Entry{.type = type, .entry_bytes = sizeof(Entry) + 8, .number = number, .a = number, .lengths = {4}});
      std::memcpy(bytes_.data() + at + sizeof(Entry), text.data(), text.size());
      used_ += sizeof(Entry) + 8;
    }
  }

  std::string bytes_;
  std::uint32_t used_ = 0;
};

std::size_t below(Random& random, std::size_t limit) { return static_cast<std::size_t>(random() % limit); }

/// Somewhere in the header, in the header of a block, in its first elements, or anywhere.
std::size_t place(Random& random, std::size_t size) {
  const std::size_t block = below(random, kBlocks) * kBlockBytes;
  switch (below(random, 4)) {
    case 0:
      return below(random, 256) % size;
    case 1:
      return (block + below(random, sizeof(BlockHeader))) % size;
    case 2:
      return (block + sizeof(BlockHeader) + below(random, 1500)) % size;
    default:
      return below(random, size);
  }
}

void mutate(std::string& bytes, Random& random) {
  if (bytes.empty()) return;
  const std::size_t at = place(random, bytes.size());
  switch (below(random, 8)) {
    case 0:
      bytes.resize(at);
      break;
    case 1:
      bytes[at] = static_cast<char>(random());
      break;
    case 2:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(random, 8)));
      break;
    case 3: {  // a block in place of another
      const std::size_t from = below(random, bytes.size());
      const std::size_t count = std::min({kBlockBytes, bytes.size() - from, bytes.size() - at});
      std::memmove(bytes.data() + at, bytes.data() + from, count);
      break;
    }
    default: {  // a number, often near a limit
      const std::size_t aligned = at / 4 * 4;
      const std::array<std::uint64_t, 7> numbers = {0, 1, 15, 341, UINT32_MAX, UINT64_MAX, random()};
      const std::uint64_t number = numbers[below(random, numbers.size())];
      const std::size_t width = std::min<std::size_t>(below(random, 2) == 0 ? 4 : 8, bytes.size() - aligned);
      std::memcpy(bytes.data() + aligned, &number, width);
    }
  }
}

template <typename Rows>
void require_index(int index, const Rows& rows, const char* invariant) {
  require(index >= -1 && index < static_cast<int>(rows.size()), invariant);
}

void check(const Profile& profile) {
  for (const TallyRow& row : profile.rows) {
    require(static_cast<std::size_t>(row.kind) < kKindCount, "a row has no kind");
    require_index(row.source, profile.sources, "a row has a source that does not exist");
    require_index(row.device, profile.devices, "a row has a device that does not exist");
    require_index(row.context, profile.contexts, "a row has a context that does not exist");
    require(row.process == 0, "a row has a process that does not exist");
  }
  for (const EventRow& event : profile.events) {
    require(static_cast<std::size_t>(event.kind) < kKindCount, "an event has no kind");
    require_index(event.source, profile.sources, "an event has a source that does not exist");
    require_index(event.device, profile.devices, "an event has a device that does not exist");
    require_index(event.context, profile.contexts, "an event has a context that does not exist");
    require_index(event.communicator, profile.communicators, "an event has a communicator that does not exist");
    require(event.name < profile.names.size() && event.region < profile.names.size(), "an event has no name");
    require(event.end_ns >= event.begin_ns, "an event ends before it begins");
  }
  for (const MemoryRow& memory : profile.memory) {
    require_index(memory.source, profile.sources, "memory has a source that does not exist");
    require_index(memory.device, profile.devices, "memory has a device that does not exist");
  }
  require(profile.events.size() <= 20 + 6 * kEventsPerBlock, "there are more events than the file has room for");
  require(profile.rows.size() <= 6 * kRowsPerBlock, "there are more rows than the file has room for");
  require(!profile.processes.empty() || !profile.warnings.empty(), "a file is left out without a warning");
  for (const std::string& name : profile.names) {
    require(name.find_first_of(std::string_view("\0\n\x1b", 3)) == std::string::npos, "a name has control characters");
  }
}

/// A folder that is removed at the end.
struct Folder {
  std::string path = (std::filesystem::temp_directory_path() / "tutti-fuzz-XXXXXX").string();
  Folder() {
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary folder");
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

void try_input(const Image& image, const std::string& folder, std::uint64_t seed) {
  Random random(seed);
  std::string bytes = image.bytes();
  if (seed % 1000 != 0) {
    for (std::size_t steps = 1 + below(random, 8); steps > 0; --steps) mutate(bytes, random);
  }
  // A new file each time: some file systems write a file that is truncated to the disk at once.
  const std::string path = folder + "/process" + kFileSuffix;
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary) << bytes;
  const Profile profile = read_session(folder, {.events = below(random, 8) != 0});
  const bool discarded = bytes.size() >= sizeof(Header) && profile.processes.empty() && profile.warnings.empty();
  if (!discarded) check(profile);
  if (seed % 1000 == 0) {
    require(profile.warnings.empty() && profile.rows.size() == 6 && profile.memory.size() == 1,
            "a file without damage is not read whole");
  }
}

}  // namespace
}  // namespace tutti::profiling

int main(int count, char** arguments) {
  std::uint64_t runs = 20'000;
  std::uint64_t seed = 1;
  std::uint64_t first = 0;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view option = arguments[i];
    std::uint64_t* value = option == "--runs"    ? &runs
                           : option == "--seed"  ? &seed
                           : option == "--first" ? &first
                                                 : nullptr;
    if (value == nullptr) {
      std::fprintf(stderr, "usage: session_fuzz [--runs N] [--seed S] [--first I]\n");
      return 2;
    }
    *value = std::strtoull(arguments[i + 1], nullptr, 10);
  }
  const tutti::profiling::Folder folder;
  const tutti::profiling::Image image;
  for (std::uint64_t i = first; i < first + runs; ++i) {
    try {
      tutti::profiling::try_input(image, folder.path, seed * 1'000'000'000 + i);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "input %llu: %s\n", static_cast<unsigned long long>(i), error.what());
      return 1;
    }
  }
  return 0;
}
