#include "studies/calibrate/places.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "program/operation.h"

namespace assay {
namespace {

class PlaceFinder {
 public:
  explicit PlaceFinder(const Program& built) : built_(built), uses_(use_counts(built)), made_by_(built.values.size()) {
    for (std::size_t n = 0; n < built.nodes.size(); ++n) {
      for (const ValueId id : built.nodes[n].outputs) {
        if (id != no_value) made_by_[static_cast<std::size_t>(id)] = &built.nodes[n];
      }
      if (makes_one_value(built.nodes[n])) --uses_[static_cast<std::size_t>(built.nodes[n].inputs[0])];
    }
  }

  std::vector<LinearPlace> run() {
    std::vector<LinearPlace> places;
    for (std::size_t n = 0; n < built_.nodes.size(); ++n) {
      if (built_.nodes[n].operation != &op::linear) continue;
      const ValueId value = built_.nodes[n].inputs[0];
      if (built_.value(value).constant) continue;  // Made of weights alone: no data is in it.
      const auto known =
          std::find_if(places.begin(), places.end(), [&](const LinearPlace& place) { return place.value == value; });
      LinearPlace& place = known == places.end() ? places.emplace_back() : *known;
      place.value = value;
      place.layers.push_back(n);
    }
    for (LinearPlace& place : places) {
      place.name = built_.nodes[place.layers.front()].path;
      place.width = width(place.value);
      place.is_smoothable = complete(place);
    }
    return places;
  }

 private:
  /// Whatever it reads: the zeros of a norm without a bias have the shape of its gain.
  static bool makes_one_value(const Node& node) { return node.operation == &op::affine && node.attributes.scale == 0; }

  const Node* maker(ValueId id) const { return made_by_[static_cast<std::size_t>(id)]; }
  int uses(ValueId id) const { return uses_[static_cast<std::size_t>(id)]; }

  /// A parameter that nothing else reads.
  bool is_own(ValueId id) const { return built_.value(id).source == Source::weight && uses(id) == 1; }

  std::int64_t width(ValueId id) const { return built_.value(id).shape.back().factor; }

  bool complete(LinearPlace& place) {
    if (uses(place.value) != static_cast<int>(place.layers.size())) return false;
    for (const std::size_t n : place.layers) {
      const ValueId matrix = built_.nodes[n].inputs[1];
      if (!is_own(matrix)) return false;
      place.matrices.push_back(built_.value(matrix).name);
    }
    const Node* const source = maker(place.value);
    return source != nullptr && divide(*source, place);
  }

  bool divide(const Node& source, LinearPlace& place) {
    if (source.operation == &op::rms_norm || source.operation == &op::layer_norm) return divide_norm(source, place);
    if (source.operation == &op::select_row) return divide_rows(source, place);
    if (source.operation == &op::gate) return divide_linear(source.inputs[1], place);
    if (source.operation == &op::attention) return divide_values(source, source.inputs[2], place);
    if (source.operation == &op::attention_context) return divide_values(source, source.inputs[1], place);
    return false;
  }

  void set_rows(LinearPlace& place, std::int64_t rows) const {
    place.rows = rows;
    place.channels.resize(static_cast<std::size_t>(width(place.value)));
    std::iota(place.channels.begin(), place.channels.end(), 0);
  }

  /// Of a value, some rows alone.
  bool divide_rows(const Node& choice, LinearPlace& place) {
    const Node* const source = maker(choice.inputs[0]);
    return source != nullptr && uses(choice.inputs[0]) == 1 && divide(*source, place);
  }

  bool divide_norm(const Node& norm, LinearPlace& place) {
    if (width(norm.inputs[1]) != width(place.value)) return false;  // a gain for each head
    for (std::size_t i = 1; i < norm.inputs.size(); ++i) {
      if (norm.inputs[i] == no_value || is_zero(norm.inputs[i])) continue;
      const auto parameter = divided_in_norm(norm.inputs[i]);
      if (!parameter) return false;
      place.divided.push_back(*parameter);
    }
    set_rows(place, width(place.value));
    return true;
  }

  bool is_zero(ValueId id) const {
    const Node* const source = maker(id);
    return source != nullptr && makes_one_value(*source) && source->attributes.shift == 0;
  }

  /// A gain or bias: a parameter, or scale * parameter + shift, that nothing else reads.
  std::optional<DividedParameter> divided_in_norm(ValueId id) const {
    if (is_own(id)) return DividedParameter{.name = built_.value(id).name};
    const Node* const source = maker(id);
    const bool is_scaled = source != nullptr && source->operation == &op::affine && !makes_one_value(*source);
    if (!is_scaled || uses(id) != 1 || !is_own(source->inputs[0])) return {};
    const Attributes& attributes = source->attributes;
    return DividedParameter{built_.value(source->inputs[0]).name, attributes.shift / attributes.scale};
  }

  /// What a linear layer gives, without an activation on it, read here alone.
  bool divide_linear(ValueId value, LinearPlace& place) {
    const Node* const linear = maker(value);
    const bool is_plain = linear != nullptr && linear->operation == &op::linear && uses(value) == 1 &&
                          linear->attributes.activation == Activation::none;
    if (!is_plain) return false;
    for (std::size_t i = 1; i < linear->inputs.size(); ++i) {
      if (linear->inputs[i] == no_value) continue;
      if (!is_own(linear->inputs[i])) return false;
      place.divided.push_back({.name = built_.value(linear->inputs[i]).name});
    }
    set_rows(place, width(value));
    return true;
  }

  bool divide_values(const Node& attention, ValueId values, LinearPlace& place) {
    if (!divide_linear(values, place)) return false;
    const Attributes& attributes = attention.attributes;
    const std::int64_t group = attributes.heads / attributes.kv_heads;
    const std::int64_t size = place.rows / attributes.kv_heads;
    for (std::size_t c = 0; c < place.channels.size(); ++c) {
      const auto channel = static_cast<std::int64_t>(c);
      place.channels[c] = static_cast<std::int32_t>(channel / size / group * size + channel % size);
    }
    return true;
  }

  const Program& built_;
  std::vector<int> uses_;
  std::vector<const Node*> made_by_;
};

}  // namespace

std::vector<LinearPlace> linear_places(const Program& built) {
  return PlaceFinder(built).run();
}

}  // namespace assay
