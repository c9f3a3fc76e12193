#include "model/random_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"
#include "base/threads.h"
#include "model/families.h"
#include "model/stored_values.h"

namespace assay {
namespace {

Distribution distribution(const Value& value, const ModelConfig& config) {
  const double gain = 1 - config.norm_shift;
  if (value.shape.size() == 1) return {0, 0, value.name.ends_with(".bias") ? 0.0F : static_cast<float>(gain)};
  return config.family->initial(value, config);
}

/// Inverse of the standard normal distribution function (Acklam's rational approximation, relative error below
/// 1.15e-9): one uniform in, one normal out, so that an element depends on nothing but its own number.
double normal_quantile(double p) {
  constexpr double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                          1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02, 6.680131188771972e+01,
                          -1.328068155288572e+01};
  constexpr double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                          -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00};
  constexpr double low = 0.02425;
  if (p > 1 - low) return -normal_quantile(1 - p);
  if (p < low) {
    const double q = std::sqrt(-2 * std::log(p));
    return (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
           ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
  }
  const double q = p - 0.5;
  const double r = q * q;
  return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
         (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

/// Share of the standard normal distribution below -cut.
double tail(double cut) {
  return cut == 0 ? 0 : 0.5 * std::erfc(cut / std::sqrt(2.0));
}

void draw(const Distribution& from, std::uint64_t seed, std::uint64_t stream, std::span<float> out) {
  const double edge = tail(from.cut);
  const auto blocks = static_cast<std::int64_t>((out.size() + 3) / 4);
  parallel_for(blocks, 1 << 12, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const auto bits = philox(seed, stream, static_cast<std::uint64_t>(block));
      for (std::size_t lane = 0; lane < 4 && static_cast<std::size_t>(block) * 4 + lane < out.size(); ++lane) {
        const double p = (static_cast<double>(bits[lane]) + 0.5) * 0x1p-32;
        const double normal = normal_quantile(edge + p * (1 - 2 * edge));
        out[static_cast<std::size_t>(block) * 4 + lane] = static_cast<float>(from.deviation * normal);
      }
    }
  });
}

WeightData generate(const Distribution& from, std::uint64_t seed, std::uint64_t stream, const Shape& shape) {
  Tensor values(DType::f32, shape);
  const std::span<float> out(values.as<float>(), static_cast<std::size_t>(values.count()));
  if (from.deviation == 0) {
    std::fill(out.begin(), out.end(), from.constant);
  } else {
    draw(from, seed, stream, out);
  }
  return owning(std::move(values));
}

}  // namespace

Distribution initial_normal(const Value&, const ModelConfig& config) {
  return {config.initializer_range, 0, 0};
}

/// FNV-1a.
std::uint64_t stream_of(const std::string& name) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

Weights random_weights(const Program& program, const ModelConfig& config, std::uint64_t seed) {
  Weights weights;
  weights.identity = fmt::format("random seed {}", seed);
  for (const Value& value : program.values) {
    if (value.source != Source::weight) continue;
    Weight& weight = weights.by_name[value.name];
    weight.name = weight.checkpoint_name = value.name;
    weight.shape = concrete(value.shape, {1, 1});
    weight.stored = "random";
    const Distribution from = distribution(value, config);
    weight.load = [from, seed, stream = stream_of(value.name), shape = weight.shape] {
      return generate(from, seed, stream, shape);
    };
  }
  return weights;
}

}  // namespace assay
