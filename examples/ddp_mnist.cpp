// Data-parallel training over tutti with PyTorch's C++ interface; the twin of ddp_mnist.py.
//
//   tutti run -n 2 -- ddp_mnist                       # ResNet-18
//   tutti run -n 3 -- ddp_mnist --model resnet50 --epochs 2
//   tutti run -n 4 -- ddp_mnist --table               # speed-up for 1 to 4 ranks, with and without collectives
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <thread>

#include "ddp_mnist_models.hpp"
#include "tutti/tutti.hpp"

namespace {

using ddp_mnist::Images;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

struct Options {
  std::string model = "resnet18";
  std::int64_t epochs = 4;
  std::int64_t images = 0;  ///< per rank and epoch
  std::int64_t batch = 0;   ///< images per rank and step
  std::int64_t width = 16;  ///< of the first layers
  std::int64_t report = 10;
  std::int64_t warm_up = 2;  ///< first steps that are not timed
  std::int64_t bucket_bytes = 25 << 20;
  double rate = 0.002;
  bool is_table = false;
};

Options parse(int count, char** words) {
  Options options;
  const std::map<std::string, std::int64_t*> numbers = {{"--epochs", &options.epochs}, {"--images", &options.images},
                                                        {"--batch", &options.batch},   {"--width", &options.width},
                                                        {"--report", &options.report}, {"--warm-up", &options.warm_up}};
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--table") {
      options.is_table = true;
    } else if (i + 1 < count && word == "--model") {
      options.model = words[++i];
    } else if (const auto number = numbers.find(word); i + 1 < count && number != numbers.end()) {
      *number->second = std::stoll(words[++i]);
    } else {
      throw std::invalid_argument("option " + word + " is unknown or lacks its value");
    }
  }
  if (options.images == 0) options.images = options.is_table ? 320 : 640;
  if (options.batch == 0) options.batch = options.is_table ? 8 : 32;
  return options;
}

/// The gradients of some parameters, one after the other, which are averaged together as soon as the last is there.
class Bucket {
 public:
  /// Registers itself with the parameters; must stay where it is.
  Bucket(std::vector<torch::Tensor> parameters, const tutti::Communicator& comm)
      : parameters_(std::move(parameters)), comm_(comm) {
    std::int64_t count = 0;
    for (const torch::Tensor& parameter : parameters_) count += parameter.numel();
    flat_ = torch::empty({count});
    std::int64_t offset = 0;
    for (torch::Tensor& parameter : parameters_) {
      torch::Tensor part = flat_.narrow(0, offset, parameter.numel()).view(parameter.sizes());
      offset += parameter.numel();
      parts_.push_back(part);
      parameter.register_hook([this, part](const torch::Tensor& gradient) { arrive(part, gradient); });
    }
  }
  Bucket(const Bucket&) = delete;
  Bucket& operator=(const Bucket&) = delete;

  /// After the backward pass: waits and gives the averages to the parameters.
  void finish() {
    work_.wait();
    arrived_ = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) parameters_[i].mutable_grad() = parts_[i];
  }

 private:
  void arrive(torch::Tensor part, const torch::Tensor& gradient) {
    part.copy_(gradient);
    if (++arrived_ < parts_.size()) return;
    const auto count = static_cast<std::uint64_t>(flat_.numel());
    work_ = comm_.allreduce(tutti::Buffer(flat_.data_ptr<float>(), count, tutti::DataType::float32),
                            {.op = tutti::Reduction::average, .async = true});
  }

  std::vector<torch::Tensor> parameters_;
  const tutti::Communicator& comm_;
  torch::Tensor flat_;
  std::vector<torch::Tensor> parts_;
  std::size_t arrived_ = 0;
  tutti::Work work_;
};

/// A model, and its training with or without collectives. Without, each rank trains a model of its own.
class Training {
 public:
  Training(const Options& options, const tutti::Communicator* comm)
      : model_((torch::manual_seed(3), ddp_mnist::make_model(options.model, options.width))),
        optimizer_(model_->parameters(),
                   torch::optim::AdamOptions(options.rate * (comm == nullptr ? 1 : comm->size()))) {
    if (comm == nullptr) return;
    // The last layers' gradients come first.
    std::vector<torch::Tensor> parameters = model_->parameters();
    std::vector<torch::Tensor> group;
    std::int64_t bytes = 0;
    for (auto parameter = parameters.rbegin(); parameter != parameters.rend(); ++parameter) {
      comm->broadcast(tutti::Buffer(parameter->data_ptr<float>(), static_cast<std::uint64_t>(parameter->numel()),
                                    tutti::DataType::float32),
                      0);
      group.push_back(*parameter);
      bytes += static_cast<std::int64_t>(parameter->nbytes());
      if (bytes < options.bucket_bytes && std::next(parameter) != parameters.rend()) continue;
      buckets_.push_back(std::make_unique<Bucket>(std::move(group), *comm));
      group.clear();
      bytes = 0;
    }
  }

  /// Trains with a batch; returns the seconds.
  double step(const torch::Tensor& images, const torch::Tensor& labels) {
    const auto begin = Clock::now();
    // The gradients themselves are views of the buckets.
    for (torch::Tensor& parameter : model_->parameters()) parameter.mutable_grad() = torch::Tensor();
    torch::nn::functional::cross_entropy(model_->forward(images), labels).backward();
    for (const auto& bucket : buckets_) bucket->finish();
    optimizer_.step();
    return seconds_since(begin);
  }

  double accuracy(const Images& images) {
    const torch::NoGradGuard no_gradients;
    model_->eval();
    std::int64_t right = 0;
    const auto pixels = images.pixels.split(64);
    const auto labels = images.labels.split(64);
    for (std::size_t i = 0; i < pixels.size(); ++i)
      right += model_->forward(pixels[i]).argmax(1).eq(labels[i]).sum().item<std::int64_t>();
    model_->train();
    return static_cast<double>(right) / static_cast<double>(images.labels.numel());
  }

 private:
  torch::nn::Sequential model_;
  torch::optim::Adam optimizer_;
  std::vector<std::unique_ptr<Bucket>> buckets_;
};

/// Trains and prints the images per second of all ranks since the first steps, tests excluded.
void train(const Options& options, const tutti::Communicator& comm) {
  Training training(options, &comm);
  const Images images = ddp_mnist::make_images(options.images, 100 + static_cast<std::uint64_t>(comm.rank()));
  const Images tests = ddp_mnist::make_images(options.images / 4, 99);
  if (comm.rank() == 0)
    std::printf("# %s, %d ranks, batch %lld per rank, over %s\n\n", options.model.c_str(), comm.size(),
                static_cast<long long>(options.batch), std::string(comm.backend()).c_str());
  double counted = 0;
  std::int64_t steps = 0;
  for (std::int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    const auto begin = Clock::now();
    torch::manual_seed(static_cast<std::uint64_t>(epoch));
    for (const torch::Tensor& part : torch::randperm(options.images, torch::kLong).split(options.batch)) {
      const double time = training.step(images.pixels.index_select(0, part), images.labels.index_select(0, part));
      if (++steps > options.warm_up) counted += time;
      if (comm.rank() != 0 || steps <= options.warm_up || steps % options.report != 0) continue;
      const auto all = static_cast<double>(comm.size() * options.batch * (steps - options.warm_up));
      std::printf("- Step%lld: %.2f data/sec\n", static_cast<long long>(steps), all / counted);
      std::fflush(stdout);
    }
    const double trained = seconds_since(begin);
    const double accuracy = training.accuracy(tests);
    if (comm.rank() == 0)
      std::printf("- Epoch %lld in %.2f sec, test time %.2f sec, test accuracy:%.4f\n", static_cast<long long>(epoch),
                  trained, seconds_since(begin) - trained, accuracy);
  }
}

struct Rates {
  double alone = 0;
  double together = 0;
};

/// Trains without and with collectives, a step of each in turns; images per second of all ranks, by the median steps.
Rates compare(const Options& options, const tutti::Communicator& comm) {
  Training trainings[] = {Training(options, nullptr), Training(options, &comm)};
  const Images images = ddp_mnist::make_images(options.images, 100 + static_cast<std::uint64_t>(comm.rank()));
  std::vector<double> times[2];
  for (const torch::Tensor& part : torch::arange(options.images, torch::kLong).split(options.batch))
    for (const int kind : {0, 1})
      times[kind].push_back(
          trainings[kind].step(images.pixels.index_select(0, part), images.labels.index_select(0, part)));
  std::vector<double> medians;
  for (std::vector<double>& list : times) {
    list.erase(list.begin(), list.begin() + std::min(options.warm_up, static_cast<std::int64_t>(list.size()) - 1));
    const auto middle = list.begin() + static_cast<std::ptrdiff_t>(list.size() / 2);
    std::nth_element(list.begin(), middle, list.end());
    medians.push_back(*middle);
  }
  comm.allreduce(medians, {.op = tutti::Reduction::average});
  const auto all = static_cast<double>(comm.size() * options.batch);
  return {all / medians[0], all / medians[1]};
}

void print_table(const Options& options, const tutti::Communicator& world) {
  if (world.rank() == 0)
    std::printf(
        "# %s, batch %lld per rank, %u cores\n\n"
        "| ranks | without collectives, data/sec | speed-up | with collectives, data/sec | speed-up | "
        "with/without |\n|---|---|---|---|---|---|\n",
        options.model.c_str(), static_cast<long long>(options.batch), std::thread::hardware_concurrency());
  double base = 0;
  for (int size = 1; size <= world.size(); ++size) {
    const tutti::Communicator comm = world.split(world.rank() < size ? 0 : 1);
    if (world.rank() < size) {
      const Rates rates = compare(options, comm);
      if (size == 1) base = rates.alone;
      if (world.rank() == 0)
        std::printf("| %d | %.2f | %.2fx | %.2f | %.2fx | %.0f %% |\n", size, rates.alone, rates.alone / base,
                    rates.together, rates.together / base, 100 * rates.together / rates.alone);
      std::fflush(stdout);
    }
    // The ranks that wait leave the cores to the others.
    tutti::Work done = world.barrier({.async = true});
    while (!done.ready()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    done.wait();
  }
}

}  // namespace

int main(int count, char** words) {
  try {
    const Options options = parse(count, words);
    torch::set_num_threads(1);
    const tutti::Communicator comm = tutti::world();
    options.is_table ? print_table(options, comm) : train(options, comm);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
