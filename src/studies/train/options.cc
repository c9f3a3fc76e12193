#include "studies/train/options.h"

#include <cmath>

#include "base/error.h"

namespace assay {
namespace {

const char* word(Schedule::Shape shape) {
  switch (shape) {
    case Schedule::Shape::constant:
      return "constant";
    case Schedule::Shape::linear:
      return "linear";
    case Schedule::Shape::cosine:
      return "cosine";
  }
  return "?";
}

Json of_optimizer(const OptimizerOptions& o) {
  return {{"--optimizer", o.kind == OptimizerKind::adamw ? "adamw" : "sgd"},
          {"--lr", o.learning_rate},
          {"--beta1", o.beta1},
          {"--beta2", o.beta2},
          {"--eps", o.epsilon},
          {"--weight-decay", o.weight_decay},
          {"--no-decay", words(o.groups.no_decay)},
          {"--lr-by-role", words(o.groups.rates)},
          {"--adamw", o.variant == AdamW::pytorch ? "pytorch" : "cs336"},
          {"--stochastic-rounding", o.rounding == Rounding::stochastic},
          {"--clip", o.clip_norm},
          {"--warmup-steps", o.schedule.warmup_steps},
          {"--schedule", word(o.schedule.shape)},
          {"--min-lr-share", o.schedule.final_share}};
}

/// "" is what a training without the option has: earlier versions wrote none.
void add_storage(const TrainingStorage& storage, Json& json) {
  const bool usual = storage.states == &state_formats().front();
  json["--states"] = usual ? "" : storage.states->name;
  json["--gradients"] = storage.gradients ? gradient_word(storage.gradients) : "";
}

/// A recipe with the same row everywhere is that row.
void refuse_layers(const TrainRequest& request) {
  const Recipe* recipe = find_recipe(request.precision, request.engine);
  if (recipe == nullptr || recipe->layers.empty()) return;
  fail_user("{}: layers can have a precision of their own in inference; training has one",
            words(recipe->layers.front()));
}

/// What a recipe says of groups, where the command line says nothing.
void take_recipe_groups(const TrainRequest& request, ParameterGroups& groups) {
  const Recipe* recipe = find_recipe(request.precision, request.engine);
  if (recipe == nullptr) return;
  if (groups.no_decay.empty()) groups.no_decay = recipe->training.no_decay;
  if (groups.rates.empty()) groups.rates = recipe->training.rates;
}

}  // namespace

std::int64_t total_steps(const TrainRequest& request, std::int64_t steps_an_epoch) {
  if (request.steps > 0) return request.steps;
  if (steps_an_epoch == 0) fail_user("train: --steps N is needed");
  return request.epochs * steps_an_epoch;
}

TrainingOptions settle_options(const TrainRequest& request, const Model& model, const TrainingData& data,
                               const MachineFacts& facts, const Group& group) {
  refuse_layers(request);
  if (request.tokens.empty() && request.batch < group.size())
    fail_user("--batch {}: has no row for each of {} ranks", request.batch, group.size());
  TrainingOptions options = request.training;
  options.sharding.rank = group.rank();
  options.sharding.ranks = group.size();
  options.sharding.bucket_bytes = request.reduce.bucket_bytes;
  options.token_types = data.token_types;
  options.precision = precision_choice(request.precision, request.engine, facts);
  if (!request.base.empty()) options.base = FrozenBase{find_precision(request.base), model.weights.formats()};
  options.fusion = request.engine.fusion;
  options.graphs = request.engine.graphs;
  options.norms = GradientNorms::always;  // They are told, and a gradient that is not finite is seen in its own step.
  if (request.accumulate > 1) options.gradients = Gradients::added;
  take_recipe_groups(request, options.optimizer.groups);
  Schedule& schedule = options.optimizer.schedule;
  schedule.total_steps = total_steps(request, data.steps_an_epoch);
  if (request.warmup_share > 0)
    schedule.warmup_steps = std::llround(request.warmup_share * static_cast<double>(schedule.total_steps));
  return options;
}

std::string rank_options(const TrainRequest& request, std::int64_t total_steps) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {}", total_steps, request.save_every, request.eval_every,
                     request.check_every, static_cast<int>(request.nonfinite), request.reduce.format.name,
                     static_cast<int>(request.reduce.by), request.reduce.bucket_bytes,
                     static_cast<int>(request.training.sharding.stage), request.accumulate) +
         request.out.string() + static_cast<char>('0' + static_cast<int>(request.earlier));
}

Json recorded_options(const TrainRequest& request, const TrainingOptions& options, const Model& model,
                      const std::string& data_identity) {
  Json json = of_optimizer(options.optimizer);
  add_storage(options.storage, json);
  json["model"] = weights_identity(model) + (request.labels > 0 ? model.weights.identity : "");
  json["data"] = data_identity;
  json["--precision"] = options.precision.name();
  json["--device"] = request.engine.device;
  json["--fusion"] = options.fusion == Fusion::on ? "on" : "off";
  json["--dropout"] = options.dropout;
  json["--labels"] = request.labels;
  if (!model.config.adapters.empty()) {
    json["--lora"] = request.lora ? words(*request.lora) : "";
    json["--lora-dropout"] = options.adapter_dropout;
    json["--base"] = request.base;
  }
  json["--seed"] = request.model_options.seed;
  if (options.optimizer.schedule.shape != Schedule::Shape::constant)
    json["--steps"] = options.optimizer.schedule.total_steps;
  if (!request.tokens.empty()) return json;
  json["--batch"] = request.batch;
  if (model.config.task == Task::language_model) json["--seq"] = request.seq;
  return json;
}

}  // namespace assay
