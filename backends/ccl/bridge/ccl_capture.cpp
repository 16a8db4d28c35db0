#include "bridge/ccl_capture.hpp"

#include <atomic>
#include <iostream>
#include <mutex>
#include <streambuf>
#include <string_view>

namespace tutti::ccl {
namespace {

thread_local std::string* catching = nullptr;  // NOLINT

/// Replaces the buffer of a stream: stores the output of capturing threads and passes on that of the others.
class Filter final : public std::streambuf {
 public:
  explicit Filter(std::ostream& stream) : stream_(stream) {}

  void add_user() {
    const std::lock_guard lock(mutex_);
    if (++users_ > 1 || installed_) return;
    behind_.store(stream_.rdbuf(this));
    installed_ = true;
  }
  void remove_user() {
    const std::lock_guard lock(mutex_);
    // If another buffer was installed meanwhile, it may pass its output to this one, which therefore stays.
    if (--users_ > 0 || stream_.rdbuf() != this) return;
    stream_.rdbuf(behind_.load());
    installed_ = false;
  }

 private:
  int_type overflow(int_type character) override {
    if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(character);
    const char text = traits_type::to_char_type(character);
    return xsputn(&text, 1) == 1 ? character : traits_type::eof();
  }
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    if (catching == nullptr) return behind_.load()->sputn(text, count);
    catching->append(text, static_cast<std::size_t>(count));
    return count;
  }
  int sync() override { return behind_.load()->pubsync(); }

  std::ostream& stream_;
  std::mutex mutex_;
  int users_ = 0;
  bool installed_ = false;
  std::atomic<std::streambuf*> behind_ = nullptr;  ///< kept after removal, for threads that are still writing
};

// Never destroyed: the streams are used until the process ends. oneCCL writes errors to std::cerr, warnings to
// std::cout.
Filter& errors() {
  static auto* filter = new Filter(std::cerr);
  return *filter;
}
Filter& warnings() {
  static auto* filter = new Filter(std::cout);
  return *filter;
}

std::atomic<bool> enabled = false;

}  // namespace

void Capture::enable(bool yes) noexcept { enabled.store(yes, std::memory_order_relaxed); }

Capture::Capture() : outer_(catching), active_(enabled.load(std::memory_order_relaxed)) {
  if (!active_) return;
  errors().add_user();
  warnings().add_user();
  catching = &caught_;
}

Capture::~Capture() {
  if (!active_) return;
  catching = outer_;
  errors().remove_user();
  warnings().remove_user();
}

std::string Capture::text() const {
  constexpr std::string_view kMark = "|CCL_ERROR| ";
  const std::size_t mark = caught_.find(kMark);
  if (mark == std::string::npos) return {};
  const std::size_t begin = mark + kMark.size();
  return caught_.substr(begin, caught_.find('\n', begin) - begin);
}

}  // namespace tutti::ccl
