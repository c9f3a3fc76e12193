#include "studies/sensitivity/train.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "base/threads.h"
#include "kernels/float8_scale.h"
#include "studies/sensitivity/run.h"
#include "studies/shared/quality_data.h"
#include "studies/shared/training_step.h"
#include "tensor/small_float.h"
#include "training/step.h"

namespace assay {
namespace {

/// Magnitudes at which rounding to nearest changes its kind.
struct Thresholds {
  double zero = 0;           ///< Up to it everything becomes zero,
  double normal = 0;         ///< below it a subnormal number,
  double beyond = INFINITY;  ///< and from it on nothing finite.
};

Thresholds thresholds_of(const SmallFormat& format) {
  const double smallest = decode(1, format);
  const double largest = decode(format.beyond() - 1, format);
  const double before = decode(format.beyond() - 2, format);
  const double normal = decode(1U << format.mantissa_bits, format);
  const double half_beyond = largest + (largest - before) / 2;
  const bool stays = (format.beyond() - 1) % 2 == 0;  // Half way goes to the even one.
  return {smallest / 2, normal - smallest / 2, stays ? std::nextafter(half_beyond, INFINITY) : half_beyond};
}

Thresholds thresholds_of(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return thresholds_of(f16_format);
    case DType::bf16:
      return thresholds_of(bf16_format);
    case DType::e4m3:
      return thresholds_of(e4m3_format);
    case DType::e5m2:
      return thresholds_of(e5m2_format);
    default:  // The numbers are f32.
      return {};
  }
}

/// Counts of one array.
struct Counted {
  double nonzero = 0;
  double under = 0;
  double subnormal = 0;
  double over = 0;

  FormatLoss shares() const {
    if (nonzero == 0) return {};
    return {under / nonzero, subnormal / nonzero, over / nonzero};
  }
};

void count_losses(std::span<const float> values, const Thresholds& at, double scale, Counted& counted) {
  for (const float value : values) {
    const double magnitude = std::abs(value * scale);
    if (magnitude == 0) continue;
    ++counted.nonzero;
    if (magnitude <= at.zero)
      ++counted.under;
    else if (magnitude < at.normal)
      ++counted.subnormal;
    else if (!(magnitude < at.beyond))
      ++counted.over;
  }
}

double rms(double squares, double count) {
  return count == 0 ? 0 : std::sqrt(squares / count);
}

double square_sum(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return sum;
}

/// A precision with its own step, from which it is read how numbers are kept.
struct CheckedPrecision {
  PrecisionChoice choice;
  Program step;
  double loss_scale = 1;
};

/// The first node of the layer's backward that computes with the gradient of its output; null: none.
const Node* backward_of(const Program& step, const std::string& path) {
  const auto found = std::find_if(step.nodes.begin(), step.nodes.end(), [&](const Node& node) {
    return node.phase == Phase::backward && node.path == path && node.operation != &op::cast;
  });
  return found == step.nodes.end() ? nullptr : &*found;
}

/// Which of its inputs is that gradient: those of embeddings come behind the ids.
ValueId output_gradient(const Program& step, const Node& node) {
  for (const ValueId id : node.inputs) {
    if (id != no_value && is_float(step.value(id).dtype)) return id;
  }
  return no_value;
}

TrainedFormats formats_of(const CheckedPrecision& precision, const std::string& path, const std::string& parameter) {
  TrainedFormats formats;
  formats.loss_scale = precision.loss_scale;
  for (const Value& value : precision.step.values) {
    if (value.source != Source::state) continue;
    if (value.name == parameter) formats.weights = value.dtype;
    if (value.name == "grad." + parameter) formats.gradients = value.dtype;
  }
  if (const Node* node = backward_of(precision.step, path)) {
    const ValueId id = output_gradient(precision.step, *node);
    if (id != no_value) formats.output = precision.step.value(id).dtype;
    if (node->operation == &op::round_float8) {
      formats.output = node->attributes.operand;
      formats.tile = node->attributes.width;
    }
  }
  return formats;
}

/// A layer of the fp32 step while it is looked at.
struct LookedAt {
  TrainedLayer layer;
  std::vector<std::string> parameters;
  std::vector<float> output;  ///< Gradient of its output.
};

/// Each parameter belongs to the layer that reads it first.
std::vector<LookedAt> layers_of(const Program& step) {
  std::vector<LookedAt> layers;
  std::set<ValueId> known;
  for (const Node& node : step.nodes) {
    if (node.phase != Phase::forward) continue;
    for (const ValueId id : node.inputs) {
      if (id == no_value || !is_parameter(step.value(id)) || !known.insert(id).second) continue;
      if (layers.empty() || layers.back().layer.path != node.path) {
        layers.emplace_back();
        layers.back().layer.path = node.path;
        layers.back().layer.role = node.role;
      }
      layers.back().parameters.push_back(step.value(id).name);
      layers.back().layer.parameters += element_count(concrete(step.value(id).shape, {}));
    }
  }
  return layers;
}

std::vector<float> dense(const Plan& plan, ValueId id) {
  const Shape shape = concrete(plan.program().value(id).shape, plan.options().extent);
  const std::int64_t count = element_count(shape);
  std::vector<float> values(static_cast<std::size_t>(count));
  if (count > 0) plan.read_rows(id, {0, count / shape.back()}, values.data());
  return values;
}

/// Once more, operation by operation: what a layer's backward reads is looked at before anything is written over it.
void read_output_gradients(const Plan& plan, std::vector<LookedAt>& layers) {
  const Program& program = plan.program();
  std::map<const Node*, LookedAt*> wanted;
  for (LookedAt& one : layers) {
    if (const Node* node = backward_of(program, one.layer.path)) wanted[node] = &one;
  }
  for (const Step& step : plan.steps()) {
    const Node& node = program.nodes[step.node];
    if (const auto found = wanted.find(&node); found != wanted.end()) {
      const ValueId id = output_gradient(program, node);
      if (id != no_value && plan.placement(id).offset >= 0) found->second->output = dense(plan, id);
    }
    step.kernel->run({step.inputs, step.outputs, step.workspace});
    plan.device().wait();
  }
}

/// op::adamw's step in f64, from moments as they are before it.
struct AdamSizes {
  const OptimizerOptions& options;
  double t;

  double update(double w, double g, double m, double v) const {
    const double mean = options.beta1 * m + (1 - options.beta1) * g;
    const double square = options.beta2 * v + (1 - options.beta2) * g * g;
    const double corrected = std::sqrt(square / (1 - std::pow(options.beta2, t)));
    const double towards = mean / (1 - std::pow(options.beta1, t)) / (corrected + options.epsilon);
    return -options.learning_rate * (options.weight_decay * w + towards);
  }
};

/// Sums over a layer's parameters.
struct UpdateSums {
  double moved = 0;          ///< Updates that are not zero.
  std::vector<double> lost;  ///< Of them, by precision.
  double squares = 0;
};

/// What is added to w leaves it as it is stored.
bool is_lost(DType stored, float w, double update) {
  const float before = round_to(stored, w);
  return round_to(stored, static_cast<float>(before + update)) == before;
}

void add_updates(const State& state, const std::string& name, const AdamSizes& adam,
                 const std::vector<TrainedRow>& rows, UpdateSums& sums) {
  const auto values = [&](const std::string& prefix) { return state.find(prefix + name)->as<float>(); };
  const float* const w = values("");
  const float* const g = values("grad.");
  const float* const m = values("optimizer.m.");
  const float* const v = values("optimizer.v.");
  const std::int64_t count = state.find(name)->count();
  const auto part_of = [&](std::int64_t begin, std::int64_t end) {
    UpdateSums part;
    part.lost.resize(rows.size());
    for (std::int64_t i = begin; i < end; ++i) {
      const double update = adam.update(w[i], g[i], m[i], v[i]);
      if (update == 0) continue;
      ++part.moved;
      part.squares += update * update;
      for (std::size_t row = 0; row < rows.size(); ++row)
        part.lost[row] += is_lost(rows[row].formats.weights, w[i], update) ? 1 : 0;
    }
    return part;
  };
  constexpr std::int64_t parts = 16;
  std::array<UpdateSums, parts> found;
  parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part)
      found.at(static_cast<std::size_t>(part)) = part_of(count * part / parts, count * (part + 1) / parts);
  });
  for (const UpdateSums& part : found) {
    sums.moved += part.moved;
    sums.squares += part.squares;
    for (std::size_t row = 0; row < rows.size(); ++row) sums.lost[row] += part.lost[row];
  }
}

void look_at_updates(const Trainer& trainer, LookedAt& one) {
  const AdamSizes adam = {trainer.options().optimizer, static_cast<double>(trainer.updates() + 1)};
  UpdateSums sums;
  sums.lost.resize(one.layer.rows.size());
  double weights = 0;
  for (const std::string& name : one.parameters) {
    const Tensor& tensor = *trainer.state().find(name);
    weights += square_sum({tensor.as<float>(), static_cast<std::size_t>(tensor.count())});
    if (trainer.state().holds("grad." + name)) add_updates(trainer.state(), name, adam, one.layer.rows, sums);
  }
  const auto count = static_cast<double>(one.layer.parameters);
  one.layer.weight_rms = rms(weights, count);
  one.layer.update_rms = rms(sums.squares, count);
  for (std::size_t row = 0; row < sums.lost.size(); ++row)
    one.layer.rows[row].lost = sums.moved == 0 ? 0 : sums.lost[row] / sums.moved;
}

void look_at_gradients(const Trainer& trainer, LookedAt& one) {
  std::vector<float> all;
  for (const std::string& name : one.parameters) {
    const Tensor* gradient = trainer.state().find("grad." + name);
    if (gradient != nullptr) all.insert(all.end(), gradient->as<float>(), gradient->as<float>() + gradient->count());
  }
  one.layer.gradient_rms = rms(square_sum(all), static_cast<double>(all.size()));
  if (!one.output.empty())
    one.layer.output_gradient_rms = rms(square_sum(one.output), static_cast<double>(one.output.size()));
  for (TrainedRow& row : one.layer.rows) {
    row.gradients = format_loss(all, row.formats.gradients, row.formats.loss_scale);
    if (!row.formats.output || one.output.empty()) continue;
    row.output = row.formats.tile ? scaled_format_loss(one.output, *row.formats.output, *row.formats.tile)
                                  : format_loss(one.output, *row.formats.output, row.formats.loss_scale);
  }
}

TrainingOptions step_options(const SensitivityRequest& request, const Model& model, const PrecisionChoice& choice) {
  TrainingOptions options = whole_step(choice, request.engine, model, {.storage = request.storage});
  options.token_types = request.engine.program.token_types;
  options.optimizer.learning_rate = request.learning_rate;
  return options;
}

std::vector<CheckedPrecision> checked_precisions(const SensitivityRequest& request, const Model& model,
                                                 const MachineFacts& facts) {
  std::vector<CheckedPrecision> all;
  all.reserve(request.precisions.size());
  for (const std::string& name : request.precisions) {
    CheckedPrecision one;
    one.choice = precision_choice(name, request.engine, facts);
    one.step = training_programs(model.config, step_options(request, model, one.choice)).step;
    if (scales_loss(one.choice.row)) one.loss_scale = LossScale::Progress{}.scale;
    all.push_back(std::move(one));
  }
  return all;
}

TrainingBatch step_batch(const Model& model, const QualitySet& set, std::int64_t step) {
  const QualityBatch& rows = set.batches[static_cast<std::size_t>(step) % set.batches.size()];
  TrainingBatch batch = {rows.extent, rows.ids, rows.mask, rows.targets, rows.token_types};
  if (batch.labels.empty()) batch.labels = made_up_labels(model.config, batch.input_ids, batch.extent);
  return batch;
}

/// Trains to the step that is looked at, and into it: gradients are there, its update is not done. False after an
/// interrupt.
bool train_until(Trainer& trainer, const Model& model, const QualitySet& set, const SensitivityRequest& request,
                 const StudyCallbacks& callbacks, TrainSensitivity& study) {
  for (std::int64_t step = 0; step < request.steps; ++step) {
    if (is_set(callbacks.interrupted)) return false;
    if (callbacks.progress)
      callbacks.progress(fmt::format("{}: step {} of {}", model.name, step + 1, request.steps), 0);
    if (step + 1 < request.steps) {
      run_step(trainer, step_batch(model, set, step), step, {.seed = request.model_options.seed});
      continue;
    }
    const TrainingBatch batch = step_batch(model, set, step);
    study.tokens = static_cast<std::int64_t>(batch.input_ids.size());
    trainer.set_batch(batch);
    trainer.set_seed(request.model_options.seed);
    study.loss = trainer.forward();
    trainer.backward();
  }
  return true;
}

TrainSensitivity train_study_of(const Model& model, const QualitySet& set, const SensitivityRequest& request,
                                const MachineFacts& facts, const StudyCallbacks& callbacks) {
  TrainSensitivity study;
  study.model = short_name(model);
  study.data = set.data;
  study.step = request.steps;
  study.learning_rate = request.learning_rate;
  const std::vector<CheckedPrecision> precisions = checked_precisions(request, model, facts);
  for (const CheckedPrecision& one : precisions) study.precisions.push_back(one.choice.name());
  SensitivityRequest usual = request;
  usual.storage = {};
  Trainer trainer(model.config, model.weights, step_options(usual, model, choose_precision("fp32", "", std::nullopt)),
                  find_backend(request.engine.device), facts);
  study.is_partial = !train_until(trainer, model, set, request, callbacks, study);
  if (study.is_partial) return study;
  std::vector<LookedAt> layers = layers_of(trainer.programs().step);
  read_output_gradients(*trainer.step_plan(), layers);
  for (LookedAt& one : layers) {
    for (const CheckedPrecision& precision : precisions)
      one.layer.rows.push_back(
          {precision.choice.name(), formats_of(precision, one.layer.path, one.parameters.front())});
    look_at_updates(trainer, one);
    look_at_gradients(trainer, one);
    study.layers.push_back(std::move(one.layer));
  }
  return study;
}

}  // namespace

FormatLoss format_loss(std::span<const float> values, DType dtype, double scale) {
  Counted counted;
  count_losses(values, thresholds_of(dtype), scale, counted);
  return counted.shares();
}

FormatLoss scaled_format_loss(std::span<const float> values, DType dtype, std::int64_t stretch) {
  const Thresholds at = thresholds_of(dtype);
  const std::size_t step = stretch == 0 ? std::max<std::size_t>(values.size(), 1) : static_cast<std::size_t>(stretch);
  Counted counted;
  for (std::size_t first = 0; first < values.size(); first += step) {
    const std::span<const float> part = values.subspan(first, std::min(step, values.size() - first));
    float largest = 0;
    for (const float value : part) largest = std::max(largest, std::abs(value));
    count_losses(part, at, float8_scale(dtype, largest), counted);
  }
  return counted.shares();
}

std::vector<TrainSensitivity> train_sensitivity_of(const SensitivityRequest& request, const FactsSource& source,
                                                   const StudyCallbacks& callbacks) {
  check_sensitivity(request);
  std::vector<Model> models;
  std::vector<QualitySet> sets;
  models.reserve(request.models.size());
  sets.reserve(request.models.size());
  for (std::size_t i = 0; i < request.models.size(); ++i) {
    models.push_back(open_model(request.models[i], request.model_options));
    sets.push_back(set_for(models.back(), request, i));
  }
  const MachineFacts facts = source();
  std::vector<TrainSensitivity> studies;
  studies.reserve(models.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    SensitivityRequest own = request;
    own.engine = engine_for(sets[i], request.engine);
    studies.push_back(train_study_of(models[i], sets[i], own, facts, callbacks));
  }
  return studies;
}

}  // namespace assay
