#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string_view>

#include "session/recorder.hpp"
#include "sources/common/outermost_call.hpp"
#include "base/interpose/own_caller.hpp"

namespace tutti::profiling {

using interpose::is_own_caller;

/// Purpose of a function, for the tracing mode.
enum class Purpose : std::uint8_t {
  operation,  ///< a collective, a message, a group of these
  setup,      ///< everything else
  question,   ///< only asks for something, at a high rate
};

/// A function of a library: its name in tables. A constant-initialised static object.
class LibraryFunctionName {
 public:
  constexpr LibraryFunctionName(const char* name, Purpose purpose) noexcept : name_(name), purpose_(purpose) {}
  [[nodiscard]] Purpose purpose() const noexcept { return purpose_; }
  [[nodiscard]] NameId id() noexcept {
    // Relaxed: threads that meet here get the same number from the recorder.
    NameId id = id_.load(std::memory_order_relaxed);
    if (id == 0) id_.store(id = intern(name_), std::memory_order_relaxed);
    return id;
  }

 private:
  const char* name_;
  Purpose purpose_;
  std::atomic<NameId> id_ = 0;
};

/// Communicators of a library by their handles. Lookups take no lock.
class LibraryCommunicators {
 public:
  struct Entry {
    CommunicatorId id = 0;
    std::uint64_t key = 0;
    std::uint32_t ranks = 0;
    std::atomic<std::uint64_t> collectives = 0;
    std::atomic<std::uint64_t> children = 0;
  };

  [[nodiscard]] Entry* find(const void* handle) noexcept {
    for (std::size_t i = 0; i < kSlots; ++i) {
      Slot& slot = slots_[(hash(handle) + i) % kSlots];
      // Acquire: the entry is there for whoever sees the handle.
      const void* key = slot.handle.load(std::memory_order_acquire);
      if (key == handle) return &slot.entry;
      if (key == nullptr) break;
    }
    return nullptr;
  }
  /// Null if there is no room.
  Entry* add(const void* handle, std::uint64_t key, int rank, int size) noexcept {
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < kSlots; ++i) {
      Slot& slot = slots_[(hash(handle) + i) % kSlots];
      const void* known = slot.handle.load(std::memory_order_relaxed);
      if (known != nullptr && known != kRemoved && known != handle) continue;
      slot.handle.store(kRemoved, std::memory_order_relaxed);
      slot.entry.id = add_communicator({.key = key, .rank = rank, .size = size});
      slot.entry.key = key;
      slot.entry.ranks = static_cast<std::uint32_t>(size);
      slot.entry.collectives.store(0, std::memory_order_relaxed);
      slot.entry.children.store(0, std::memory_order_relaxed);
      slot.handle.store(handle, std::memory_order_release);
      return &slot.entry;
    }
    return nullptr;
  }
  void remove(const void* handle) noexcept {
    const std::scoped_lock lock(mutex_);
    for (Slot& slot : slots_) {
      if (slot.handle.load(std::memory_order_relaxed) == handle) slot.handle.store(kRemoved, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr std::size_t kSlots = 1024;
  static inline const char kPlace = 0;
  static constexpr const void* kRemoved = &kPlace;
  struct Slot {
    std::atomic<const void*> handle = nullptr;
    Entry entry;
  };
  [[nodiscard]] static std::size_t hash(const void* handle) noexcept {
    return (reinterpret_cast<std::uintptr_t>(handle) * 0x9E3779B97F4A7C15U) >> 40;
  }
  std::array<Slot, kSlots> slots_ = {};
  std::mutex mutex_;  ///< of changes
};

/// A mixture of two numbers, for keys of communicators that all ranks derive alike.
[[nodiscard]] constexpr std::uint64_t mixed_key(std::uint64_t first, std::uint64_t second) noexcept {
  std::uint64_t mixed = (first ^ (second + 0x9E3779B97F4A7C15U + (first << 6) + (first >> 2))) * 0xBF58476D1CE4E5B9U;
  mixed ^= mixed >> 31;
  return mixed == 0 ? 1 : mixed;
}
/// FNV-1a, of bytes that all ranks have alike.
[[nodiscard]] inline std::uint64_t bytes_key(const void* data, std::size_t bytes) noexcept {
  std::uint64_t key = 0xCBF29CE484222325U;
  const auto* at = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) key = (key ^ at[i]) * 0x100000001B3U;
  return key == 0 ? 1 : key;
}

/// A library of collectives as a source reports it. `Library` has the constants kSource, kTitle, kLevel and kLeaf.
template <typename Library>
class CollectiveLibrary {
 public:
  /// Whether a call that the program makes is to be recorded now.
  [[nodiscard]] static bool wants(Purpose purpose) noexcept {
    if (!is_recording() || !is_wanted()) return false;
    switch (tracing_mode()) {
      case TracingMode::minimal:
        return purpose == Purpose::operation;
      case TracingMode::standard:
        return purpose != Purpose::question;
      case TracingMode::full:
        return true;
    }
    return true;
  }
  [[nodiscard]] static SourceId source() noexcept {
    static const SourceId id = add_source(Library::kTitle, Library::kLevel);
    return id;
  }
  [[nodiscard]] static LibraryCommunicators& communicators() noexcept {
    // Never destroyed: libraries are called until the process ends.
    static auto* const all = new LibraryCommunicators;
    return *all;
  }

 private:
  [[nodiscard]] static bool is_wanted() noexcept {
    static const bool wanted = source_wanted(Library::kSource);
    return wanted;
  }
};

/// One call of a library's function by the program, recorded when the object ends; an exception that leaves the call
/// makes it an error.
template <typename Library>
class ObservedCall {
 public:
  /// An operation in this call; `counts`: a collective, which is numbered.
  struct Operation {
    std::string_view name;
    std::string_view type;
    std::uint64_t bytes = 0;          ///< count x size of the type
    std::uint64_t message_bytes = 0;  ///< the larger of input and output
    LibraryCommunicators::Entry* communicator = nullptr;
    bool counts = true;
  };

  ObservedCall(LibraryFunctionName& function, const void* caller) noexcept
      : function_(function),
        is_active_(outermost_ && CollectiveLibrary<Library>::wants(function.purpose()) && !is_own_caller(caller)),
        exceptions_(std::uncaught_exceptions()) {
    if (is_active_) begin_ns_ = now_ns();
  }
  ~ObservedCall() {
    if (!is_active_) return;
    const std::uint64_t end = now_ns();
    if (error_ == 0 && std::uncaught_exceptions() > exceptions_) error_ = -1;
    const ContextId context = context_ != 0 ? context_ : current_context();
    scope_.reset();
    Record event{.kind = Kind::host,
                 .source = CollectiveLibrary<Library>::source(),
                 .name = function_.id(),
                 .context = context,
                 .error = error_,
                 .begin_ns = begin_ns_,
                 .end_ns = end,
                 .bytes = bytes_};
    record(event);
    if (operation_ == 0) return;
    event.kind = Kind::operation;
    event.name = operation_;
    event.communicator = communicator_;
    event.sequence = sequence_;
    record(event);
  }
  ObservedCall(const ObservedCall&) = delete;
  ObservedCall& operator=(const ObservedCall&) = delete;

  /// Whether the call is recorded: only then facts about it are needed.
  [[nodiscard]] explicit operator bool() const noexcept { return is_active_; }
  /// Whether the program makes the call, recorded or not: communicators are known before a session begins.
  [[nodiscard]] bool is_of_program(const void* caller) const noexcept { return outermost_ && !is_own_caller(caller); }
  void fail(int error) noexcept { error_ = error; }
  void set_bytes(std::uint64_t bytes) noexcept { bytes_ = bytes; }

  void set(const Operation& op) noexcept {
    bytes_ = op.bytes;
    operation_ = intern(op.name);
    if (op.communicator != nullptr) {
      communicator_ = op.communicator->id;
      // Relaxed: calls on one communicator are serialised by the program.
      if (op.counts) sequence_ = op.communicator->collectives.fetch_add(1, std::memory_order_relaxed) + 1;
    }
    context_ = add_context({.operation = op.name,
                            .type = op.type,
                            .backend = Library::kLeaf,
                            .bytes = op.message_bytes,
                            .ranks = op.communicator == nullptr ? 0 : op.communicator->ranks});
    scope_.emplace(context_);
  }

 private:
  OutermostCall<Library> outermost_;
  LibraryFunctionName& function_;
  bool is_active_;
  int exceptions_;
  int error_ = 0;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t sequence_ = 0;
  NameId operation_ = 0;
  ContextId context_ = 0;
  CommunicatorId communicator_ = 0;
  std::optional<ContextScope> scope_;
};

}  // namespace tutti::profiling
