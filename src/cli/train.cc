#include "studies/train/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/streams.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/output_options.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "cli/step_options.h"
#include "cli/train_options.h"
#include "processes/launch.h"
#include "studies/train/document.h"
#include "tensor/precision.h"

namespace assay {
namespace {

struct TrainCommand {
  TrainRequest request;
  MachineOptions machine;
  OutputOptions outputs;
  int ranks = 1;  ///< Threads of this process.
};

/// They stand beside whatever head the model gets: they are opened behind it.
void take_adapters(TrainRequest& request) {
  request.lora = std::exchange(request.model_options.lora, std::nullopt);
  request.lora_from = std::exchange(request.model_options.lora_from, {});
}

void add_adapter_options(CLI::App& command, TrainRequest& request) {
  add_lora_option(command, request.model_options);
  command.add_option("--lora-dropout", request.training.adapter_dropout, "of what adapters read (default 0)")
      ->check(between(0, 0.999));
  command.add_option("--base", request.base,
                     "precision in which weights that are not trained are kept: int8-weights, "
                     "int4-weights, stored, ... (default: --precision)");
  command.add_option("--merge", request.merge, "at the end: a folder to make of the model with its adapters added");
}

void add_folder_options(CLI::App& command, TrainCommand& options) {
  TrainRequest& request = options.request;
  CLI::Option* out = command.add_option("--out", request.out, "folder for the model and what is needed to go on");
  command.add_option("--save-every", request.save_every, "steps between two saves (default: at the end)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->needs(out);
  CLI::Option* resume = command.add_flag_callback(
      "--resume", [&request] { request.earlier = Earlier::resumed; }, "go on with the training in --out");
  command
      .add_flag_callback(
          "--overwrite", [&request] { request.earlier = Earlier::overwritten; }, "replace an earlier training in --out")
      ->excludes(resume)
      ->needs(out);
  command.add_option("--optimizer-from", request.optimizer_from,
                     "start with PyTorch's optimizer state (docs/training.md)");
  add_output_file(command, "--optimizer-to", request.optimizer_to,
                  "write the optimizer's state as PyTorch has it, at the end");
  add_output_options(command, options.outputs, JsonOption::either);
}

std::string status_line(const TrainStatus& status) {
  const std::string skipped = status.skipped > 0 ? fmt::format(", {} skipped", status.skipped) : "";
  const double norm = status.last.update.gradient_norm.value_or(std::numeric_limits<double>::quiet_NaN());
  return fmt::format("step {} of {}: loss {}, gradient norm {}, lr {:.3g}, {} tokens/s{}", status.steps, status.total,
                     loss_words(status.last.loss), std::isfinite(norm) ? fmt::format("{:.3g}", norm) : "not finite",
                     status.last.update.learning_rate, format_count(std::llround(status.tokens_per_s)), skipped);
}

std::string score_line(const EvalScore& score) {
  const HeldOut& held_out = score.held_out;
  const std::string when =
      score.epoch > 0 ? fmt::format("epoch {}", score.epoch) : fmt::format("step {}", held_out.steps);
  if (score.task == Task::language_model)
    return fmt::format("{}: held-out loss {}, perplexity {:.4g}, {} tokens scored, after {:.0f} s", when,
                       loss_words(held_out.mean_loss), std::exp(held_out.mean_loss), format_count(held_out.of),
                       score.seconds);
  return fmt::format("{}: {} of {} correct ({:.2f} %), mean loss {}, after {:.0f} s", when, held_out.correct,
                     held_out.of, 100.0 * static_cast<double>(held_out.correct) / static_cast<double>(held_out.of),
                     loss_words(held_out.mean_loss), score.seconds);
}

/// Lines on stdout: some twenty over the run, whatever its length.
bool is_worth_a_line(const TrainStatus& status) {
  constexpr std::int64_t lines = 20;
  const std::int64_t between_lines = std::max<std::int64_t>(status.total / lines, 1);
  return status.steps == 1 || status.steps == status.total || status.steps % between_lines == 0 ||
         !std::isfinite(status.last.loss);
}

/// Lines on standard output while a training goes on. That nobody can take one ends no training; it is told at the end.
class Lines {
 public:
  void line(const std::string& text) {
    if (failure_) return;
    try {
      print(text + "\n");
    } catch (const Error& e) {
      failure_ = e;
    }
  }
  void check() const {
    if (failure_) throw Error(*failure_);
  }

 private:
  std::optional<Error> failure_;
};

/// A launcher reads standard output no more once a rank is lost: whoever wrote there would hang, and tell nothing.
void end_where_a_rank_is_lost(const TrainReport& report) {
  if (!report.failure) return;
  try {
    std::rethrow_exception(report.failure);
  } catch (const RankLost&) {
    throw;
  } catch (const std::exception&) {
  }
}

/// What ended the training early is told behind its losses.
void hand_over(const TrainReport& report, const TrainCommand& options, const Lines& lines) {
  try {
    deliver(to_document(options.request, report), options.outputs);
    lines.check();
  } catch (const Error& error) {
    if (!report.failure) throw;
    complain(error.what());
  }
  if (report.failure) std::rethrow_exception(report.failure);
}

int exit_code(const TrainReport& report) {
  const bool whole = static_cast<std::int64_t>(report.losses.size()) == report.total && !report.lacks_score;
  return static_cast<int>(whole ? ExitCode::ok : ExitCode::interrupted);
}

/// A rank beside rank 0: it trains, and tells nothing.
int train_beside(const TrainCommand& options, const MachineFacts& facts, Group& group) {
  TrainCallbacks silent;
  silent.interrupted = &watch_interrupts();
  const TrainReport report = train(options.request, facts, silent, group);
  if (report.failure) std::rethrow_exception(report.failure);
  return exit_code(report);
}

int train_and_tell(const TrainCommand& options, const MachineFacts& facts, Group& group) {
  Progress progress;
  Lines lines;
  const bool quiet = options.outputs.takes_stdout();
  const auto line = [&](const std::string& text) {
    if (quiet) return;
    progress.clear();
    lines.line(text);
  };
  TrainCallbacks callbacks;
  callbacks.step = [&](const TrainStatus& status) {
    if (is_worth_a_line(status)) line(status_line(status));
    progress.show(status_line(status), status.seconds_left);
  };
  callbacks.score = [&](const EvalScore& score) { line(score_line(score)); };
  callbacks.say = [&](const std::string& sentence) { progress.say(sentence); };
  callbacks.interrupted = &watch_interrupts();
  const TrainReport report = options.ranks > 1 ? train_as_threads(options.request, facts, callbacks, options.ranks)
                                               : train(options.request, facts, callbacks, group);
  progress.finish();
  if (group.size() > 1) end_where_a_rank_is_lost(report);
  hand_over(report, options, lines);
  return exit_code(report);
}

/// Of a recipe it is not asked.
bool keeps_weights_in_f32(const std::string& precision) {
  const std::string name = own_precision_name(precision);
  return std::ranges::any_of(precision_table(), [&](const Precision& row) {
    return row.name == name && (row.weights == DType::f32 || row.master_weights);
  });
}

/// Whoever asks for what does nothing expects something.
void refuse_idle_options(const CLI::App& command, const TrainRequest& request) {
  const OptimizerOptions& optimizer = request.training.optimizer;
  const bool is_sgd = optimizer.kind == OptimizerKind::sgd;
  const bool has_adapters = request.lora || !request.lora_from.empty();
  const struct {
    const char* option;
    bool is_idle;
    const char* why;
  } rows[] = {
      {"--beta2", is_sgd, "sgd has one moment"},
      {"--eps", is_sgd, "sgd divides by nothing"},
      {"--adamw", is_sgd, "--optimizer is sgd"},
      {"--stochastic-rounding", keeps_weights_in_f32(request.precision), "weights are kept in f32"},
      {"--min-lr-share", optimizer.schedule.shape == Schedule::Shape::constant, "the schedule is constant"},
      {"--lora-dropout", !has_adapters, "nothing is trained by --lora or --lora-from"},
      {"--epochs", request.steps > 0, "--steps says how many"},
      {"--bytes", !request.tokens.empty(), "--tokens holds ids"},
  };
  for (const auto& row : rows) {
    if (row.is_idle && command.get_option(row.option)->count() > 0)
      fail_user("{}: does nothing where {}; drop it", row.option, row.why);
  }
}

int run_train(const TrainCommand& options, const CLI::App& command) {
  refuse_idle_options(command, options.request);
  if (options.ranks == 1 && !is_launched()) refuse_rank_options(command);
  return as_rank({"a training", options.request.engine.device, options.ranks}, [&](Group& group) {
    const MachineFacts facts = facts_of_rank(group, options.machine, options.request.engine.device);
    return group.rank() == 0 ? train_and_tell(options, facts, group) : train_beside(options, facts, group);
  });
}

}  // namespace

std::string loss_words(double loss) {
  return std::isfinite(loss) ? fmt::format("{:.4f}", loss) : "not finite";
}

void add_data_options(CLI::App& command, TrainRequest& request) {
  command.add_option("model", request.model, "folder, .gguf file, cached model or preset")->required();
  command.add_option("--data", request.data, "text; or labelled .tsv or .jsonl for a classifier");
  CLI::Option* tokens =
      command.add_option("--tokens", request.tokens, "JSON with input_ids: train on that one batch, as it is");
  CLI::Option* eval = command.add_option("--eval", request.eval, "held-out text, or labelled .tsv or .jsonl, to score");
  command
      .add_option("--eval-every", request.eval_every,
                  "steps between two scores (default: an epoch; of text a tenth of all steps)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->needs(eval);
  command.add_flag_callback(
      "--bytes", [&request] { request.reading = Reading::bytes; }, "the bytes of the text are its ids");
  command.add_option("--labels", request.labels, "put a fresh head of so many classes on an encoder")
      ->check(CLI::Range(2, 1 << 20));
  command.add_option("--steps", request.steps, "steps in all, those of a resumed training included")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command.add_option("--epochs", request.epochs, "classifiers: passes over the sentences (default 3)")
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--batch", request.batch, "rows a step (default 8)")
      ->check(CLI::Range(1, 1 << 20))
      ->excludes(tokens);
  command.add_option("--seq", request.seq, "tokens a row of text (default 128)")
      ->check(CLI::Range(1, 1 << 20))
      ->excludes(tokens);
  command.add_option("--accumulate", request.accumulate, "work a step's rows in so many parts (default 1)")
      ->check(CLI::Range(1, 1 << 20));
}

void add_group_options(CLI::App& command, ParameterGroups& groups) {
  command.add_option_function<std::string>(
      "--no-decay", [&groups](const std::string& list) { groups.no_decay = parse_no_decay(list, "--no-decay"); },
      "no weight decay of norms, biases, embeddings; usual: norms,biases");
  command.add_option_function<std::string>(
      "--lr-by-role", [&groups](const std::string& list) { groups.rates = parse_role_rates(list, "--lr-by-role"); },
      "learning rates of roles, such as embedding=1e-4,head=3e-3");
}

void add_optimizer_options(CLI::App& command, TrainRequest& request) {
  OptimizerOptions& optimizer = request.training.optimizer;
  static const std::map<std::string, OptimizerKind> kinds = {{"adamw", OptimizerKind::adamw},
                                                             {"sgd", OptimizerKind::sgd}};
  static const std::map<std::string, AdamW> variants = {{"pytorch", AdamW::pytorch}, {"cs336", AdamW::cs336}};
  add_choice(command, "--optimizer", optimizer.kind, kinds, "default adamw");
  command.add_option("--lr", optimizer.learning_rate, "learning rate (default 0.001)")->check(between(0, 1e6));
  command.add_option("--beta1", optimizer.beta1, "default 0.9; sgd: momentum")->check(between(0, 0.999999999));
  command.add_option("--beta2", optimizer.beta2, "default 0.999")->check(between(0, 0.999999999));
  command.add_option("--eps", optimizer.epsilon, "default 1e-8")->check(between(0, 1));
  command.add_option("--weight-decay", optimizer.weight_decay, "of every parameter (default 0.01)")
      ->check(between(0, 1e6));
  add_group_options(command, optimizer.groups);
  add_choice(command, "--adamw", optimizer.variant, variants, "whose order of operations");
  command.add_flag_callback(
      "--stochastic-rounding", [&optimizer] { optimizer.rounding = Rounding::stochastic; },
      "of updates of 16-bit weights");
  command.add_option("--clip", optimizer.clip_norm, "largest norm of the gradient (default: none)")
      ->check(between(0, 1e30));
}

void add_storage_options(CLI::App& command, TrainingStorage& storage) {
  command.add_option_function<std::string>(
      "--states", [&storage](const std::string& word) { storage.states = &find_state_format(word, "--states"); },
      "optimizer's moments: as weights (default), f32, bf16 or 8bit");
  add_gradients_option(command, storage);
}

void add_schedule_options(CLI::App& command, TrainRequest& request) {
  Schedule& schedule = request.training.optimizer.schedule;
  static const std::map<std::string, Schedule::Shape> shapes = {{"constant", Schedule::Shape::constant},
                                                                {"linear", Schedule::Shape::linear},
                                                                {"cosine", Schedule::Shape::cosine}};
  add_choice(command, "--schedule", schedule.shape, shapes, "after the warm-up (default constant)");
  CLI::Option* steps = command.add_option("--warmup-steps", schedule.warmup_steps, "linear warm-up (default 0)")
                           ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  command.add_option("--warmup-share", request.warmup_share, "the same as a share of all steps")
      ->check(between(0, 1))
      ->excludes(steps);
  command.add_option("--min-lr-share", schedule.final_share, "share of the rate at the end (default 0)")
      ->check(between(0, 1));
}

void add_step_options(CLI::App& command, TrainRequest& request) {
  static const std::map<std::string, Recompute> kept = {
      {"none", Recompute::none}, {"block", Recompute::block}, {"attention", Recompute::attention}};
  static const std::map<std::string, OnNonfinite> ways = {{"stop", OnNonfinite::stop}, {"skip", OnNonfinite::skip}};
  add_choice(command, "--recompute", request.training.recompute, kept, "compute again instead of keeping");
  add_choice(command, "--nonfinite", request.nonfinite, ways,
             "at a loss or gradient that is not finite: end (default), or leave that update out");
  command.add_option("--dropout", request.training.dropout, "rate (default 0)")->check(between(0, 0.999));
}

void add_train(CLI::App& program, Action& action) {
  const auto options = std::make_shared<TrainCommand>();
  CLI::App& command = *program.add_subcommand("train", "Train a language model or fine-tune a classifier, and keep it");
  command.footer(
      "examples: assay train gpt2 --data book.txt --steps 1000 --precision mixed-bf16 --out run1\n"
      "          assay train minilm-l6 --labels 2 --data train.tsv --eval dev.tsv --lr 6e-5 --batch 32 --out run2");
  add_data_options(command, options->request);
  command.add_option("--precision", options->request.precision, "one precision (default fp32)");
  add_optimizer_options(command, options->request);
  add_storage_options(command, options->request.training.storage);
  add_schedule_options(command, options->request);
  add_step_options(command, options->request);
  add_rank_options(command, options->request);
  add_thread_ranks_option(command, options->ranks);
  add_folder_options(command, *options);
  add_engine_options(command, options->request.engine);
  add_recipe_option(command, options->request.engine, options->request.precision);
  add_graphs_option(command, options->request.engine.graphs);
  add_model_options(command, options->request.model_options);
  add_adapter_options(command, options->request);
  add_size_options(command, options->request.model_options);
  add_machine_options(command, options->machine);
  command.callback([options, &action, &command] {
    take_adapters(options->request);
    settle_model(options->request.model, options->request.model_options);
    action = [options, &command] { return run_train(*options, command); };
  });
}

}  // namespace assay
