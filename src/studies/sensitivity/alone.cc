#include "studies/sensitivity/alone.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "program/builder.h"
#include "program/passes.h"
#include "studies/sensitivity/energy.h"
#include "studies/sensitivity/run.h"

namespace assay {
namespace {

/// Rows behind error and outliers: an activation of each layer is kept until the end of the run.
constexpr std::int64_t most_alone_tokens = 256;

/// The product of a layer over experts, of rows that are grouped already.
Program alone_experts(const Program& built, const Node& layer) {
  const ExpertPlaces places = *expert_places(*layer.operation);
  Builder b;
  const Value& first = built.value(layer.inputs[places.first]);
  std::vector<ValueId> inputs = {b.input("x", DType::f32, {dim_batch * dim_seq, first.shape[1]}),
                                 b.input("offsets", DType::s32, built.value(layer.inputs[places.offsets]).shape)};
  for (std::size_t i = places.first; i < layer.inputs.size(); ++i) {
    const ValueId in = layer.inputs[i];
    inputs.push_back(in == no_value ? no_value : b.weight(built.value(in).name, built.value(in).shape));
  }
  b.at(layer.path, layer.role);
  b.output("y", b.add(op::expert_linear, inputs, layer.attributes));
  return b.take();
}

Program alone_program(const Program& built, const Node& linear) {
  if (linear.operation == &op::expert_linear) return alone_experts(built, linear);
  Builder b;
  const SymbolicShape& weight = built.value(linear.inputs[1]).shape;
  const ValueId x = b.input("x", DType::f32, {dim_batch, dim_seq, weight[1]});
  std::vector<ValueId> inputs = {x, b.weight(built.value(linear.inputs[1]).name, weight)};
  b.at(linear.path, linear.role);
  if (linear.inputs.size() > 2 && linear.inputs[2] != no_value)
    inputs.push_back(b.weight(built.value(linear.inputs[2]).name, built.value(linear.inputs[2]).shape));
  b.output("y", b.add(op::linear, inputs, linear.attributes));
  return b.take();
}

std::vector<float> widened(const HeldConstant& held, DType dtype) {
  const std::size_t count = held.bytes / size_of(dtype);
  std::vector<float> values(count);
  convert(dtype, held.data, DType::f32, values.data(), count);
  return values;
}

QualityBatch beginning(const QualityBatch& batch) {
  QualityBatch part = batch;
  part.extent.batch = std::clamp<std::int64_t>(most_alone_tokens / batch.extent.seq, 1, batch.extent.batch);
  const auto tokens = static_cast<std::size_t>(part.extent.batch * part.extent.seq);
  part.ids.resize(tokens);
  if (!part.mask.empty()) part.mask.resize(tokens);
  return part;
}

std::string offsets_name(const ModelUnit& unit) {
  return unit.name + " offsets";
}

/// Outputs of the model's program that a linear layer reads.
std::vector<NamedValue> inputs_of_layer(const Program& built, const ModelUnit& unit) {
  const Node& node = linear_at(built, unit.name);
  std::vector<NamedValue> read = {{unit.name, node.inputs[0]}};
  if (node.operation == &op::expert_linear)
    read.push_back({offsets_name(unit), node.inputs[expert_places(*node.operation)->offsets]});
  return read;
}

Tensor rows_kept(const Tensor& all, const std::vector<std::uint8_t>& mask) {
  const std::int64_t width = all.shape().back();
  const auto rows = static_cast<std::size_t>(all.count() / width);
  const auto kept = mask.empty() ? static_cast<std::int64_t>(rows)
                                 : static_cast<std::int64_t>(mask.size()) - std::count(mask.begin(), mask.end(), 0);
  Tensor real(DType::f32, {kept, width});
  float* to = real.as<float>();
  for (std::size_t row = 0; row < rows; ++row) {
    if (!mask.empty() && mask[row] == 0) continue;
    const float* from = all.as<float>() + row * static_cast<std::size_t>(width);
    to = std::copy(from, from + width, to);
  }
  return real;
}

std::vector<const ModelUnit*> linear_units(const StudiedModel& subject) {
  std::vector<const ModelUnit*> layers;
  layers.reserve(subject.units.size());
  for (const ModelUnit& unit : subject.units) {
    if (unit.is_linear()) layers.push_back(&unit);
  }
  return layers;
}

std::span<const float> values_in(const Tensor& tensor) {
  return {tensor.as<float>(), static_cast<std::size_t>(tensor.count())};
}

LayerError error_of_layer(const StudiedModel& subject, const Node& linear, const LayerInput& input,
                          const PrecisionChoice& choice) {
  const Extent extent{1, input.x.shape()[0]};
  LayerAlone exact(subject, linear, subject.fp32, extent);
  LayerAlone low(subject, linear, choice, extent);
  for (LayerAlone* layer : {&exact, &low}) {
    layer->set_input(input);
    layer->run();
  }
  const Tensor expected = exact.output();
  const Tensor found = low.output();
  const Outliers outliers = outliers_of(values_in(input.x));
  return {signal_to_noise_db(values_in(expected), values_in(found)),
          signal_to_noise_db(exact.stored_weight(), low.stored_weight()), outliers.kurtosis, outliers.largest_over_rms};
}

/// Whether each weight has its scales behind it.
bool has_scales(const Node& node) {
  return node.operation == &op::quantized_linear || node.operation == &op::expert_quantized_linear;
}

/// What layers and whole runs take, by the meter, as long as it answers.
class LayerEnergy {
 public:
  LayerEnergy(const StudiedModel& subject, const Power& power, ModelSensitivity& study)
      : subject_(subject), power_(power), study_(study), answers_(power.source.meter != nullptr) {
    choices_.reserve(subject.rows.size());
    for (const PrecisionChoice& row : subject.rows) choices_.push_back(&row);
  }

  void say_forecast() const {
    if (!answers_ || !subject_.callbacks.say) return;
    const auto layers = std::count_if(subject_.units.begin(), subject_.units.end(),
                                      [](const ModelUnit& unit) { return unit.is_linear(); });
    const double windows =
        static_cast<double>(windows_of_each) * static_cast<double>((layers + 1) * std::ssize(subject_.rows));
    subject_.callbacks.say(fmt::format("{}: energy of {} layers in windows of {:.2g} s: about {:.0f} s more",
                                       subject_.model.name, layers, energy_window_s(power_),
                                       windows * energy_window_s(power_)));
  }

  /// The runs that the sum over layers is held against: the same rows, operation by operation.
  void of_whole(const QualityBatch& batch) {
    const std::vector<Joules> joules = metered([&] { return joules_of_wholes(subject_, batch, choices_, power_); });
    for (std::size_t i = 0; i < joules.size(); ++i) study_.whole_energy[choices_[i]->name()] = joules[i];
  }

  void of_layer(std::size_t unit, const LayerInput& input) {
    const std::vector<Joules> joules =
        metered([&] { return joules_of_layers(subject_, {unit}, input, choices_, power_); });
    for (std::size_t i = 0; i < joules.size(); ++i)
      study_.rows_by_unit[i * subject_.units.size() + unit].energy = joules[i];
  }

 private:
  /// A meter that stopped answering takes no other figure with it: none then, as after an interrupt.
  std::vector<Joules> metered(const std::function<std::vector<Joules>()>& measure) {
    if (!answers_) return {};
    try {
      return measure();
    } catch (const Error& error) {
      if (error.code() != ExitCode::lacking) throw;
      answers_ = false;
      study_.energy_words = error.what();
      study_.whole_energy.clear();
      return {};
    }
  }

  const StudiedModel& subject_;
  const Power& power_;
  ModelSensitivity& study_;
  std::vector<const PrecisionChoice*> choices_;
  bool answers_;
};

/// Of rows of `width` values in blocks, without what fills up the last ones.
std::vector<float> values_of_rows(const BlockFormat& format, const HeldConstant& held, std::int64_t width) {
  std::vector<float> values(static_cast<std::size_t>(format.values_in(static_cast<std::int64_t>(held.bytes))));
  expand_blocks(format, {held.data, held.bytes}, values);
  const auto padded = static_cast<std::size_t>(format.values_in(format.bytes_of(width)));
  const auto wanted = static_cast<std::size_t>(width);
  const std::size_t rows = values.size() / padded;
  for (std::size_t row = 1; row < rows && wanted < padded; ++row)
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(row * padded), wanted,
                values.begin() + static_cast<std::ptrdiff_t>(row * wanted));
  values.resize(rows * wanted);
  return values;
}

}  // namespace

LayerInputs::LayerInputs(const StudiedModel& subject, QualityBatch batch, const std::vector<const ModelUnit*>& layers)
    : batch_(std::move(batch)) {
  Program program = subject.built;
  PlanOptions options{.extent = batch_.extent,
                      .mask = batch_.mask.empty() ? AttentionMask::absent : AttentionMask::given};
  for (const ModelUnit* unit : layers) {
    for (NamedValue& read : inputs_of_layer(program, *unit)) {
      options.outputs.push_back(read.name);
      program.outputs.push_back(std::move(read));
    }
  }
  instance_ = std::make_unique<Instance>(assign_dtypes(program, subject.fp32), subject.fp32, subject.model.weights,
                                         find_backend(subject.request.engine.device), subject.facts);
  instance_->borrow_from(*subject.base);
  plan_ = std::make_unique<Plan>(*instance_, options);
  plan_->set_inputs(batch_.ids, batch_.mask, batch_.token_types);
  plan_->run();
}

LayerInput LayerInputs::whole_input_of(const ModelUnit& unit) const {
  return {rows_kept(plan_->output_f32(unit.name), {}), offsets_of(unit)};
}

LayerInput LayerInputs::input_of(const ModelUnit& unit) const {
  LayerInput whole = whole_input_of(unit);
  const bool by_token = whole.offsets.empty() && whole.x.shape()[0] == std::ssize(batch_.mask);
  if (by_token) whole.x = rows_kept(whole.x, batch_.mask);
  return whole;
}

std::vector<std::int32_t> LayerInputs::offsets_of(const ModelUnit& unit) const {
  if (unit.weights.size() < 2) return {};
  const Tensor wide = plan_->output_f32(offsets_name(unit));
  return {wide.as<float>(), wide.as<float>() + wide.count()};
}

const Node& linear_at(const Program& built, const std::string& path) {
  const auto found = std::find_if(built.nodes.begin(), built.nodes.end(), [&](const Node& node) {
    return (node.operation == &op::linear || node.operation == &op::expert_linear) && node.path == path;
  });
  ASSAY_ASSERT(found != built.nodes.end());
  return *found;
}

LayerAlone::LayerAlone(const StudiedModel& subject, const Node& linear, const PrecisionChoice& choice, Extent extent) {
  instance_ = std::make_unique<Instance>(
      assign_dtypes(alone_program(subject.built, linear), choice, subject.model.weights.formats()), choice,
      subject.model.weights, find_backend(subject.request.engine.device), subject.facts);
  instance_->borrow_from(*subject.base);
  for (const auto& lender : subject.whole) instance_->borrow_from(*lender);
  plan_ = std::make_unique<Plan>(*instance_, PlanOptions{.extent = extent, .outputs = {"y"}});
}

void LayerAlone::set_input(const LayerInput& input) {
  plan_->set_input("x", std::as_bytes(values_in(input.x)));
  plan_->set_input("offsets", std::as_bytes(std::span(input.offsets)));
}

std::vector<float> LayerAlone::stored_weight() {
  const Program& program = instance_->program();
  const auto product = std::find_if(program.nodes.begin(), program.nodes.end(),
                                    [](const Node& node) { return !weight_places(node).empty(); });
  ASSAY_ASSERT(product != program.nodes.end());
  std::vector<float> values;
  const BlockFormat* const blocks = product->attributes.blocks;
  const std::int64_t width = program.value(product->inputs[0]).shape.back().factor;
  for (const std::size_t i : weight_places(*product)) {
    if (blocks != nullptr) {
      const std::vector<float> more =
          values_of_rows(*blocks, instance_->hold(product->inputs[i], {.dtype = DType::u8}), width);
      values.insert(values.end(), more.begin(), more.end());
    } else {
      append_stored(product->inputs[i], has_scales(*product) ? product->inputs[i + 1] : no_value, values);
    }
  }
  instance_->release_intermediates();
  return values;
}

/// `scales`: of its rows, where it is quantised.
void LayerAlone::append_stored(ValueId weight, ValueId scales, std::vector<float>& values) {
  const DType dtype = instance_->program().value(weight).dtype;
  Packing plain;
  plain.dtype = dtype;
  std::vector<float> more = widened(instance_->hold(weight, plain), dtype);
  if (scales != no_value) {
    Packing plain_scales;
    const std::vector<float> by_row = widened(instance_->hold(scales, plain_scales), DType::f32);
    const std::size_t width = more.size() / by_row.size();
    for (std::size_t i = 0; i < more.size(); ++i) more[i] *= by_row[i / width];
  }
  values.insert(values.end(), more.begin(), more.end());
}

std::optional<double> signal_to_noise_db(std::span<const float> exact, std::span<const float> other) {
  ASSAY_ASSERT(exact.size() == other.size());
  double signal = 0;
  double noise = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double value = exact[i];
    signal += value * value;
    noise += (other[i] - value) * (other[i] - value);
  }
  if (noise == 0) return std::nullopt;
  return 10 * std::log10(signal / noise);
}

Outliers outliers_of(std::span<const float> values) {
  const auto n = static_cast<double>(values.size());
  double sum = 0;
  double squares = 0;
  double largest = 0;
  for (const float value : values) {
    sum += value;
    squares += static_cast<double>(value) * value;
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  const double mean = sum / n;
  double second = 0;
  double fourth = 0;
  for (const float value : values) {
    const double square = (value - mean) * (value - mean);
    second += square;
    fourth += square * square;
  }
  if (second == 0) return {};
  return {fourth * n / (second * second), largest / std::sqrt(squares / n)};
}

void measure_layers(const StudiedModel& subject, const Power& power, ModelSensitivity& study) {
  const LayerInputs inputs(subject, beginning(subject.set.batches.front()), linear_units(subject));
  study.energy_words = power.source.words;
  LayerEnergy energy(subject, power, study);
  energy.say_forecast();
  energy.of_whole(inputs.batch());
  for (std::size_t u = 0; u < subject.units.size(); ++u) {
    const ModelUnit& unit = subject.units[u];
    if (!unit.is_linear()) continue;
    if (subject.callbacks.progress) subject.callbacks.progress(subject.model.name + ": error of " + unit.name, 0);
    const LayerInput input = inputs.input_of(unit);
    const Node& linear = linear_at(subject.built, unit.name);
    for (std::size_t p = 0; p < subject.rows.size(); ++p) {
      if (is_set(subject.callbacks.interrupted)) return;
      UnitRow& row = study.rows_by_unit[p * subject.units.size() + u];
      if (!row.error) row.error = error_of_layer(subject, linear, input, subject.rows[p]);
    }
    energy.of_layer(u, inputs.whole_input_of(unit));
  }
}

}  // namespace assay
