#include "report/process_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace tutti::profiling {
namespace {

using layout::BlockHeader;
using layout::BlockType;
using layout::Entry;
using layout::Header;
using layout::kBlockBytes;

class Reader {
 public:
  Reader(const std::filesystem::path& path, bool events);
  ~Reader() { close(file_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  [[nodiscard]] ProcessFile read();
  [[nodiscard]] const Header& read_header();

 private:
  using Block = std::array<char, kBlockBytes>;

  [[nodiscard]] std::size_t read_at(char* to, std::size_t bytes, std::uint64_t offset) const;
  void list_blocks();
  void note(const std::string& problem) {
    if (content_.problem.empty()) content_.problem = problem;
  }
  // Reads a listed block; the content is cut at what the block says is used, if it can be.
  [[nodiscard]] BlockHeader read_block(std::uint32_t number, Block& block, std::size_t element_bytes);
  void read_events(std::uint32_t number, Block& block);
  void read_rows(std::uint32_t number, Block& block);
  void read_balances(std::uint32_t number, Block& block);
  void read_descriptions(std::uint32_t number, Block& block);

  std::string path_;
  int file_;
  bool events_;
  ProcessFile content_;
  std::array<std::vector<std::uint32_t>, 5> blocks_;  // numbers, by type
};

std::runtime_error failure(const std::string& path, const std::string& state) {
  return std::runtime_error("session file " + path + " " + state);
}

std::string error_text() { return std::generic_category().message(errno); }

Reader::Reader(const std::filesystem::path& path, bool events)
    : path_(path.string()),
      file_(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)),
      events_(events) {
  if (file_ < 0) throw failure(path_, "cannot be opened: " + error_text());
}

std::size_t Reader::read_at(char* to, std::size_t bytes, std::uint64_t offset) const {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = pread(file_, to + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw failure(path_, "cannot be read: " + error_text());
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

const Header& Reader::read_header() {
  struct stat status = {};
  if (fstat(file_, &status) != 0) throw failure(path_, "cannot be examined: " + error_text());
  if (!S_ISREG(status.st_mode)) throw failure(path_, "is no regular file");
  content_.file_bytes = static_cast<std::uint64_t>(status.st_size);
  Header& header = content_.header;
  if (read_at(reinterpret_cast<char*>(&header), sizeof header, 0) < sizeof header) {
    throw failure(path_, "is cut off within its header; nothing of it can be used");
  }
  if (header.magic == 0) throw failure(path_, "has no header yet; its process was ended while it began, or begins now");
  if (header.magic != layout::kMagic) throw failure(path_, "is not a file of a tutti profiling session");
  if (header.version != layout::kVersion) {
    throw failure(path_, "has version " + std::to_string(header.version) + " of the format; this tutti reads version " +
                             std::to_string(layout::kVersion));
  }
  if (header.block_bytes != kBlockBytes) {
    throw failure(path_, "has blocks of " + std::to_string(header.block_bytes) + " bytes, expected " +
                             std::to_string(kBlockBytes));
  }
  header.host[sizeof header.host - 1] = 0;
  header.command[sizeof header.command - 1] = 0;
  header.problem[sizeof header.problem - 1] = 0;
  return header;
}

void Reader::list_blocks() {
  for (auto& list : blocks_) list.clear();
  std::uint32_t blocks = 0;
  if (read_at(reinterpret_cast<char*>(&blocks), sizeof blocks, offsetof(Header, blocks)) < sizeof blocks) return;
  for (std::uint32_t number = 1; number < blocks; ++number) {
    const std::uint64_t offset = number * std::uint64_t{kBlockBytes};
    BlockHeader header = {};
    if (read_at(reinterpret_cast<char*>(&header), sizeof header, offset) < sizeof header) {
      note("it is cut off at byte " + std::to_string(offset) + "; later records are lost");
      return;
    }
    const auto type = static_cast<std::size_t>(header.type);
    if (type == 0 || type >= blocks_.size()) {
      note("it is damaged at byte " + std::to_string(offset) + "; later records are lost");
      return;
    }
    blocks_[type].push_back(number);
  }
}

BlockHeader Reader::read_block(std::uint32_t number, Block& block, std::size_t element_bytes) {
  const std::uint64_t offset = number * std::uint64_t{kBlockBytes};
  const std::size_t got = read_at(block.data(), block.size(), offset);
  BlockHeader header = {};
  if (got < sizeof header) return header;
  std::memcpy(&header, block.data(), sizeof header);
  const std::size_t room = (got - sizeof header) / element_bytes;
  if (header.used > room) {
    note("it is " + std::string(got < block.size() ? "cut off" : "damaged") + " in the block at byte " +
         std::to_string(offset) + "; records are lost");
    header.used = static_cast<std::uint32_t>(room);
  }
  return header;
}

void Reader::read_events(std::uint32_t number, Block& block) {
  const BlockHeader header = read_block(number, block, sizeof(layout::Event));
  const char* at = block.data() + sizeof header;
  for (std::uint32_t i = 0; i < header.used; ++i, at += sizeof(layout::Event)) {
    ProcessFile::Event& added = content_.events.emplace_back();
    std::memcpy(&added.event, at, sizeof added.event);
    added.thread = header.thread;
  }
}

void Reader::read_rows(std::uint32_t number, Block& block) {
  const BlockHeader header = read_block(number, block, sizeof(layout::Row));
  content_.last_ns = std::max(content_.last_ns, header.last_ns);
  content_.dropped += header.dropped;
  content_.dropped_events += header.dropped_events;
  const char* at = block.data() + sizeof header;
  for (std::uint32_t slot = 0; slot < header.used; ++slot, at += sizeof(layout::Row)) {
    ProcessFile::Row& added = content_.rows.emplace_back();
    std::memcpy(&added.row, at, sizeof added.row);
    added.place = layout::row_place(number, slot);
    added.thread = header.thread;
  }
}

void Reader::read_balances(std::uint32_t number, Block& block) {
  const BlockHeader header = read_block(number, block, sizeof(layout::Balance));
  const char* at = block.data() + sizeof header;
  for (std::uint32_t i = 0; i < header.used; ++i, at += sizeof(layout::Balance)) {
    std::memcpy(&content_.balances.emplace_back(), at, sizeof(layout::Balance));
  }
}

void Reader::read_descriptions(std::uint32_t number, Block& block) {
  const BlockHeader header = read_block(number, block, 1);
  std::size_t at = sizeof header;
  const std::size_t end = at + header.used;
  while (at < end) {
    Entry entry = {};
    std::size_t texts = 0;
    if (end - at >= sizeof entry) {
      std::memcpy(&entry, block.data() + at, sizeof entry);
      for (const std::uint16_t length : entry.lengths) texts += length;
    }
    if (entry.entry_bytes < sizeof entry + texts || entry.entry_bytes > end - at) {
      note("a description is damaged in the block at byte " + std::to_string(number * std::uint64_t{kBlockBytes}) +
           "; names are missing");
      return;
    }
    ProcessFile::Text& added = content_.descriptions.emplace_back();
    added.entry = entry;
    const char* text = block.data() + at + sizeof entry;
    for (std::size_t i = 0; i < layout::kTexts; ++i) {
      added.texts[i].assign(text, entry.lengths[i]);
      text += entry.lengths[i];
    }
    at += entry.entry_bytes;
  }
}

ProcessFile Reader::read() {
  static_cast<void>(read_header());
  // The process writes descriptions before rows that refer to them, and rows before events that do: read the other way
  // round, everything has what it refers to.
  auto block = std::make_unique<Block>();
  list_blocks();
  if (events_) {
    for (const std::uint32_t number : blocks_[static_cast<std::size_t>(BlockType::events)]) read_events(number, *block);
    list_blocks();
  }
  for (const std::uint32_t number : blocks_[static_cast<std::size_t>(BlockType::rows)]) read_rows(number, *block);
  list_blocks();
  for (const std::uint32_t number : blocks_[static_cast<std::size_t>(BlockType::balances)]) {
    read_balances(number, *block);
  }
  for (const std::uint32_t number : blocks_[static_cast<std::size_t>(BlockType::descriptions)]) {
    read_descriptions(number, *block);
  }
  content_.dropped += content_.header.dropped;
  content_.dropped_events += content_.header.dropped_events;
  return std::move(content_);
}

}  // namespace

std::vector<std::filesystem::path> process_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().string().ends_with(layout::kFileSuffix)) files.push_back(at->path());
  }
  if (error) throw std::runtime_error("session folder " + folder.string() + " cannot be read: " + error.message());
  std::sort(files.begin(), files.end());
  return files;
}

Header read_process_header(const std::filesystem::path& path) { return Reader(path, false).read_header(); }

ProcessFile read_process_file(const std::filesystem::path& path, bool events) { return Reader(path, events).read(); }

}  // namespace tutti::profiling
