#include "experiments/train.h"

#include <cmath>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"
#include "experiments/train_data.h"
#include "experiments/train_options.h"
#include "model/fresh_head.h"

namespace assay {
namespace {

Model open_for_training(const TrainRequest& request) {
  Model model = open_model(request.model, request.model_options);
  if (request.labels == 0) return model;
  return with_fresh_head(std::move(model), {request.labels, request.model_options.seed});
}

std::int64_t real_tokens(const TrainingBatch& batch) {
  if (batch.attention_mask.empty()) return static_cast<std::int64_t>(batch.input_ids.size());
  return std::accumulate(batch.attention_mask.begin(), batch.attention_mask.end(), std::int64_t{0});
}

/// One training from its start, or from where an earlier run left it, to its end.
class TrainingRun {
 public:
  TrainingRun(const TrainRequest& request, const MachineFacts& facts, const TrainCallbacks& callbacks)
      : request_(request),
        facts_(facts),
        callbacks_(callbacks),
        model_(open_for_training(request)),
        input_(train_input(request, model_, callbacks)),
        options_(settle_options(request, input_.data.steps_an_epoch, facts)),
        trainer_(model_.config, model_.weights, options_, find_backend(request.engine.device), facts) {
    report_.data = input_.data.words;
    report_.total = total_steps(request, input_.data.steps_an_epoch);
    progress_.options = recorded_options(request, options_, model_, input_.identity);
    take_up();
  }

  TrainReport run() {
    start_s_ = now_s();
    while (progress_.steps < report_.total && !interrupted()) {
      step();
      if (is_epochs_end()) evaluate_epoch();
      if (request_.save_every > 0 && progress_.steps % request_.save_every == 0) save();
    }
    save();
    report_.losses = progress_.losses;
    report_.skipped = trainer_.loss_scale().progress().skipped;
    return report_;
  }

 private:
  bool interrupted() const { return callbacks_.interrupted != nullptr && *callbacks_.interrupted; }

  void say(const std::string& sentence) const {
    if (callbacks_.say) callbacks_.say(sentence);
  }

  void take_up() {
    if (request_.out.empty()) return;
    const std::string folder = request_.out.string();
    if (request_.resume == Resume::yes) {
      progress_ = resume_training(request_.out, model_, trainer_, progress_.options);
      if (progress_.steps > report_.total)
        fail_user("{}: has {} steps already, {} were asked for", folder, progress_.steps, report_.total);
      saved_steps_ = progress_.steps;
      say(fmt::format("{}: going on after step {}", folder, progress_.steps));
    } else if (holds_training(request_.out)) {
      say(fmt::format("{}: the earlier training there is replaced (--resume would go on with it)", folder));
    }
  }

  void step() {
    const TrainingBatch batch = input_.data.batch(progress_.steps);
    const double begin_s = now_s();
    TrainStatus status;
    status.last = run_step(trainer_, batch, progress_.steps, {request_.accumulate, request_.model_options.seed});
    report_.seconds += now_s() - begin_s;
    tokens_ += real_tokens(batch);
    progress_.losses.push_back(status.last.loss);
    const auto done = static_cast<double>(++steps_here_);
    status.steps = ++progress_.steps;
    status.total = report_.total;
    status.skipped = trainer_.loss_scale().progress().skipped;
    status.tokens_per_s = report_.tokens_per_s = static_cast<double>(tokens_) / report_.seconds;
    status.seconds_left = report_.seconds / done * static_cast<double>(status.total - status.steps);
    if (callbacks_.step) callbacks_.step(status);
  }

  bool is_epochs_end() const {
    if (!input_.eval) return false;
    return progress_.steps == report_.total || progress_.steps % input_.data.steps_an_epoch == 0;
  }

  /// The trained weights in the forward-only program of the same precision.
  void evaluate_epoch() {
    Model trained;
    trained.name = model_.name;
    trained.config = model_.config;
    trained.weights = weights_of(trainer_.programs(), trainer_.state(), "trained");
    const auto instance = make_instance(trained, request_.precision, request_.engine, facts_);
    Instance* const instances[] = {instance.get()};
    const Evaluation evaluation = evaluate(instances, *input_.eval, {callbacks_.interrupted, {}});
    if (!evaluation.is_whole()) return;
    const Quality& quality = evaluation.qualities[0];
    EpochScore score;
    score.epoch = (progress_.steps + input_.data.steps_an_epoch - 1) / input_.data.steps_an_epoch;
    score.of = static_cast<std::int64_t>(quality.correct.size());
    score.correct = std::accumulate(quality.correct.begin(), quality.correct.end(), std::int64_t{0});
    score.mean_loss = std::accumulate(quality.nll.begin(), quality.nll.end(), 0.0) / static_cast<double>(score.of);
    score.seconds = now_s() - start_s_;
    report_.epochs.push_back(score);
    if (callbacks_.epoch) callbacks_.epoch(score);
  }

  void save() {
    if (request_.out.empty() || saved_steps_ == progress_.steps) return;
    save_training(request_.out, model_, trainer_, progress_);
    saved_steps_ = progress_.steps;
  }

  const TrainRequest& request_;
  const MachineFacts& facts_;
  const TrainCallbacks& callbacks_;
  Model model_;
  TrainInput input_;
  TrainingOptions options_;
  Trainer trainer_;
  TrainingProgress progress_;
  TrainReport report_;
  std::int64_t saved_steps_ = -1;
  std::int64_t steps_here_ = 0;
  std::int64_t tokens_ = 0;
  double start_s_ = 0;
};

}  // namespace

TrainReport train(const TrainRequest& request, const MachineFacts& facts, const TrainCallbacks& callbacks) {
  if (!request.out.empty()) check_training_folder(request.out);
  if (request.resume == Resume::yes && request.out.empty())
    fail_user("--resume: needs --out, the folder to go on with");
  return TrainingRun(request, facts, callbacks).run();
}

}  // namespace assay
