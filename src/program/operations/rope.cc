#include "program/gradient.h"
#include "program/operation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace assay {

namespace {

/// theta^(2 pair / columns)
float wave(double theta, std::int64_t pair, std::int64_t columns) {
  const float exponent = static_cast<float>(2 * pair) / static_cast<float>(columns);
  return std::pow(static_cast<float>(theta), exponent);
}

/// A base that grows with the sequence (dynamic "NTK-aware" scaling, bloc97 2023).
double dynamic_theta(const Attributes& a, std::int64_t positions) {
  const RopeScaling& s = a.rope_scaling;
  const auto columns = static_cast<double>(rotary_columns(a));
  const double longer = static_cast<double>(std::max(positions, s.original)) / static_cast<double>(s.original);
  return a.rope_theta * std::pow(s.factor * longer - (s.factor - 1), columns / (columns - 2));
}

/// Slow pairs are stretched, fast ones are not, those between in part (Llama 3.1).
float llama3_frequency(float frequency, const RopeScaling& s) {
  const double turns = static_cast<double>(s.original) * frequency / (2 * std::numbers::pi);
  if (turns > s.high) return frequency;
  const double stretched = frequency / s.factor;
  if (turns < s.low) return static_cast<float>(stretched);
  const double share = (turns - s.low) / (s.high - s.low);
  return static_cast<float>((1 - share) * stretched + share * frequency);
}

/// The pair, not whole, that turns so often within the original context (Peng et al. 2023, YaRN).
double pair_of_turns(double turns, const Attributes& a) {
  const auto columns = static_cast<double>(rotary_columns(a));
  const double wavelength = static_cast<double>(a.rope_scaling.original) / (turns * 2 * std::numbers::pi);
  return columns * std::log(wavelength) / (2 * std::log(a.rope_theta));
}

float yarn_frequency(float frequency, std::int64_t pair, const Attributes& a) {
  const RopeScaling& s = a.rope_scaling;
  double first = pair_of_turns(s.high, a);
  double last = pair_of_turns(s.low, a);
  if (s.whole) first = std::floor(first), last = std::ceil(last);
  first = std::max(first, 0.0);
  last = std::min(last, static_cast<double>(rotary_columns(a) - 1));
  if (first == last) last += 0.001;
  const double stretched = std::clamp((static_cast<double>(pair) - first) / (last - first), 0.0, 1.0);
  return static_cast<float>(frequency / s.factor * stretched + frequency * (1 - stretched));
}

float scaled_frequency(const Attributes& a, std::int64_t pair, std::int64_t positions) {
  const RopeScaling& s = a.rope_scaling;
  const std::int64_t columns = rotary_columns(a);
  const float frequency = 1.0F / wave(a.rope_theta, pair, columns);
  switch (s.type) {
    case RopeType::plain:
      return frequency;
    case RopeType::linear:
      return frequency / static_cast<float>(s.factor);
    case RopeType::dynamic:
      return 1.0F / wave(dynamic_theta(a, positions), pair, columns);
    case RopeType::llama3:
      return llama3_frequency(frequency, s);
    case RopeType::yarn:
      return yarn_frequency(frequency, pair, a);
    case RopeType::longrope:
      break;
  }
  const std::vector<double>& divisors = positions > s.original ? s.wide : s.narrow;
  return 1.0F / (static_cast<float>(divisors[static_cast<std::size_t>(pair)]) * wave(a.rope_theta, pair, columns));
}

/// A rotation's gradient turns back.
void rope_rule(GradientBuilder& g, const Node& node) {
  Attributes back = node.attributes;
  back.inverse = !back.inverse;
  give_result(g, node, 0, op::rope, {g.of_output(0)}, back);
}

}  // namespace

const char* name(RopeType type) {
  constexpr const char* names[] = {"default", "linear", "dynamic", "llama3", "yarn", "longrope"};
  return names[static_cast<std::size_t>(type)];
}

std::int64_t rotary_columns(const Attributes& attributes) {
  return attributes.rotary_dim > 0 ? attributes.rotary_dim : attributes.head_dim;
}

std::vector<float> rotary_frequencies(const Attributes& attributes, std::int64_t positions) {
  std::vector<float> frequencies;
  const std::int64_t pairs = rotary_columns(attributes) / 2;
  frequencies.reserve(static_cast<std::size_t>(pairs));
  for (std::int64_t pair = 0; pair < pairs; ++pair)
    frequencies.push_back(scaled_frequency(attributes, pair, positions));
  return frequencies;
}

// Rotary position embedding (Su et al. 2021): the pair (a, b) of head h at position t turns by t * theta^(-2i/D),
// or by as much the other way round where attributes.inverse is set; D of its head_dim columns turn, the rest is
// copied. With a magnitude m the pair is also m times as long.
// t counts from column 0, or is positions[b, t], below attributes.positions, and the sequence is as long as that says.
// x, y: (B, T, heads * head_dim); attributes: heads, head_dim, rotary_dim, rope_theta, rope_scaling, pairs
const Operation op::rope = {
    .name = "rope",
    .kind = OperationKind::other,
    .autocast = Autocast::widest,
    .shapes = same_shape,
    .flops = per_element<3>,
    .bytes = read_once_write_once,
    .gradient = rope_rule,
};

}  // namespace assay
