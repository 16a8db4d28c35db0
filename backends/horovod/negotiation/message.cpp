#include "negotiation/message.hpp"

#include <array>
#include <cstring>

#include "tutti/error.hpp"

namespace tutti::horovod {

namespace {

class Writer {
 public:
  explicit Writer(std::vector<std::byte>& bytes) : bytes_(bytes) {}

  template <typename T>
  void value(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    raw(&value, sizeof value);
  }
  template <typename T>
  void list(const std::vector<T>& values) {
    value(static_cast<std::uint32_t>(values.size()));
    raw(values.data(), values.size() * sizeof(T));
  }
  void text(std::string_view text) {
    value(static_cast<std::uint32_t>(text.size()));
    raw(text.data(), text.size());
  }

 private:
  void raw(const void* data, std::size_t size) {
    if (size == 0) return;
    const std::size_t at = bytes_.size();
    bytes_.resize(at + size);
    std::memcpy(bytes_.data() + at, data, size);
  }

  std::vector<std::byte>& bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  [[nodiscard]] T value() {
    T value{};
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  template <typename Enum>
  [[nodiscard]] Enum choice(std::size_t choices) {
    const auto number = value<std::uint8_t>();
    if (number >= choices) fail();
    return static_cast<Enum>(number);
  }
  template <typename T>
  void list(std::vector<T>& values) {
    const std::size_t count = length(sizeof(T));
    values.resize(count);
    if (count > 0) std::memcpy(values.data(), take(count * sizeof(T)), count * sizeof(T));
  }
  [[nodiscard]] std::string text() {
    const std::size_t count = length(1);
    return {reinterpret_cast<const char*>(take(count)), count};
  }
  /// A number of items of at least `size` bytes each.
  [[nodiscard]] std::size_t length(std::size_t size) {
    const auto count = value<std::uint32_t>();
    if (count > bytes_.size() / size) fail();
    return count;
  }
  void require_end() const {
    if (!bytes_.empty()) fail();
  }

 private:
  [[noreturn]] static void fail() {
    throw Error(ErrorCode::backend_failure,
                "a message of the negotiation is malformed; do all ranks have the same version of tutti?", "horovod");
  }
  const std::byte* take(std::size_t size) {
    if (size > bytes_.size()) fail();
    const std::byte* data = bytes_.data();
    bytes_ = bytes_.subspan(size);
    return data;
  }

  std::span<const std::byte> bytes_;
};

constexpr std::size_t kMessageKinds = 10;
constexpr std::size_t kSmallestRequest = 48;

void write(Writer& out, const Request& request) {
  out.value(static_cast<std::uint8_t>(request.kind));
  out.value(static_cast<std::uint8_t>(request.type));
  out.value(static_cast<std::uint8_t>(request.reduction));
  out.value(static_cast<std::uint8_t>(request.op));
  out.value(static_cast<std::uint8_t>(request.cacheable));
  out.value(request.root);
  out.value(request.group_size);
  out.value(request.priority);
  out.value(request.prescale);
  out.value(request.postscale);
  out.text(request.name);
  out.text(request.group);
  out.text(request.memory);
  out.list(request.shape);
  out.list(request.splits);
}

Request read_request(Reader& in) {
  Request request;
  request.kind = in.choice<MessageKind>(kMessageKinds);
  request.type = in.choice<DataType>(kDataTypeCount);
  request.reduction = in.choice<Reduction>(kReductionCount);
  request.op = in.choice<OpKind>(kOpKindCount);
  request.cacheable = in.value<std::uint8_t>() != 0;
  request.root = in.value<std::int32_t>();
  request.group_size = in.value<std::uint32_t>();
  request.priority = in.value<std::int32_t>();
  request.prescale = in.value<double>();
  request.postscale = in.value<double>();
  request.name = in.text();
  request.group = in.text();
  request.memory = in.text();
  in.list(request.shape);
  in.list(request.splits);
  return request;
}

enum Flag : std::uint8_t { kShutdown = 1, kParameters = 2 };

}  // namespace

std::string_view name(MessageKind kind) noexcept {
  constexpr std::array<std::string_view, kMessageKinds> names = {
      "ALLREDUCE", "ALLGATHER", "BROADCAST", "JOIN", "ADASUM", "ALLTOALL", "BARRIER", "REDUCESCATTER", "CALL", "ERROR"};
  return names[static_cast<std::size_t>(kind)];
}

std::uint64_t Request::elements() const noexcept {
  std::uint64_t product = 1;
  for (const std::int64_t dimension : shape) product *= static_cast<std::uint64_t>(dimension);
  return product;
}

std::uint64_t Request::row_elements() const noexcept {
  std::uint64_t product = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) product *= static_cast<std::uint64_t>(shape[i]);
  return product;
}

std::uint64_t Response::elements(std::size_t tensor) const noexcept {
  if (kind != MessageKind::allgather) return counts[tensor];
  const std::size_t ranks = sizes.size() / names.size();
  std::uint64_t rows = 0;
  for (std::size_t i = tensor * ranks; i < (tensor + 1) * ranks; ++i) rows += static_cast<std::uint64_t>(sizes[i]);
  return rows * row_counts[tensor];
}

std::uint64_t Response::bytes() const noexcept {
  std::uint64_t sum = 0;
  for (std::size_t tensor = 0; tensor < counts.size(); ++tensor) sum += elements(tensor);
  return sum * size_of(type);
}

void serialize(const RoundMessage& message, std::vector<std::byte>& bytes) {
  Writer out(bytes);
  out.value(static_cast<std::uint8_t>((message.shutdown ? kShutdown : 0) | (message.has_parameters ? kParameters : 0)));
  if (message.has_parameters) {
    out.value(message.parameters.fusion_threshold);
    out.value(message.parameters.partition);
    out.value(message.parameters.cycle_ns);
    out.value(static_cast<std::uint8_t>(message.parameters.cache));
    out.value(static_cast<std::uint8_t>(message.parameters.is_tuning));
    out.value(message.parameters.best_score);
    out.value(message.parameters.inner);
  }
  out.list(message.hits);
  out.list(message.invalid);
  out.value(static_cast<std::uint32_t>(message.requests.size()));
  for (const Request* request : message.requests) write(out, *request);
}

RoundMessage parse(std::span<const std::byte> bytes) {
  Reader in(bytes);
  RoundMessage message;
  const auto flags = in.value<std::uint8_t>();
  message.shutdown = (flags & kShutdown) != 0;
  message.has_parameters = (flags & kParameters) != 0;
  if (message.has_parameters) {
    message.parameters.fusion_threshold = in.value<std::uint64_t>();
    message.parameters.partition = in.value<std::uint64_t>();
    message.parameters.cycle_ns = in.value<std::uint64_t>();
    message.parameters.cache = in.value<std::uint8_t>() != 0;
    message.parameters.is_tuning = in.value<std::uint8_t>() != 0;
    message.parameters.best_score = in.value<double>();
    message.parameters.inner = in.value<std::uint32_t>();
  }
  in.list(message.hits);
  in.list(message.invalid);
  const std::size_t requests = in.length(kSmallestRequest);
  message.received.reserve(requests);
  for (std::size_t i = 0; i < requests; ++i) message.received.push_back(read_request(in));
  in.require_end();
  return message;
}

std::string describe_shape(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (const std::int64_t dimension : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(dimension);
  return text + "]";
}

}  // namespace tutti::horovod
