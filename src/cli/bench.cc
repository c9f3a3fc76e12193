#include "experiments/bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/threads.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "experiments/default_model.h"
#include "experiments/explain_perplexity.h"
#include "experiments/probe.h"
#include "report/formats.h"
#include "report/terminal.h"
#include "report/text.h"

namespace assay {
namespace {

std::atomic<bool> interrupted = false;

/// The first Ctrl-C ends measuring in good order; the second ends the program as usual.
void interrupt(int) {
  interrupted = true;
  std::signal(SIGINT, SIG_DFL);
}

/// What is asked about the models.
enum class Question : std::uint8_t { which_precision, why_this_perplexity };

struct Options {
  BenchRequest request;
  Question question = Question::which_precision;
  MachineOptions machine;
  std::filesystem::path json;
  std::filesystem::path csv;
  std::filesystem::path markdown;
};

void add_grid_options(CLI::App& command, Options& options) {
  BenchRequest& request = options.request;
  command.add_option("models", request.models,
                     "folders, .gguf files, cached models or presets (default: smollm2-135m)");
  command.add_option("--precision", request.precisions, "comma-separated, or all (default)")->delimiter(',');
  command.add_option("--batch", request.batches, "comma-separated (default 1)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--seq", request.seqs, "tokens a row, comma-separated (default 128)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--seconds", request.seconds, "budget for each precision of a cell (default 5)")
      ->check(between(0.01, 1e6));
  command.add_option("--rounds", request.rounds, "exactly so many rounds instead of the stopping rule")
      ->check(CLI::Range(1, 1000000));
  command.add_option("--width", request.width, "asked width of the median's 95 % interval (default 0.02)")
      ->check(between(1e-4, 1.0));
  command.add_flag_callback(
      "--emulated", [&request] { request.emulated = Emulated::included; }, "measure emulated precisions too");
  command.add_flag_callback(
      "--no-baseline", [&request] { request.baseline = Baseline::as_asked; },
      "do not add fp32 where it is not asked for");
  command.add_flag_callback(
      "--isolate", [&request] { request.isolate = Isolate::yes; },
      "measure each row's resident memory in a process of its own");
  add_logits_option(command, request.engine);
}

void add_quality_options(CLI::App& command, Options& options) {
  BenchRequest& request = options.request;
  static const std::map<std::string, QualityMode> modes = {{"auto", QualityMode::automatic},
                                                           {"none", QualityMode::none}};
  static const std::map<std::string, Protocol> protocols = {
      {"window", Protocol::window}, {"stride", Protocol::stride}, {"padded-lines", Protocol::padded_lines}};
  add_choice(command, "--quality", request.quality, modes, "score the data, or do not");
  command.add_option("--data", request.data,
                     "text, labelled .tsv, or a folder of .npy arrays (default: the bundled handbook)");
  add_choice(command, "--protocol", request.protocol.protocol, protocols, "how text is cut (default window)");
  command.add_option("--window", request.protocol.window, "ids a window (default 128)")->check(CLI::Range(2, 1 << 20));
  command.add_option("--stride", request.protocol.stride, "ids between two windows of 'stride' (default 64)")
      ->check(CLI::Range(1, 1 << 20));
  command
      .add_option("--tokens", request.protocol.most_tokens,
                  "ids of the text that are scored, from its start (default 8192; 0: all)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  command.add_option("--quality-batch", request.protocol.batch, "rows scored at a time (default 8)")
      ->check(CLI::Range(1, 4096));
  command.add_flag_callback(
      "--explain-perplexity", [&options] { options.question = Question::why_this_perplexity; },
      "measure no speed: say what padding, mask, averaging and context add to one model's perplexity");
}

void check_files(const Options& options) {
  for (const std::filesystem::path& file : {options.json, options.csv, options.markdown}) {
    if (!file.empty()) check_writable(file);
  }
}

void write_files(const Options& options, const Document& document) {
  if (!options.json.empty()) write_file_atomically(options.json, json_report(document));
  if (!options.csv.empty()) write_file_atomically(options.csv, csv_report(document.records));
  if (!options.markdown.empty()) write_file_atomically(options.markdown, markdown_report(document));
}

MachineFacts probe_machine(const MachineOptions& machine, Progress& progress) {
  progress.show("probing this machine", 0);
  ProbeOptions probing;
  probing.machine.threads = machine.threads;
  probing.machine.max_isa = machine.max_isa;
  MachineFacts facts = probe(probing);
  set_threads(facts.threads);
  return facts;
}

/// All of it reaches whoever reads stdout, or it is an error.
void print(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) fail_lacking("stdout: {}", std::strerror(errno));
}

void print_study(const PerplexityStudy& study) {
  std::string text = tables(study) + "\n";
  for (const std::string& sentence : explain(study)) text += wrap(sentence, 120, 2) + "\n";
  print(text);
}

int run(Options& options) {
  check_files(options);
  std::signal(SIGINT, interrupt);
  std::signal(SIGPIPE, SIG_IGN);  // A reader that goes away must not cost the files.
  Progress progress;
  BenchCallbacks callbacks;
  callbacks.progress = [&](const std::string& what, double seconds_left) { progress.show(what, seconds_left); };
  callbacks.say = [&](const std::string& sentence) { progress.say(sentence); };
  callbacks.interrupted = &interrupted;
  if (options.request.models.empty()) options.request.models = {default_model(callbacks.say)};
  const auto facts = [&] { return probe_machine(options.machine, progress); };
  if (options.question == Question::why_this_perplexity) {
    const PerplexityStudy study = study_perplexity(options.request, facts(), callbacks);
    progress.finish();
    write_files(options, to_document(study));
    print_study(study);
  } else {
    const Document document = bench(options.request, facts, callbacks);
    progress.finish();
    TerminalOptions terminal;
    terminal.colour = colour_for(STDOUT_FILENO);
    write_files(options, document);  // First: a reader of stdout may be gone.
    print(terminal_report(document, terminal));
  }
  return static_cast<int>(interrupted ? ExitCode::interrupted : ExitCode::ok);
}

}  // namespace

void add_bench(CLI::App& program, Action& action) {
  const auto options = std::make_shared<Options>();
  options->request.protocol.most_tokens = 8192;
  CLI::App& command = *program.add_subcommand(
      "bench", "Measure a model in every precision: speed, memory, energy, quality, and what really ran");
  command.footer("example: assay bench gpt2 --precision fp32,bf16,int8 --batch 1,8 --seq 128 --json out.json");
  add_grid_options(command, *options);
  add_quality_options(command, *options);
  command.add_option("--json", options->json, "write all records");
  command.add_option("--csv", options->csv, "write all fields, a line a record");
  command.add_option("--markdown", options->markdown, "write tables");
  add_engine_options(command, options->request.engine);
  add_model_options(command, options->request.model_options);
  add_machine_options(command, options->machine);
  command.callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace assay
