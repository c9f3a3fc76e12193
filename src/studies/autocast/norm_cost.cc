#include <cmath>
#include <memory>

#include "base/error.h"
#include "base/random.h"
#include "measure/sampling.h"
#include "program/builder.h"
#include "program/passes.h"
#include "studies/autocast/run.h"
#include "studies/shared/engine.h"
#include "training/programs.h"

namespace assay {
namespace {

constexpr Extent timed_extent{1, 128};

bool is_norm(const Node& node) {
  return node.operation == &op::layer_norm || node.operation == &op::rms_norm;
}

/// The norms of the model, each of one input x (B, T, d_model), outputs y.0, y.1, ...
Program norms_alone(const ModelConfig& config) {
  const Program model = build_program(config, {});
  Builder b;
  const ValueId x = b.input("x", DType::f32, {dim_batch, dim_seq, dim(config.d_model)});
  std::int64_t count = 0;
  for (const Node& node : model.nodes) {
    if (!is_norm(node) || !(model.value(node.inputs[0]).shape == b.program().value(x).shape)) continue;
    b.at(node.path, Role::norm);
    std::vector<ValueId> inputs = {x};
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      const Value& parameter = model.value(node.inputs[i]);
      inputs.push_back(b.weight(parameter.name, parameter.shape));
    }
    b.output(fmt::format("y.{}", count++), b.add(*node.operation, inputs, node.attributes));
  }
  return b.take();
}

/// Norms made ready in one precision, parameters 1, x standard normal.
class TimedNorms {
 public:
  TimedNorms(const Program& norms, const PrecisionChoice& choice, const MachineFacts& facts)
      : choice_(choice), instance_(assign_training_dtypes(norms, choice_), choice_, no_weights_, cpu_backend(), facts) {
    PlanOptions options;
    options.extent = timed_extent;
    options.outputs.clear();
    for (const NamedValue& out : norms.outputs) options.outputs.push_back(out.name);
    options.state = &state_;
    plan_ = std::make_unique<Plan>(instance_, options);
    fill();
    plan_->run();
  }

  Subject subject() {
    return {choice_.name(), [this] { run_norms(); },
            [this] { return static_cast<double>(*plan_->output_f32("y.0").as<float>()); }};
  }

  NormCost cost(const Series& series) const {
    const Step& norm = *norms().front();
    return {choice_.name(), norm.ledger.kernel, norm.ledger.verdict, *summarise(series.raw_ms)};
  }

  std::vector<const Step*> norms() const {
    std::vector<const Step*> steps;
    for (const Step& step : plan_->steps()) {
      if (is_norm(instance_.program().nodes[step.node])) steps.push_back(&step);
    }
    return steps;
  }

 private:
  void run_norms() const {
    for (const Step* step : norms()) step->kernel->run({step->inputs, step->outputs, step->workspace});
    plan_->device().wait();
  }

  void fill() {
    for (const auto& [name, tensor] : state_.tensors()) {
      Tensor& parameter = *state_.find(name);
      const std::vector<float> ones(static_cast<std::size_t>(tensor.count()), 1.0F);
      convert(DType::f32, ones.data(), parameter.dtype(), parameter.data(), ones.size());
      state_.store(name);
    }
    Random random(1);
    const Value& x = instance_.program().value(instance_.program().inputs[0].value);
    std::vector<float> numbers(static_cast<std::size_t>(element_count(concrete(x.shape, timed_extent))));
    for (float& number : numbers) number = static_cast<float>(random.next_normal());
    plan_->set_input("x", std::as_bytes(std::span(numbers)));
  }

  PrecisionChoice choice_;
  Weights no_weights_;
  Instance instance_;
  State state_;
  std::unique_ptr<Plan> plan_;
};

}  // namespace

NormCosts norm_costs(const std::string& name, const ModelConfig& config, const MachineFacts& facts, double seconds) {
  const Program norms = norms_alone(config);
  const auto timed = [&](const char* precision, const char* overrides) {
    return std::make_unique<TimedNorms>(norms, choose_precision(precision, overrides, std::nullopt), facts);
  };
  const std::unique_ptr<TimedNorms> all[] = {timed("fp16", ""), timed("fp16", "norm=f16"), timed("mixed-fp16", "")};
  std::vector<Subject> subjects;
  for (const auto& one : all) subjects.push_back(one->subject());
  SamplingOptions options;
  options.seconds = seconds;
  const std::vector<Series> series = sample(subjects, options);
  NormCosts costs = {name, timed_extent, static_cast<std::int64_t>(all[0]->norms().size()), {}};
  for (std::size_t i = 0; i < series.size(); ++i) costs.rows.push_back(all[i]->cost(series[i]));
  return costs;
}

}  // namespace assay
