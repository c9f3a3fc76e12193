#include "studies/autocast/run.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/error.h"
#include "base/random.h"
#include "program/builder.h"
#include "program/passes.h"
#include "studies/shared/engine.h"
#include "training/programs.h"

namespace assay {
namespace {

constexpr std::int64_t toy_in = 16;
constexpr std::int64_t toy_hidden = 10;
constexpr std::int64_t toy_out = 4;
constexpr Extent toy_extent{8, 1};

/// "layers.*.ln1" of "layers.3.ln1".
std::string without_numbers(const std::string& path) {
  std::string pattern;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    const bool number =
        !part.empty() && std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c); });
    pattern += (begin == 0 ? "" : ".") + (number ? "*" : part);
    begin = end + 1;
  }
  return pattern;
}

/// Rows in the order in which they first appear.
class Rows {
 public:
  void add(ValueKind kind, const std::string& name, const std::string& operation, DType dtype) {
    const std::string pattern = without_numbers(name);
    for (DtypeRow& row : rows_) {
      if (row.kind != kind || row.name != pattern || row.operation != operation || row.dtype != dtype) continue;
      ++row.count;
      return;
    }
    rows_.push_back({kind, pattern, operation, dtype, 1});
  }
  std::vector<DtypeRow> take() { return std::move(rows_); }

 private:
  std::vector<DtypeRow> rows_;
};

ValueKind kind_of(const Program& step, const Node& node, ValueId id) {
  if (id == step.output("loss")) return ValueKind::loss;
  if (id == step.output("logits")) return ValueKind::logits;
  if (node.phase == Phase::backward) return ValueKind::activation_gradient;
  return node.operation == &op::cast ? ValueKind::cast : ValueKind::activation;
}

void add_computed(const Program& step, Phase phase, Rows& rows) {
  for (const Node& node : step.nodes) {
    if (node.phase != phase) continue;
    for (const ValueId id : node.outputs) {
      if (id == no_value || step.value(id).source == Source::state) continue;
      rows.add(kind_of(step, node, id), node.path, node.operation->name, step.value(id).dtype);
    }
  }
}

ValueId toy_linear(Builder& b, ValueId x, const std::string& path, std::int64_t out) {
  b.at(path, Role::mlp);
  const Dim in = b.program().value(x).shape.back();
  return b.add(op::linear, {x, b.weight(path + ".weight", {dim(out), in}), no_value});
}

Program toy_forward() {
  Builder b;
  const ValueId x = b.input("x", DType::f32, {dim_batch, dim(toy_in)});
  const ValueId labels = b.input("labels", DType::s32, {dim_batch});
  Attributes relu;
  relu.activation = Activation::relu;
  Attributes norm;
  norm.epsilon = 1e-5;
  const ValueId h = toy_linear(b, x, "fc1", toy_hidden);
  b.at("relu", Role::mlp);
  const ValueId activated = b.add(op::activation, {h}, relu);
  b.at("ln", Role::norm);
  const Dim width = dim(toy_hidden);
  const ValueId normal =
      b.add(op::layer_norm, {activated, b.weight("ln.weight", {width}), b.weight("ln.bias", {width})}, norm);
  const ValueId logits = toy_linear(b, normal, "fc2", toy_out);
  b.output("logits", logits);
  b.at("loss", Role::loss);
  b.output("loss", b.add(op::cross_entropy, {logits, labels}));
  return b.take();
}

void fill_parameters(const Program& step, std::uint64_t seed, State& state) {
  for (const Value& value : step.values) {
    if (!is_parameter(value)) continue;
    Tensor& tensor = *state.find(value.name);
    Random random(seed, static_cast<std::uint64_t>(&value - step.values.data()));
    std::vector<float> numbers(static_cast<std::size_t>(tensor.count()), value.name == "ln.weight" ? 1.0F : 0.0F);
    if (value.shape.size() == 2) {
      const double scale = 1 / std::sqrt(static_cast<double>(value.shape.back().factor));
      for (float& number : numbers) number = static_cast<float>(scale * random.next_normal());
    }
    convert(DType::f32, numbers.data(), tensor.dtype(), tensor.data(), numbers.size());
    state.store(value.name);
  }
}

void set_toy_inputs(Plan& plan, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> x(static_cast<std::size_t>(toy_extent.batch * toy_in));
  for (float& number : x) number = static_cast<float>(random.next_normal());
  std::vector<std::int32_t> labels(static_cast<std::size_t>(toy_extent.batch));
  for (std::int32_t& label : labels) label = static_cast<std::int32_t>(random.below(toy_out));
  const float one = 1;
  plan.set_input("x", std::as_bytes(std::span(x)));
  plan.set_input("labels", std::as_bytes(std::span(labels)));
  plan.set_input("loss_scale", std::as_bytes(std::span(&one, 1)));
}

double largest_magnitude(const Tensor& tensor) {
  double largest = 0;
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    const double magnitude = std::abs(static_cast<double>(tensor.as<float>()[i]));
    if (!(magnitude <= largest)) largest = magnitude;
    if (std::isnan(largest)) break;
  }
  return largest;
}

Program model_step(const ModelConfig& config, const PrecisionChoice& precision, Fusion fusion) {
  TrainingOptions options;
  options.precision = precision;
  options.parts = StepParts::forward_backward;
  options.fusion = fusion;
  return training_programs(config, options).step;
}

PrecisionChoice autocast_precision(const std::string& precision) {
  PrecisionChoice choice = choose_precision(precision, "", std::nullopt);
  if (choice.row.rule != Activations::autocast_lists)
    fail_user("{}: is not autocast; mixed-fp16 and mixed-bf16 are", precision);
  return choice;
}

}  // namespace

const char* name(ValueKind kind) {
  constexpr const char* names[] = {"input",  "parameter", "cast",     "activation",
                                   "logits", "loss",      "gradient", "activation gradient"};
  return names[static_cast<std::size_t>(kind)];
}

std::vector<DtypeRow> dtype_rows(const Program& step) {
  Rows rows;
  for (const NamedValue& in : step.inputs) rows.add(ValueKind::input, in.name, "", step.value(in.value).dtype);
  for (const Value& value : step.values) {
    if (is_parameter(value)) rows.add(ValueKind::parameter, value.name, "", value.dtype);
  }
  add_computed(step, Phase::forward, rows);
  for (const NamedValue& out : step.outputs) {
    if (step.value(out.value).source == Source::state)
      rows.add(ValueKind::gradient, out.name, "", step.value(out.value).dtype);
  }
  add_computed(step, Phase::backward, rows);
  return rows.take();
}

Program toy_step(const PrecisionChoice& precision, Fusion fusion) {
  const Program forward = assign_training_dtypes(toy_forward(), precision);
  if (fusion == Fusion::off) return differentiate(forward, {});
  return fuse_gradients(differentiate(fuse(forward, Purpose::training), {}));
}

ToyRun run_toy(const Program& step, const PrecisionChoice& precision, const MachineFacts& facts, std::uint64_t seed) {
  const Weights no_weights;
  Instance instance(step, precision, no_weights, cpu_backend(), facts);
  State state;
  PlanOptions options;
  options.extent = toy_extent;
  options.state = &state;
  for (const NamedValue& out : step.outputs) options.outputs.push_back(out.name);
  Plan plan(instance, options);
  fill_parameters(step, seed, state);
  set_toy_inputs(plan, seed);
  plan.run();
  ToyRun run;
  for (const NamedValue& out : step.outputs) {
    const Tensor values = plan.output_f32(out.name);
    if (out.name == "loss") {
      run.loss = *values.as<float>();
    } else {
      run.figures.push_back({out.name, largest_magnitude(values)});
    }
  }
  return run;
}

AutocastLists autocast_lists() {
  AutocastLists lists;
  for (const Operation* operation : all_operations()) {
    if (operation->gradient == nullptr || operation == &op::cast) continue;  // Those that a model is written in.
    if (operation->autocast == Autocast::low_precision) lists.cast_down.push_back(operation->name);
    if (operation->autocast == Autocast::full_precision) lists.kept_in_f32.push_back(operation->name);
    if (operation->autocast == Autocast::widest) lists.widest.push_back(operation->name);
  }
  return lists;
}

AutocastResult autocast_result(const AutocastRequest& request, const FactsSource& facts) {
  const bool toy = request.model == "toy";
  std::vector<PrecisionChoice> precisions;
  for (const std::string& precision : request.precisions) precisions.push_back(autocast_precision(precision));
  if (precisions.empty()) fail_user("--precision: one of mixed-fp16 and mixed-bf16 is needed");
  const std::string timed = toy ? "gpt2" : request.model;
  const Model model = open_model(timed, request.model_options);
  const MachineFacts machine = facts();
  AutocastResult result;
  result.model = request.model;
  for (const PrecisionChoice& precision : precisions) {
    const Program step =
        toy ? toy_step(precision, request.fusion) : model_step(model.config, precision, request.fusion);
    AutocastTable table{precision.name(), request.fusion, dtype_rows(step), std::nullopt};
    if (toy) table.run = run_toy(step, precision, machine, request.model_options.seed);
    result.tables.push_back(std::move(table));
  }
  result.lists = autocast_lists();
  result.sensitivity = norm_sensitivity(request.model_options.seed);
  result.costs = norm_costs(model.name, model.config, machine, request.seconds);
  return result;
}

}  // namespace assay
