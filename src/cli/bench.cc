#include "studies/bench/request.h"

#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <span>

#include "base/error.h"
#include "base/printable.h"
#include "base/streams.h"
#include "cli/cli.h"
#include "cli/grid_ranks.h"
#include "cli/measuring.h"
#include "cli/meter_options.h"
#include "cli/peer_options.h"
#include "cli/shard_options.h"
#include "cli/step_options.h"
#include "cli/verdict_option.h"
#include "report/formats.h"
#include "report/terminal.h"
#include "rules/rules.h"
#include "rules/verdict.h"
#include "studies/bench/resume.h"
#include "studies/explain_perplexity/run.h"
#include "studies/generation_bench/request.h"
#include "studies/shared/default_model.h"

namespace assay {
namespace {

/// What is asked about the models.
enum class Question : std::uint8_t { which_precision, why_this_perplexity, how_it_generates };

struct BenchCommand {
  BenchRequest request;
  GenerationBenchRequest generation;  ///< Its grid.
  Question question = Question::which_precision;
  std::vector<std::string> verdict;  ///< Rows that are judged beside one another.
  MachineOptions machine;
  OutputOptions outputs;
  StoreOptions store;
  ShardOptions shard;
};

BesideCommand beside_command(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
    fail_user("--beside '{}': NAME=COMMAND is wanted", printable(text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

void add_peer_options(CLI::App& command, BenchRequest& request) {
  add_peer_list(command, request.peers, request.peer_seconds);
  command
      .add_option_function<std::string>(
          "--beside", [&request](const std::string& text) { request.beside.push_back(beside_command(text)); },
          "NAME=COMMAND: any program; a run of it, or its marked phase \"pass\", is a sample ({model}, {batch}, {seq} "
          "and "
          "{threads} stand for the cell's)")
      ->take_last()
      ->trigger_on_parse();
}

void add_grid_options(CLI::App& command, BenchCommand& options) {
  BenchRequest& request = options.request;
  command.add_option("models", request.models,
                     "folders, .gguf files, cached models or presets (default: smollm2-135m)");
  command.add_option("--precision", request.precisions, "comma-separated, or all that the device lists (default)")
      ->delimiter(',');
  add_verdict_option(command, options.verdict);
  add_peer_options(command, request);
  command.add_option("--batch", request.batches, "comma-separated (default 1)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  command
      .add_option("--seq", request.seqs,
                  "most tokens a row, comma-separated (default 128; of data in rows, these as they are)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--seconds", request.seconds, "budget for each precision of a cell (default 5)")
      ->check(between(0.01, 1e6));
  command.add_option("--rounds", request.rounds, "exactly so many rounds instead of the stopping rule")
      ->check(CLI::Range(1, 1000000));
  command.add_option("--width", request.width, "asked width of the median's 95 % interval (default 0.02)")
      ->check(between(1e-4, 1.0));
  command.add_option("--process", request.process, "which of several processes it is")->group("");
  command.add_option("--least-rounds", request.least_rounds, "rounds whatever the budget")->group("");
  static const std::map<std::string, int> automatic = {{"auto", 0}};
  command
      .add_option("--processes", request.processes,
                  "fresh processes that each cell is timed in, so that the intervals hold what differs between them "
                  "(default auto: 5 where starting them takes no longer than timing; else 1)")
      ->transform(CLI::Transformer(automatic))
      ->check(CLI::Range(0, 100));
  command.add_flag_callback(
      "--emulated", [&request] { request.emulated = Emulated::included; }, "measure emulated precisions too");
  command.add_flag_callback(
      "--no-baseline", [&request] { request.baseline = Baseline::as_asked; },
      "do not add fp32 where it is not asked for");
  command.add_option("--baseline", request.against,
                     "a model that the others are compared with on the same text (default precision then: stored)");
  command.add_flag_callback(
      "--isolate", [&request] { request.isolate = Isolate::yes; },
      "try each cell in a process of its own first: one that dies or hangs becomes a row; gives resident memory too");
  command
      .add_option("--trial-seconds", request.trial_seconds,
                  "what such a process may take (default: 20 times --seconds, at least 300)")
      ->check(between(0.001, 1e6));
  static const std::map<std::string, Caches> caches = {{"warm", Caches::warm}, {"cold", Caches::cold}};
  add_choice(command, "--caches", request.caches, caches, "what a pass finds in them: the last one's data, or nothing");
  add_logits_option(command, request.engine);
}

void add_quality_options(CLI::App& command, BenchCommand& options) {
  BenchRequest& request = options.request;
  static const std::map<std::string, QualityMode> modes = {{"auto", QualityMode::automatic},
                                                           {"none", QualityMode::none}};
  static const std::map<std::string, Protocol> protocols = {
      {"window", Protocol::window}, {"stride", Protocol::stride}, {"padded-lines", Protocol::padded_lines}};
  add_choice(command, "--quality", request.quality, modes, "score the data, or do not");
  command.add_option("--data", request.data,
                     "text, labelled .tsv or .jsonl, or a folder of .npy arrays (default: the bundled handbook)");
  static const std::map<std::string, InputsOf> inputs = {{"data", InputsOf::data}, {"random", InputsOf::random}};
  add_choice(command, "--inputs", request.inputs, inputs,
             "what is timed: batches of the data's rows, or random ids of full length (default: data, where given)");
  static const std::map<std::string, RowOrder> orders = {
      {"given", RowOrder::given}, {"sorted", RowOrder::sorted}, {"bucketed", RowOrder::bucketed}};
  add_choice(command, "--order", request.row_order, orders, "how rows of timed data come into batches (default given)");
  static const std::map<std::string, SkipPadding> skipping = {{"on", SkipPadding::on}, {"off", SkipPadding::off}};
  add_choice(command, "--skip-padding", request.skip_padding, skipping,
             "leave out positions that are padding in every row of a batch (default on)");
  add_choice(command, "--protocol", request.protocol.protocol, protocols, "how text is cut (default window)");
  command.add_option("--window", request.protocol.window, "ids a window (default 128; with --generate 512)")
      ->check(CLI::Range(2, 1 << 20));
  command.add_option("--calibrate", request.calibration,
                     "text, .tsv, .jsonl or folder of .npy that int8 and int8-static are calibrated on");
  command.add_option("--samples", request.calibration_samples, "rows of it (default 128)")
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--stride", request.protocol.stride, "ids between two windows of 'stride' (default 64)")
      ->check(CLI::Range(1, 1 << 20));
  command
      .add_option(
          "--tokens", request.protocol.most_tokens,
          "ids of the data that are scored, from its start (default 8192 of a text, with --generate 2048, all of rows; "
          "0: all)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  command.add_option("--quality-batch", request.protocol.batch, "rows scored at a time (default 8; with --generate 4)")
      ->check(CLI::Range(1, 4096));
  command.add_flag_callback(
      "--explain-perplexity", [&options] { options.question = Question::why_this_perplexity; },
      "measure no speed: say what padding, mask, averaging and context add to one model's perplexity");
}

void add_generation_options(CLI::App& command, BenchCommand& options) {
  GenerationBenchRequest& generation = options.generation;
  command.add_flag_callback(
      "--generate", [&options] { options.question = Question::how_it_generates; },
      "time reading a prompt and adding tokens one by one through a cache, in cells of the next three and --batch");
  command
      .add_option("--prompt-tokens", generation.prompt_tokens, "tokens of the prompt, comma-separated (default 512)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--new", generation.new_tokens, "new tokens behind it, comma-separated (default 128)")
      ->delimiter(',')
      ->check(CLI::Range(2, 1 << 20));
  command
      .add_option("--depth", generation.depths,
                  "tokens that the cache holds before the prompt, comma-separated (default 0)")
      ->delimiter(',')
      ->check(CLI::Range(0, 1 << 20));
  command
      .add_option("--continuations", generation.continuations,
                  "prompts of the text behind which 128 greedy tokens are compared with fp32's (default 16; 0: none)")
      ->check(CLI::Range(0, 1 << 16));
}

PerplexityRequest perplexity_request(const BenchRequest& request) {
  if (request.models.size() != 1) fail_user("--explain-perplexity studies one model, not {}", request.models.size());
  return {.model = request.models.front(),
          .quality = {request.data, request.protocol, request.model_options.seed},
          .engine = request.engine,
          .model_options = request.model_options};
}

/// An option that one question of bench has no use for, unless its value is what holds anyway.
struct Misfit {
  const char* option;
  const char* why;
  bool (*fits)(const BenchRequest& request) = [](const BenchRequest&) { return false; };
};

constexpr Misfit misfits_of_generation[] = {
    {"--seq", "a cell's tokens are --depth, --prompt-tokens and --new"},
    {"--logits", "a token needs those of the last position",
     [](const BenchRequest& r) { return r.engine.program.logits == LogitRows::last; }},
    {"--inputs", "ids of the cells are random", [](const BenchRequest& r) { return r.inputs == InputsOf::random; }},
    {"--order", "ids of the cells are random"},
    {"--skip-padding", "ids of the cells are random"},
    {"--caches", "a token finds in them what the one before it left",
     [](const BenchRequest& r) { return r.caches == Caches::warm; }},
    {"--beside", "programs beside are timed in passes alone"},
    {"--isolate", "all cells run in one process"},
    {"--trial-seconds", "all cells run in one process"},
    {"--processes", "all cells run in one process", [](const BenchRequest& r) { return r.processes <= 1; }},
    {"--baseline", "each model is compared with its own fp32"},
    {"--protocol", "tokens are scored behind all that stand before them in a window",
     [](const BenchRequest& r) { return r.protocol.protocol == Protocol::window; }},
    {"--stride", "tokens are scored behind all that stand before them in a window"},
    {"--explain-perplexity", "it is another question"},
    {"--resume", "it is not built for it"},
};
constexpr Misfit misfits_of_passes[] = {{"--prompt-tokens", "it is a part of --generate"},
                                        {"--new", "it is a part of --generate"},
                                        {"--depth", "it is a part of --generate"},
                                        {"--continuations", "it is a part of --generate"}};

/// What is about all of a grid at once.
constexpr const char* misfits_of_shards[] = {"--explain-perplexity", "--baseline"};

void refuse_divided(const CLI::App& command) {
  if (command.count("--shard") == 0) return;
  for (const char* option : misfits_of_shards) {
    if (command.count(option) > 0)
      fail_user("--shard with {}: it compares what must be measured in one process; drop one of them", option);
  }
}

/// What asks for something else than which precision to take.
constexpr const char* misfits_of_verdict[] = {"--baseline", "--explain-perplexity", "--peers", "--beside"};

/// Its rows are measured whatever else is.
void take_verdict(BenchCommand& options, const CLI::App& command) {
  if (options.verdict.empty()) return;
  for (const char* option : misfits_of_verdict) {
    if (command.count(option) > 0) fail_user("--verdict with {}: it judges one model's precisions; drop it", option);
  }
  options.verdict = verdict_rows(options.verdict);
  std::vector<std::string>& precisions = options.request.precisions;
  if (precisions.empty()) precisions = {"all"};
  precisions.insert(precisions.end(), options.verdict.begin(), options.verdict.end());
}

/// What is asked beside what it has no use for is an error, and not a measurement of something else.
void refuse_misfits(const BenchCommand& options, const CLI::App& command) {
  const bool generates = command.count("--generate") > 0;
  for (const Misfit& one : generates ? std::span<const Misfit>(misfits_of_generation) : misfits_of_passes) {
    if (command.count(one.option) == 0 || one.fits(options.request)) continue;
    fail_user("{}{}: {}; drop it", generates ? "--generate with " : "", one.option, one.why);
  }
}

/// Of the data's options those that were given: the others have defaults of their own.
void take_protocol(const CLI::App& command, const ProtocolOptions& given, ProtocolOptions& protocol) {
  if (command.count("--window") > 0) protocol.window = given.window;
  if (command.count("--tokens") > 0) protocol.most_tokens = given.most_tokens;
  if (command.count("--quality-batch") > 0) protocol.batch = given.batch;
}

/// Rows of one document stand beside one another in it; of several machines, in one before them.
void judge_bench(const std::vector<std::string>& rows, std::vector<ReportSource>& sources) {
  if (rows.empty()) return;
  if (sources.size() == 1) return tell_verdict(rows, sources.front().document);
  sources.insert(sources.begin(), verdict_source(rows, sources));
}

GridPart measure_bench(BenchCommand& options, const StoreOptions& store) {
  Measuring measuring(store);
  const StudyCallbacks callbacks = measuring.callbacks();
  BenchRequest& request = options.request;
  if (request.models.empty() && request.model_options.config.empty()) request.models = {default_model(callbacks.say)};
  settle_models(request.models, request.model_options);
  const auto facts = [&] { return measuring.probe_machine(options.machine, request.engine.device); };
  if (options.question == Question::why_this_perplexity)
    return measuring.part(to_document(study_perplexity(perplexity_request(request), facts(), callbacks)));
  if (options.question == Question::which_precision) return measuring.part(bench(request, facts, callbacks));
  options.generation.bench = request;
  options.generation.bench.peer_use = PeerUse::generation;
  return measuring.part(generation_bench(options.generation, facts, callbacks));
}

int run_bench(BenchCommand& options) {
  options.request.division = division_of(options.shard);
  if (options.store.resumes && options.store.file == "none") fail_user("--resume: --store none has nothing to resume");
  options.store.settings = settings_of(options.request);
  GridTelling telling;
  telling.settle = [&](std::vector<ReportSource>& sources) { judge_bench(options.verdict, sources); };
  if (options.question == Question::which_precision) telling.join = judged;
  if (options.question == Question::how_it_generates) telling.join = generation_document;
  return run_grid(
      {options.shard, options.request.division, options.store, options.outputs},
      [&](const StoreOptions& store) { return measure_bench(options, store); },
      [&](const std::vector<GridPart>& parts) {
        deliver_grid(parts, options.outputs, telling);
        return grid_code(parts);
      });
}

}  // namespace

void add_bench(CLI::App& program, Action& action) {
  const auto options = std::make_shared<BenchCommand>();
  options->request.processes = 0;
  CLI::App& command = *program.add_subcommand(
      "bench", "Measure a model in every precision: speed, memory, energy, quality, and what really ran");
  command.footer("example: assay bench gpt2 --precision fp32,bf16,int8 --batch 1,8 --seq 128 --json out.json");
  add_grid_options(command, *options);
  add_quality_options(command, *options);
  add_generation_options(command, *options);
  add_meter_options(command, options->request.energy);
  add_energy_window_options(command, options->request.energy);
  add_output_options(command, options->outputs);
  add_record_outputs(command, options->outputs);
  add_store_option(command, options->store);
  command.add_flag("--resume", options->store.resumes,
                   "continue the newest run with these settings: cells that it has kept are not measured again");
  add_shard_options(command, options->shard);
  add_engine_options(command, options->request.engine);
  add_recipe_option(command, options->request.engine, options->request.precisions);
  add_known_recipe_option(command, options->request.engine);
  add_graphs_option(command, options->request.engine.graphs);
  add_model_options(command, options->request.model_options);
  add_size_options(command, options->request.model_options);
  add_machine_options(command, options->machine);
  add_measured_option(command, options->machine);
  command.callback([options, &action, &command] {
    action = [options, &command] {
      refuse_misfits(*options, command);
      refuse_divided(command);
      take_verdict(*options, command);
      take_protocol(command, options->request.protocol, options->generation.protocol);
      return run_bench(*options);
    };
  });
}

}  // namespace assay
