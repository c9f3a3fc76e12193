#include "studies/train/run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/paths.h"
#include "model/fresh_head.h"
#include "quality/compare.h"
#include "quantization/new_path.h"
#include "studies/shared/quality_data.h"
#include "studies/train/data.h"
#include "studies/train/merge.h"
#include "studies/train/options.h"
#include "training/manifest.h"
#include "training/torch_state.h"

namespace assay {
namespace {

/// What a checkpoint takes over from the model's folder: that it cannot be read is not to be found out after all steps.
void check_support_files(const Model& model) {
  if (!model.files || !is_folder(*model.files)) return;
  for (const char* file : support_files) {
    const std::filesystem::path path = *model.files / file;
    if (is_there(path)) read_file(path);
  }
}

Model open_for_training(const TrainRequest& request) {
  Model model = open_model(request.model, request.model_options);
  if (!request.out.empty()) check_support_files(model);
  if (request.labels > 0) model = with_fresh_head(std::move(model), {request.labels, request.model_options.seed});
  if (request.lora) return with_fresh_lora(std::move(model), *request.lora, request.model_options.seed);
  return request.lora_from.empty() ? std::move(model) : with_lora_from(std::move(model), request.lora_from);
}

std::int64_t real_tokens(const TrainingBatch& batch) {
  if (batch.attention_mask.empty()) return static_cast<std::int64_t>(batch.input_ids.size());
  return std::accumulate(batch.attention_mask.begin(), batch.attention_mask.end(), std::int64_t{0});
}

void check_adapters(const TrainRequest& request) {
  const bool has_adapters = request.lora || !request.lora_from.empty();
  if (!request.base.empty()) find_precision(request.base);
  if (!request.merge.empty() && !has_adapters)
    fail_user("--merge: there is nothing to add without --lora or --lora-from");
  if (!request.merge.empty()) check_new_path(request.merge, Existing::refused);
  if (!request.optimizer_from.empty() && request.earlier == Earlier::resumed)
    fail_user("--optimizer-from: --resume goes on with the optimizer's state that stands in {}", request.out.string());
}

/// One training from its start, or from where an earlier run left it, to its end.
class TrainingRun {
 public:
  /// `folder`: where the training is kept; null: nowhere.
  TrainingRun(const TrainRequest& request, const MachineFacts& facts, const TrainCallbacks& callbacks,
              TrainingFolder* folder)
      : request_(request),
        facts_(facts),
        callbacks_(callbacks),
        folder_(folder),
        model_(open_for_training(request)),
        input_(train_input(request, model_, callbacks)),
        options_(settle_options(request, model_, input_.data, facts)),
        trainer_(model_.config, model_.weights, options_, find_backend(request.engine.device), facts) {
    report_.data = input_.data.words;
    report_.total = total_steps(request, input_.data.steps_an_epoch);
    progress_.options = recorded_options(request, options_, model_, input_.identity);
    progress_.held_out_data = input_.eval_identity;
    trainer_.end_at(callbacks.interrupted);
    take_up();
    take_optimizer();
  }

  TrainReport run() {
    start_s_ = now_s();
    try {
      run_steps();
    } catch (const std::exception&) {
      report_.failure = std::current_exception();
    }
    report_.losses = progress_.losses;
    report_.skipped = trainer_.loss_scale().progress().skipped;
    return report_;
  }

 private:
  void run_steps() {
    while (progress_.steps < report_.total && !interrupted() && step()) {
      if (is_evaluated()) evaluate_now();
      if (request_.save_every > 0 && progress_.steps % request_.save_every == 0) save();
    }
    save();
    if (!request_.optimizer_to.empty()) export_optimizer(request_.optimizer_to, model_, trainer_);
    if (request_.merge.empty() || progress_.steps < report_.total) return;
    write_merged(with_merged_lora(trained_model()), request_.merge, facts_);
    say(fmt::format("{}: the model with its adapters added", request_.merge.string()));
  }

  bool interrupted() const { return is_set(callbacks_.interrupted); }

  void say(const std::string& sentence) const {
    if (callbacks_.say) callbacks_.say(sentence);
  }

  void take_optimizer() {
    if (request_.optimizer_from.empty() || request_.earlier == Earlier::resumed) return;
    progress_.updates_before = import_optimizer(request_.optimizer_from, model_, trainer_);
    say(fmt::format("{}: its {} updates go on; the schedule begins", request_.optimizer_from.string(),
                    progress_.updates_before));
  }

  void take_up() {
    if (folder_ == nullptr) return;
    if (input_.eval) check_best_folder();
    const std::string folder = folder_->path().string();
    if (request_.earlier == Earlier::resumed) {
      resume();
      if (progress_.steps > report_.total)
        fail_user("{}: has {} steps already, {} were asked for", folder, progress_.steps, report_.total);
      report_.saved = progress_.steps;
      say(fmt::format("{}: going on after step {}", folder, progress_.steps));
      keep_best();
    } else if (holds_training(folder_->path())) {
      say(fmt::format("{}: the earlier training there is replaced at the first save", folder));
    }
  }

  /// Scores of other data say nothing of which is best on this.
  void take_up_scores() {
    if (!input_.eval || progress_.held_out_data == input_.eval_identity) return;
    if (!progress_.held_out.empty()) say("--eval: is other data than before; what is best is found anew");
    progress_.held_out.clear();
    progress_.held_out_data = input_.eval_identity;
  }

  /// Before the first step it is known whether a checkpoint can be written there.
  void check_best_folder() const {
    std::vector<std::string> notes;
    if (is_there(best_folder())) const TrainingFolder held(best_folder(), notes);
  }

  /// With other steps a schedule goes on as if it had always been meant to end there.
  void resume() {
    Json now = progress_.options;
    Json fixed = now;
    fixed.erase("--steps");
    std::vector<std::string> notes;
    progress_ = resume_training(*folder_, model_, trainer_, fixed, notes);
    const Json before = std::exchange(progress_.options, std::move(now));
    take_up_scores();
    for (const std::string& note : notes) say(note);
    if (before.contains("--steps") && before.at("--steps") != progress_.options.at("--steps"))
      say(fmt::format("the schedule, which was to end at step {}, now ends at {}", before.at("--steps").dump(),
                      report_.total));
  }

  /// False where it was interrupted before its update.
  bool step() {
    const TrainingBatch batch = input_.data.batch(progress_.steps);
    const double begin_s = now_s();
    StepResult result;
    try {
      result = run_step(trainer_, batch, progress_.steps, {request_.accumulate, request_.model_options.seed});
    } catch (const StepInterrupted&) {
      return false;
    }
    report_.seconds += now_s() - begin_s;
    tokens_ += real_tokens(batch);
    progress_.losses.push_back(result.loss);
    report_.gradient_norms.push_back(result.update.gradient_norm.value_or(std::numeric_limits<double>::quiet_NaN()));
    ++progress_.steps;
    ++steps_here_;
    tell(result);
    end_where_diverged(result);
    return true;
  }

  void tell(const StepResult& result) {
    TrainStatus status;
    status.last = result;
    status.steps = progress_.steps;
    status.total = report_.total;
    status.skipped = trainer_.loss_scale().progress().skipped;
    status.tokens_per_s = report_.tokens_per_s = static_cast<double>(tokens_) / report_.seconds;
    status.seconds_left =
        report_.seconds / static_cast<double>(steps_here_) * static_cast<double>(status.total - status.steps);
    if (callbacks_.step) callbacks_.step(status);
  }

  void end_where_diverged(const StepResult& result) const {
    // Halved so often it is no longer the scale that makes the gradients infinite; soon it would be 0.
    if (trainer_.loss_scale().scale() < std::numeric_limits<float>::min())
      diverge("its gradients are not finite at any loss scale");
    if (request_.nonfinite == OnNonfinite::skip) return;
    if (!std::isfinite(result.loss)) diverge("its loss is not finite");
    if (result.update.skipped && !trainer_.loss_scale().is_dynamic()) diverge("its gradients are not finite");
  }

  [[noreturn]] void diverge(const std::string& what) const { throw Diverged(progress_.steps, what + kept_words()); }

  /// What an end before the end leaves.
  std::string kept_words() const {
    if (folder_ == nullptr) return "";
    const std::string folder = folder_->path().string();
    if (!report_.saved) return fmt::format("; nothing of it is in {}", folder);
    return fmt::format("; {} holds the training up to step {}", folder, *report_.saved);
  }

  bool is_evaluated() const {
    if (!input_.eval) return false;
    return progress_.steps == report_.total || progress_.steps % evaluated_every() == 0;
  }

  std::int64_t evaluated_every() const {
    constexpr std::int64_t times = 10;
    if (request_.eval_every > 0) return request_.eval_every;
    return has_epochs() ? input_.data.steps_an_epoch : std::max<std::int64_t>(report_.total / times, 1);
  }

  bool has_epochs() const { return input_.data.steps_an_epoch > 0; }

  void evaluate_now() {
    end_where_state_diverged();
    const std::optional<QualityRows> rows = held_out_rows();
    if (!rows) return;
    if (rows->non_finite)
      return say(fmt::format("after step {} there is no score: {}", progress_.steps, words(*rows->non_finite)));
    const QualityFigures figures = assay::figures(*rows);
    progress_.held_out.push_back({progress_.steps, figures.correct, figures.scored, figures.mean_nll});
    tell_score();
    report_.held_out = rows;
    keep_best();
  }

  /// The trained weights in the forward-only program of the same precision, of that of the base where adapters stand
  /// beside one; none where it was interrupted.
  std::optional<QualityRows> held_out_rows() {
    const Model trained = trained_model();
    const std::string& precision = request_.base.empty() ? request_.precision : request_.base;
    const auto instance = make_instance(trained, precision, engine_for(*input_.eval, request_.engine), facts_);
    Instance* const instances[] = {instance.get()};
    const Evaluation evaluation = evaluate(instances, *input_.eval, {callbacks_.interrupted, {}});
    if (!evaluation.is_whole()) return std::nullopt;
    return evaluation.qualities[0];
  }

  /// As it is now; this run must outlive it.
  Model trained_model() const {
    Model trained = model_;
    trained.calibrated.clear();
    trained.weights = weights_of(trainer_.programs(), trainer_.state(), "trained", model_.weights);
    return trained;
  }

  void tell_score() {
    EvalScore score;
    score.held_out = progress_.held_out.back();
    score.task = model_.config.task;
    if (has_epochs() && request_.eval_every == 0)
      score.epoch = (progress_.steps + input_.data.steps_an_epoch - 1) / input_.data.steps_an_epoch;
    score.seconds = now_s() - start_s_;
    report_.scores.push_back(score);
    if (callbacks_.score) callbacks_.score(score);
  }

  std::filesystem::path best_folder() const { return folder_->path() / best_folder_name; }

  /// Classifiers by what they answer, language models by their loss; the first of several that are equal.
  std::optional<HeldOut> best_held_out() const {
    const auto is_better = [&](const HeldOut& one, const HeldOut& other) {
      const bool by_answers = model_.config.task == Task::classification && one.correct != other.correct;
      return by_answers ? one.correct > other.correct : one.mean_loss < other.mean_loss;
    };
    const auto best = std::ranges::min_element(progress_.held_out, is_better);
    return best == progress_.held_out.end() ? std::nullopt : std::optional(*best);
  }

  /// The training itself is saved first, so that whoever is killed in between finds here what best/ lacks.
  void keep_best() {
    if (folder_ == nullptr) return;
    report_.best = best_held_out();
    if (!report_.best || report_.best->steps != progress_.steps) return;
    save();
    std::vector<std::string> notes;
    TrainingFolder best(best_folder(), notes);
    save_training(best, model_, trainer_, progress_);
  }

  void end_where_state_diverged() const {
    if (const std::optional<std::string> name = nonfinite_tensor(model_, trainer_))
      diverge(fmt::format("behind it tensor '{}' is not finite", *name));
  }

  void save() {
    if (report_.saved == progress_.steps || progress_.steps == 0) return;
    end_where_state_diverged();
    if (folder_ == nullptr) return;
    save_training(*folder_, model_, trainer_, progress_);
    // What an earlier training did best is none of this one's.
    if (request_.earlier == Earlier::overwritten && !report_.saved) remove_training(best_folder());
    report_.saved = progress_.steps;
  }

  const TrainRequest& request_;
  const MachineFacts& facts_;
  const TrainCallbacks& callbacks_;
  TrainingFolder* folder_;
  Model model_;
  TrainInput input_;
  TrainingOptions options_;
  Trainer trainer_;
  TrainingProgress progress_;
  TrainReport report_;
  std::int64_t steps_here_ = 0;
  std::int64_t tokens_ = 0;
  double start_s_ = 0;
};

}  // namespace

TrainReport train(const TrainRequest& request, const MachineFacts& facts, const TrainCallbacks& callbacks) {
  check_adapters(request);
  if (request.earlier == Earlier::resumed && request.out.empty())
    fail_user("--resume: needs --out, the folder to go on with");
  std::optional<TrainingFolder> folder;
  std::vector<std::string> notes;
  if (!request.out.empty()) folder.emplace(request.out, notes);
  for (const std::string& note : notes) {
    if (callbacks.say) callbacks.say(note);
  }
  if (folder && request.earlier == Earlier::refused && holds_training(request.out))
    fail_user("{}: holds a training; --resume goes on with it, --overwrite replaces it", request.out.string());
  return TrainingRun(request, facts, callbacks, folder ? &*folder : nullptr).run();
}

}  // namespace assay
