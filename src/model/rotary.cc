#include "model/rotary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"

namespace assay {
namespace {

constexpr RealRange factor_range = {"how much longer the context becomes", 1e-3, 1e6};
constexpr RealRange turns_range = {"turns within the original context", 0, 1e6};
constexpr RealRange magnitude_range = {"what rotated queries and keys are multiplied by", 1e-3, 1e3};
constexpr RealRange share_range = {"the share of a head that turns", 1e-6, 1};
constexpr RealRange mscale_range = {"a factor of the magnitude's logarithm", 0, 1e3};

constexpr std::array types = {RopeType::plain,  RopeType::linear, RopeType::dynamic,
                              RopeType::llama3, RopeType::yarn,   RopeType::longrope};

RopeType type_of(const ConfigReader& in) {
  const std::string word = in.text_or("rope_type", in.text_or("type", "default"));
  for (const RopeType type : types) {
    if (word == name(type)) return type;
  }
  if (word == "su") return RopeType::longrope;  // Phi-3's first name for it.
  fail_user(
      "{}: rotary positions of rope_type '{}' are unknown; default, linear, dynamic, llama3, yarn and longrope "
      "are known",
      in.file(), printable(word, 60));
}

std::vector<double> divisors(const ConfigReader& in, const char* key, std::int64_t pairs) {
  if (!in.has(key) || !in.json().at(key).is_array()) fail_user("{}: rope_type longrope needs '{}'", in.file(), key);
  std::vector<double> values;
  for (const Json& value : in.json().at(key)) {
    if (!value.is_number()) fail_user("{}: '{}' holds what is no number", in.file(), key);
    values.push_back(checked_real(value.get<double>(), factor_range, in.file(), key));
  }
  if (std::ssize(values) != pairs)
    fail_user("{}: '{}' has {} entries, {} pairs of columns turn", in.file(), key, values.size(), pairs);
  return values;
}

/// 0.1 m ln(factor) + 1 (Peng et al. 2023).
double yarn_magnitude(double factor, double m) {
  return factor > 1 ? 0.1 * m * std::log(factor) + 1 : 1;
}

void read_yarn(const ConfigReader& in, RopeScaling& s) {
  s.high = in.real_or("beta_fast", 32, turns_range);
  s.low = in.real_or("beta_slow", 1, turns_range);
  s.whole = in.flag_or("truncate", true);
  const double mscale = in.real_or("mscale", 0, mscale_range);
  const double all = in.real_or("mscale_all_dim", 0, mscale_range);
  const double usual = mscale > 0 && all > 0 ? yarn_magnitude(s.factor, mscale) / yarn_magnitude(s.factor, all)
                                             : yarn_magnitude(s.factor, 1);
  s.magnitude = in.real_or("attention_factor", usual, magnitude_range);
}

void read_longrope(const ConfigReader& in, std::int64_t pairs, RopeScaling& s) {
  s.narrow = divisors(in, "short_factor", pairs);
  s.wide = divisors(in, "long_factor", pairs);
  const double longer = std::log(s.factor) / std::log(static_cast<double>(s.original));
  s.magnitude = in.real_or("attention_factor", s.factor > 1 ? std::sqrt(1 + longer) : 1, magnitude_range);
}

bool has_original(RopeType type) {
  return type == RopeType::llama3 || type == RopeType::yarn || type == RopeType::longrope;
}

constexpr const char* original_key = "original_max_position_embeddings";

/// `in` is the dictionary of the scaling, whose type stands already.
void read_scaling(const ConfigReader& in, const ModelConfig& c, Rotary& rotary) {
  RopeScaling& s = rotary.scaling;
  if (s.type == RopeType::plain) return;
  s.original = has_original(s.type) ? in.count_or(original_key, c.context) : c.context;
  const double ratio = static_cast<double>(c.context) / static_cast<double>(s.original);
  const bool may_lack_factor = s.type == RopeType::longrope || s.type == RopeType::yarn;
  if (!in.has("factor") && !may_lack_factor) fail_user("{}: rope_type {} needs 'factor'", in.file(), name(s.type));
  s.factor = in.real_or("factor", ratio, factor_range);
  if (s.type == RopeType::llama3) {
    s.low = in.real_or("low_freq_factor", 1, turns_range);
    s.high = in.real_or("high_freq_factor", 4, turns_range);
    if (s.low > s.high) fail_user("{}: 'low_freq_factor' is above 'high_freq_factor'", in.file());
  }
  if (s.type == RopeType::yarn) read_yarn(in, s);
  if (s.type == RopeType::longrope) read_longrope(in, (rotary.columns > 0 ? rotary.columns : c.head_dim) / 2, s);
}

std::int64_t turned_columns(const ConfigReader& in, double share, std::int64_t head_dim) {
  if (share == 1) return 0;
  const auto columns = static_cast<std::int64_t>(static_cast<double>(head_dim) * share);
  if (columns < 2 || columns % 2 != 0)
    fail_user("{}: 'partial_rotary_factor' lets {} of {} columns turn, an even number from 2 on is needed", in.file(),
              columns, head_dim);
  return columns;
}

/// Of one kind of layers: `in` is its dictionary, empty where there is none.
Rotary read_one(const ConfigReader& in, const ConfigReader& outer, const RotaryWords& words, const ModelConfig& c) {
  const auto said = [&](const char* key, const char* own_key, double usual, const RealRange& range) {
    return in.real_or(key, outer.real_or(key, outer.real_or(own_key, usual, range), range), range);
  };
  Rotary rotary;
  rotary.theta = said("rope_theta", words.theta_key, words.theta, rope_theta_range);
  rotary.scaling.type = type_of(in);
  if (words.plain_turn_a_share || rotary.scaling.type != RopeType::plain)
    rotary.columns =
        turned_columns(outer, said("partial_rotary_factor", words.share_key, words.share, share_range), c.head_dim);
  read_scaling(in, c, rotary);
  return rotary;
}

Json written(const Rotary& rotary, std::int64_t head_dim) {
  const RopeScaling& s = rotary.scaling;
  Json parameters = {{"rope_type", name(s.type)}, {"rope_theta", rotary.theta}};
  if (rotary.columns > 0)
    parameters["partial_rotary_factor"] = static_cast<double>(rotary.columns) / static_cast<double>(head_dim);
  if (s.type != RopeType::plain) parameters["factor"] = s.factor;
  if (has_original(s.type)) parameters["original_max_position_embeddings"] = s.original;
  if (s.type == RopeType::llama3) parameters.update({{"low_freq_factor", s.low}, {"high_freq_factor", s.high}});
  if (s.type == RopeType::yarn) parameters.update({{"beta_slow", s.low}, {"beta_fast", s.high}, {"truncate", s.whole}});
  if (s.type == RopeType::longrope) parameters.update({{"short_factor", s.narrow}, {"long_factor", s.wide}});
  if (s.type == RopeType::yarn || s.type == RopeType::longrope) parameters["attention_factor"] = s.magnitude;
  return parameters;
}

/// A dictionary of the configuration; empty where there is none.
Json dictionary(const ConfigReader& in, const char* key) {
  if (!in.has(key)) return Json::object();
  if (!in.json().at(key).is_object()) fail_user("{}: '{}' is no object", in.file(), key);
  return in.json().at(key);
}

/// Both kinds of layers of a family that tells them apart.
void read_both(const ConfigReader& in, const Json& by_kind, const RotaryWords& words, ModelConfig& c) {
  const auto of = [&](const char* kind) { return dictionary(ConfigReader(by_kind, in.file()), kind); };
  Json whole = of(whole_layer_type);
  whole.update(dictionary(in, "rope_scaling"));
  c.rotary = read_one(ConfigReader(whole, in.file()), in, words, c);
  RotaryWords near = words;
  near.theta_key = words.window_theta_key;
  near.theta = words.window_theta.value_or(0) > 0 ? *words.window_theta : words.theta;
  const Json window = of(window_layer_type);
  ConfigReader near_layers(window, in.file());
  c.window_rotary = Rotary{};
  c.window_rotary->theta =
      near_layers.real_or("rope_theta", in.real_or(near.theta_key, near.theta, rope_theta_range), rope_theta_range);
  c.window_rotary->scaling.type = type_of(near_layers);
  read_scaling(near_layers, c, *c.window_rotary);
}

}  // namespace

void read_rotary(const ConfigReader& in, const RotaryWords& words, ModelConfig& c) {
  const Json parameters = dictionary(in, "rope_parameters");
  const Json scaling = dictionary(in, "rope_scaling");
  if (parameters.contains(whole_layer_type) || parameters.contains(window_layer_type)) {
    read_both(in, parameters, words, c);
  } else {
    Json said = words.window_theta || !scaling.empty() ? scaling : parameters;
    if (in.has(original_key)) said[original_key] = in.json().at(original_key);
    c.rotary = read_one(ConfigReader(said, in.file()), in, words, c);
    const double near = words.window_theta.value_or(0) > 0 ? *words.window_theta : c.rotary.theta;
    if (words.window_theta)
      c.window_rotary = Rotary{in.real_or(words.window_theta_key, near, rope_theta_range), c.rotary.columns, {}};
  }
  if (c.rotary.scaling.type == RopeType::dynamic)
    c.context = static_cast<std::int64_t>(static_cast<double>(c.context) * std::max(1.0, c.rotary.scaling.factor));
}

std::int64_t said_context(const ModelConfig& c) {
  return c.rotary.scaling.type == RopeType::dynamic ? c.rotary.scaling.original : c.context;
}

void write_rotary(const ModelConfig& c, const RotaryWords& words, Json& json) {
  json[words.theta_key] = c.rotary.theta;
  Json parameters = written(c.rotary, c.head_dim);
  if (parameters.contains("partial_rotary_factor")) json[words.share_key] = parameters["partial_rotary_factor"];
  if (c.rotary.scaling.type != RopeType::plain) json["rope_scaling"] = parameters;
  if (c.window_rotary) {
    json[words.window_theta_key] = c.window_rotary->theta;
    parameters = {{whole_layer_type, parameters}, {window_layer_type, written(*c.window_rotary, c.head_dim)}};
  }
  json["rope_parameters"] = std::move(parameters);
}

}  // namespace assay
