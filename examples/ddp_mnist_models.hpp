#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// The models of ddp_mnist.py in C++, and the images.
namespace ddp_mnist {

inline constexpr std::int64_t kClasses = 10;
inline constexpr std::int64_t kSide = 28;

inline torch::nn::Conv2d convolution(std::int64_t inputs, std::int64_t outputs, std::int64_t side,
                                     std::int64_t stride) {
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(inputs, outputs, side).stride(stride).padding(side / 2).bias(false));
}

/// Residual block: two 3x3 convolutions, or 1x1, 3x3 and 1x1 ones that widen by four.
class BlockImpl : public torch::nn::Module {
 public:
  BlockImpl(std::int64_t inputs, std::int64_t width, std::int64_t stride, bool is_wide) {
    const std::int64_t outputs = is_wide ? 4 * width : width;
    using Shapes = std::vector<std::pair<std::int64_t, std::int64_t>>;
    const Shapes shapes = is_wide ? Shapes{{1, 1}, {3, stride}, {1, 1}} : Shapes{{3, stride}, {3, 1}};
    std::int64_t channels = inputs;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const bool is_last = i + 1 == shapes.size();
      const std::int64_t after = is_last ? outputs : width;
      body_->push_back(convolution(channels, after, shapes[i].first, shapes[i].second));
      body_->push_back(torch::nn::BatchNorm2d(after));
      if (!is_last) body_->push_back(torch::nn::ReLU());
      channels = after;
    }
    register_module("body", body_);
    if (stride == 1 && inputs == outputs) return;
    shortcut_->push_back(convolution(inputs, outputs, 1, stride));
    shortcut_->push_back(torch::nn::BatchNorm2d(outputs));
    register_module("shortcut", shortcut_);
  }

  torch::Tensor forward(const torch::Tensor& data) {
    return torch::relu(body_->forward(data) + (shortcut_->is_empty() ? data : shortcut_->forward(data)));
  }

 private:
  torch::nn::Sequential body_;
  torch::nn::Sequential shortcut_;
};
TORCH_MODULE(Block);

/// ResNet for small images: without the pooling at the start. `base` is the width of the first blocks.
inline torch::nn::Sequential resnet(const std::vector<int>& blocks, bool is_wide, std::int64_t base) {
  torch::nn::Sequential layers;
  layers->push_back(convolution(1, base, 3, 1));
  layers->push_back(torch::nn::BatchNorm2d(base));
  layers->push_back(torch::nn::ReLU());
  std::int64_t channels = base;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    const std::int64_t width = base << stage;
    for (int i = 0; i < blocks[stage]; ++i) {
      layers->push_back(Block(channels, width, stage > 0 && i == 0 ? 2 : 1, is_wide));
      channels = is_wide ? 4 * width : width;
    }
  }
  layers->push_back(torch::nn::AdaptiveAvgPool2d(1));
  layers->push_back(torch::nn::Flatten());
  layers->push_back(torch::nn::Linear(channels, kClasses));
  return layers;
}

/// Encoder of 6 layers and 4 heads over the rows of the image.
class TransformerImpl : public torch::nn::Module {
 public:
  explicit TransformerImpl(std::int64_t width)
      : embedding_(register_module("embedding", torch::nn::Linear(kSide, width))),
        position_(register_parameter("position", torch::randn({kSide, 1, width}) * 0.02)),
        encoder_(register_module(
            "encoder",
            torch::nn::TransformerEncoder(torch::nn::TransformerEncoderOptions(
                torch::nn::TransformerEncoderLayerOptions(width, 4).dim_feedforward(2 * width).dropout(0.0), 6)))),
        head_(register_module("head", torch::nn::Linear(width, kClasses))) {}

  torch::Tensor forward(const torch::Tensor& images) {
    const torch::Tensor rows = embedding_->forward(images.squeeze(1)).transpose(0, 1) + position_;
    return head_->forward(encoder_->forward(rows).mean(0));
  }

 private:
  torch::nn::Linear embedding_;
  torch::Tensor position_;
  torch::nn::TransformerEncoder encoder_;
  torch::nn::Linear head_;
};
TORCH_MODULE(Transformer);

/// A model by its name. Throws std::invalid_argument for an unknown one.
inline torch::nn::Sequential make_model(const std::string& name, std::int64_t width) {
  if (name == "resnet18") return resnet({2, 2, 2, 2}, false, width);
  if (name == "resnet50") return resnet({3, 4, 6, 3}, true, width);
  if (name == "resnet101") return resnet({3, 4, 23, 3}, true, width);
  if (name == "transformer") return torch::nn::Sequential(Transformer(4 * width));
  throw std::invalid_argument("--model is resnet18, resnet50, resnet101 or transformer, not " + name);
}

struct Images {
  torch::Tensor pixels;
  torch::Tensor labels;
};

/// Images of ten shapes, moved about and with noise, and their classes.
inline Images make_images(std::int64_t count, std::uint64_t seed) {
  torch::manual_seed(1);
  const torch::Tensor shapes =
      (torch::rand({kClasses, 1, 7, 7}) > 0.5).to(torch::kFloat).repeat_interleave(4, 2).repeat_interleave(4, 3);
  torch::manual_seed(seed);
  const torch::Tensor labels = torch::randint(0, kClasses, {count}, torch::kLong);
  const torch::Tensor moves = torch::randint(-2, 3, {count, 2}, torch::kLong);
  std::vector<torch::Tensor> images;
  for (std::int64_t i = 0; i < count; ++i) {
    const torch::Tensor shape = shapes[labels[i].item<std::int64_t>()];
    images.push_back(shape.roll({moves[i][0].item<std::int64_t>(), moves[i][1].item<std::int64_t>()}, {1, 2}));
  }
  return {torch::stack(images) + 0.5 * torch::randn({count, 1, kSide, kSide}), labels};
}

}  // namespace ddp_mnist
