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
#include "base/threads.h"
#include "base/units.h"
#include "base/write_file.h"
#include "model/fresh_head.h"
#include "processes/thread_ranks.h"
#include "quality/compare.h"
#include "quantization/new_path.h"
#include "studies/shared/meet_on_devices.h"
#include "studies/shared/quality_data.h"
#include "studies/train/data.h"
#include "studies/train/merge.h"
#include "studies/train/options.h"
#include "studies/train/ranks.h"
#include "training/manifest.h"
#include "training/recomputation.h"
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

/// It is written behind everything else.
void check_merge_place(const TrainRequest& request) {
  check_new_path(request.merge, Existing::refused);
  for (const auto& [option, path] : {std::pair("--out", request.out), {"--optimizer-to", request.optimizer_to}}) {
    if (!path.empty() && is_same_file(request.merge, path))
      fail_user("--merge {}: is also what {} writes", request.merge.string(), option);
  }
}

void check_adapters(const TrainRequest& request) {
  const bool has_adapters = request.lora || !request.lora_from.empty();
  if (!request.base.empty()) find_precision(request.base);
  if (!request.merge.empty() && !has_adapters)
    fail_user("--merge: there is nothing to add without --lora or --lora-from");
  if (!request.merge.empty()) check_merge_place(request);
  if (!request.optimizer_from.empty() && request.earlier == Earlier::resumed)
    fail_user("--optimizer-from: --resume goes on with the optimizer's state that stands in {}", request.out.string());
}

/// One training from its start, or from where an earlier run left it, to its end.
class TrainingRun {
 public:
  /// `folder`: where the training is kept; null: nowhere, or on another rank.
  TrainingRun(const TrainRequest& request, const MachineFacts& facts, const TrainCallbacks& callbacks,
              TrainingFolder* folder, Group& group)
      : group_(group),
        request_(request),
        facts_(facts),
        callbacks_(callbacks),
        folder_(folder),
        model_(open_for_training(request)),
        input_(train_input(request, model_, callbacks)),
        options_(settle_options(request, model_, input_.data, facts, group)),
        trainer_(model_.config, model_.weights, options_, find_backend(request.engine.device), facts) {
    report_.data = input_.data.words;
    report_.held = state_bytes_by_use(trainer_.programs());
    report_.total = total_steps(request, input_.data.steps_an_epoch);
    progress_.options = recorded_options(request, options_, model_, input_.identity);
    progress_.held_out_data = input_.eval_identity;
    if (is_alone()) trainer_.end_at(callbacks.interrupted);
  }

  TrainReport run() {
    if (!is_alone()) join_ranks();
    agreed(group_, [this] {
      take_up();
      take_optimizer();
    });
    agreed(group_, [this] { check_best(); });  // Behind all that rank 0 does in the folder.
    if (report_.saved) keep_best();
    start_s_ = now_s();
    try {
      run_steps();
    } catch (const RankLost& lost) {
      report_.failure = std::make_exception_ptr(RankLost(lost.ending, kept_words()));
    } catch (const std::exception&) {
      report_.failure = std::current_exception();
    }
    report_.scales = scales_.means();
    report_.losses = progress_.losses;
    report_.skipped = trainer_.loss_scale().progress().skipped;
    return report_;
  }

 private:
  void run_steps() {
    if (is_score_due() && !has_score()) evaluate_now();
    while (progress_.steps < report_.total && !interrupted() && step()) {
      if (is_score_due()) evaluate_now();
      if (request_.save_every > 0 && progress_.steps % request_.save_every == 0) save();
    }
    save();
    if (group_.rank() > 0) return;
    if (!request_.optimizer_to.empty()) export_optimizer(request_.optimizer_to, model_, trainer_);
    if (request_.merge.empty() || progress_.steps < report_.total || report_.lacks_score) return;
    write_merged(with_merged_lora(trained_model()), request_.merge, facts_);
    say(fmt::format("{}: the model with its adapters added", request_.merge.string()));
  }

  bool is_alone() const { return group_.size() == 1; }
  Group* shared_group() const { return is_alone() ? nullptr : &group_; }

  /// Ranks that train one model end behind the same step.
  bool interrupted() const { return is_alone() ? is_set(callbacks_.interrupted) : stopped_; }

  void join_ranks() {
    check_same_everywhere(group_,
                          {{"another model", progress_.options.at("model").dump()},
                           {"other data", input_.identity + input_.eval_identity},
                           {"other options", progress_.options.dump() + rank_options(request_, report_.total)}});
    DeviceMeeting meeting = meet_on_devices(group_, find_backend(request_.engine.device), request_.reduce,
                                            gradient_sizes(trainer_.programs().step));
    if (!meeting.words.empty()) say(meeting.words);
    trainer_.join(group_, request_.reduce, std::move(meeting.sums));
    report_.ranks = group_.size();
    report_.reduction = trainer_.reducer()->description();
    say(fmt::format("{} ranks, {}", group_.size(), report_.reduction));
  }

  void note_reduction() {
    const ReduceStatistics& step = trainer_.reducer()->statistics();
    report_.reduced.sent_bytes += trainer_.sent_bytes();
    report_.reduced.exposed_s += step.exposed_s;
    report_.reduced.busy_s += step.busy_s;
    if (request_.check_every > 0 && progress_.steps % request_.check_every == 0)
      check_same_weights(group_, trainer_.parameters_hash(), progress_.steps);
  }

  bool is_kept() const { return !request_.out.empty(); }
  std::filesystem::path out_folder() const { return folder_ != nullptr ? folder_->path() : request_.out; }

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
    if (!is_kept()) return;
    if (input_.eval && folder_ != nullptr) check_best_folder();
    const std::string folder = out_folder().string();
    if (request_.earlier == Earlier::resumed) {
      resume();
      if (progress_.steps > report_.total)
        fail_user("{}: has {} steps already, {} were asked for", folder, progress_.steps, report_.total);
      report_.saved = progress_.steps;
      say(fmt::format("{}: going on after step {}", folder, progress_.steps));
    } else if (holds_training(out_folder())) {
      say(fmt::format("{}: the earlier training there is replaced at the first save", folder));
    }
  }

  /// Scores of other data say nothing of which is best on this.
  void take_up_scores() {
    if (!input_.eval || progress_.held_out_data == input_.eval_identity) return;
    if (!progress_.held_out.empty()) say("--eval: is other data than before; what is best is found anew");
    progress_.held_out.clear();
    progress_.held_out_data = input_.eval_identity;
    has_unsaved_scores_ = true;
  }

  /// Before the first step it is known whether a checkpoint can be written there.
  void check_best_folder() const {
    std::vector<std::string> notes;
    if (is_there(best_folder())) const TrainingFolder held(best_folder(), notes);
  }

  /// A best/ that is not what the scores tell of: it was removed or damaged, or the disk was full. What did best at
  /// this step is written anew in any case.
  void check_best() {
    const std::optional<HeldOut> best = best_held_out();
    if (!is_kept() || !best || best->steps == progress_.steps) return;
    const std::string fault = fault_of_best(best->steps);
    if (fault.empty()) return;
    say(fmt::format("{}; what is best is found anew", fault));
    progress_.held_out.clear();
    has_unsaved_scores_ = true;
  }

  std::string fault_of_best(std::int64_t steps) const {
    try {
      const std::optional<Manifest> manifest = read_manifest(best_folder());
      if (!manifest || manifest->step != steps)
        return fmt::format("{}: does not hold the checkpoint of step {}, which did best", best_folder().string(),
                           steps);
      check_files(*manifest, best_folder(), Missing::refused);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  /// With other steps a schedule goes on as if it had always been meant to end there.
  void resume() {
    Json now = progress_.options;
    Json fixed = now;
    fixed.erase("--steps");
    if (request_.warmup_share > 0) fixed.erase("--warmup-steps");
    std::vector<std::string> notes;
    progress_ = resume_training(out_folder(), model_, trainer_, fixed, notes);
    const Json before = std::exchange(progress_.options, std::move(now));
    take_up_scores();
    for (const std::string& note : notes) say(note);
    if (before.value("--warmup-steps", Json(0)) != progress_.options.at("--warmup-steps"))
      say(fmt::format("the warm-up, which was to take {} steps, now takes {}",
                      before.value("--warmup-steps", Json(0)).dump(), progress_.options.at("--warmup-steps").dump()));
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
      result = run_step(trainer_, batch, progress_.steps,
                        {request_.accumulate, request_.model_options.seed, shared_group(), callbacks_.interrupted});
    } catch (const StepInterrupted&) {
      return false;
    }
    report_.seconds += now_s() - begin_s;
    tokens_ += real_tokens(batch);
    progress_.losses.push_back(result.loss);
    report_.gradient_norms.push_back(result.update.gradient_norm.value_or(std::numeric_limits<double>::quiet_NaN()));
    scales_.add(scale_shares(trainer_));
    ++progress_.steps;
    ++steps_here_;
    stopped_ = result.interrupted;
    tell(result);
    if (steps_here_ == 1) say_what_is_in_vain();
    if (!is_alone()) note_reduction();
    end_where_diverged(result);
    return true;
  }

  void say_what_is_in_vain() const {
    const std::string in_vain = recomputation_in_vain(model_.config, options_);
    if (in_vain.empty()) return;
    const Plan* const plan = trainer_.step_plan();
    if (plan == nullptr) return say(in_vain);  // A rank that has had no rows yet.
    say(fmt::format("{}; its buffers take {} with it and without", in_vain,
                    format_bytes(static_cast<double>(plan->arena_bytes()))));
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
    if (!is_kept()) return "";
    const std::string folder = out_folder().string();
    if (!report_.saved) return fmt::format("; nothing of it is in {}", folder);
    return fmt::format("; {} holds the training up to step {}", folder, *report_.saved);
  }

  bool is_score_due() const {
    if (!input_.eval || progress_.steps == 0) return false;
    return progress_.steps == report_.total || progress_.steps % evaluated_every() == 0;
  }

  bool has_score() const {
    return std::ranges::any_of(progress_.held_out, [&](const HeldOut& one) { return one.steps == progress_.steps; });
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
    report_.lacks_score = !rows;
    if (!rows) return;
    if (rows->non_finite)
      return say(fmt::format("after step {} there is no score: {}", progress_.steps, words(*rows->non_finite)));
    const QualityFigures figures = assay::figures(*rows);
    progress_.held_out.push_back({progress_.steps, figures.correct, figures.scored, figures.mean_nll});
    has_unsaved_scores_ = true;
    tell_score();
    report_.held_out = rows;
    keep_best();
  }

  /// The trained weights in the forward-only program of the same precision, of that of the base where adapters stand
  /// beside one; none where it was interrupted.
  std::optional<QualityRows> held_out_rows() {
    const Model trained = trained_model();
    const std::string& precision = request_.base.empty() ? request_.precision : request_.base;
    const QualitySet set = is_alone() ? *input_.eval : part_of_set(*input_.eval, group_);
    std::optional<QualityRows> rows = QualityRows{};
    if (!set.batches.empty()) {
      const auto instance = make_instance(trained, precision, engine_for(set, request_.engine), facts_);
      Instance* const instances[] = {instance.get()};
      const Evaluation evaluation = evaluate(instances, set, {callbacks_.interrupted, {}});
      rows = evaluation.is_whole() ? std::optional(evaluation.qualities[0]) : std::nullopt;
    }
    return is_alone() ? rows : joined_rows(group_, rows);
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

  std::filesystem::path best_folder() const { return out_folder() / best_folder_name; }

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
    if (!is_kept()) return;
    const std::optional<HeldOut> best = best_held_out();
    if (best && best->steps == progress_.steps) save_best();
    report_.best = best;
  }

  void save_best() {
    save();
    const auto elsewhere = trainer_.gather_moments();
    agreed(group_, [&] {
      if (folder_ == nullptr) return;
      std::vector<std::string> notes;
      TrainingFolder best(best_folder(), notes);
      save_training(best, model_, trainer_, progress_, elsewhere);
    });
  }

  void end_where_state_diverged() const {
    std::optional<std::string> name = nonfinite_tensor(model_, trainer_);
    if (!is_alone()) name = first_name(group_, name);
    if (name) diverge(fmt::format("behind it tensor '{}' is not finite", *name));
  }

  void save() {
    if ((report_.saved == progress_.steps && !has_unsaved_scores_) || progress_.steps == 0) return;
    end_where_state_diverged();
    if (!is_kept()) return;
    const auto elsewhere = trainer_.gather_moments();
    agreed(group_, [&] {
      if (folder_ == nullptr) return;
      save_training(*folder_, model_, trainer_, progress_, elsewhere);
      // What an earlier training did best is none of this one's.
      if (request_.earlier == Earlier::overwritten && !report_.saved) remove_training(best_folder());
    });
    report_.saved = progress_.steps;
    has_unsaved_scores_ = false;
  }

  Group& group_;
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
  MeanScaleShares scales_;
  std::int64_t steps_here_ = 0;
  std::int64_t tokens_ = 0;
  double start_s_ = 0;
  bool stopped_ = false;             ///< Some rank was interrupted in the last step.
  bool has_unsaved_scores_ = false;  ///< Others than the folder's training.json has.
};

void claim(const TrainRequest& request, const TrainCallbacks& callbacks, std::optional<TrainingFolder>& folder) {
  if (request.earlier == Earlier::resumed && request.out.empty())
    fail_user("--resume: needs --out, the folder to go on with");
  if (request.out.empty()) return;
  std::vector<std::string> notes;
  folder.emplace(request.out, notes);
  for (const std::string& note : notes) {
    if (callbacks.say) callbacks.say(note);
  }
  if (request.earlier == Earlier::refused && holds_training(request.out))
    fail_user("{}: holds a training; --resume goes on with it, --overwrite replaces it", request.out.string());
}

RankEnding ending_of(const Group& group, const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const RankLost& lost) {
    return lost.ending;
  } catch (const std::exception& error) {
    return {group.rank(), fmt::format("ended: {}", error.what())};
  }
}

/// The machine as all ranks have it: with the instruction sets that each has.
MachineFacts shared_facts(Group& group, const MachineFacts& facts, const TrainCallbacks& callbacks) {
  const SharedInstructions instructions = shared_instructions(group, facts.isa);
  if (!instructions.words.empty() && callbacks.say) callbacks.say(instructions.words);
  MachineFacts shared = facts;
  shared.isa = instructions.sets;
  return shared;
}

}  // namespace

TrainReport train(const TrainRequest& request, const MachineFacts& own_facts, const TrainCallbacks& callbacks,
                  Group& group) {
  const MachineFacts facts = group.size() == 1 ? own_facts : shared_facts(group, own_facts, callbacks);
  std::optional<TrainingFolder> folder;
  agreed(group, [&] {
    check_adapters(request);
    check_reduce(request.reduce);
    const bool exchanges = !request.optimizer_to.empty() || !request.optimizer_from.empty();
    if (exchanges && request.training.storage.states->block > 0)
      fail_user("--states {}: is not exchanged with PyTorch; other states are", request.training.storage.states->name);
    if (request.training.sharding.stage != ZeroStage::none && !request.optimizer_to.empty())
      fail_user("--optimizer-to: each rank keeps its share of the moments with --zero; a run without writes them");
    if (group.rank() != 0) return;
    if (!request.optimizer_to.empty()) check_writable(request.optimizer_to);
    claim(request, callbacks, folder);
  });
  std::optional<TrainingRun> run;
  agreed(group, [&] { run.emplace(request, facts, callbacks, folder ? &*folder : nullptr, group); });
  return run->run();
}

TrainReport train_as_threads(const TrainRequest& request, const MachineFacts& facts, const TrainCallbacks& callbacks,
                             int ranks) {
  MachineFacts own = facts;
  own.threads = std::max(1, facts.threads / ranks);
  own.available_bytes = facts.available_bytes / ranks;
  TrainCallbacks silent;
  silent.interrupted = callbacks.interrupted;
  TrainReport first;
  run_as_ranks(ranks, [&](Group& group) {
    set_threads(own.threads);
    TrainReport report = train(request, own, group.rank() == 0 ? callbacks : silent, group);
    if (group.rank() == 0)
      first = std::move(report);
    else if (report.failure)
      group.leave(ending_of(group, report.failure));
  });
  return first;
}

TrainReport train(const TrainRequest& request, const MachineFacts& facts, const TrainCallbacks& callbacks) {
  SingleProcess alone;
  return train(request, facts, callbacks, alone);
}

}  // namespace assay
