#include "experiments/train_benchmark.h"

#include <atomic>
#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/threads.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "experiments/probe.h"
#include "report/formats.h"
#include "report/training_table.h"

namespace assay {
namespace {

struct Options {
  TrainBenchmarkRequest request;
  MachineOptions machine;
  std::filesystem::path json;
  std::filesystem::path csv;
  std::filesystem::path markdown;
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void add_grid_options(CLI::App& command, TrainBenchmarkRequest& request) {
  static const std::map<std::string, StepParts> parts = {
      {"forward", StepParts::forward}, {"forward-backward", StepParts::forward_backward}, {"step", StepParts::whole}};
  static const std::map<std::string, Fusion> fusions = {{"on", Fusion::on}, {"off", Fusion::off}};
  static const std::map<std::string, Recompute> recomputed = {
      {"none", Recompute::none}, {"block", Recompute::block}, {"attention", Recompute::attention}};
  command.add_option("models", request.models, "presets, folders or cached models; comma-separated")->required();
  command.add_option("--precision", request.precisions, "comma-separated (default fp32)")->delimiter(',');
  command.add_option("--batch", request.batches, "rows a step, comma-separated (default 4)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--seq", request.seqs, "tokens a row, comma-separated (default 128)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--fusion", request.fusions, "on, off or both (default on)")
      ->delimiter(',')
      ->transform(CLI::CheckedTransformer(fusions))
      ->option_text("on,off");
  command.add_option("--warmup", request.warmups, "steps that do not count (default 5); several: the warm-up study")
      ->delimiter(',')
      ->check(CLI::Range(0, 1 << 20));
  command.add_option("--steps", request.steps, "steps that count (default 10)")->check(CLI::Range(1, 1 << 20));
  command.add_option("--seconds", request.seconds, "a row that would take longer is too slow (default 120)")
      ->check(between(0.01, 1e6));
  command.add_option("--device", request.device, "cpu, cuda, mps or reference (default cpu)");
  add_choice(command, "--mode", request.parts, parts, "how far a step goes (default step)");
  add_choice(command, "--recompute", request.recompute, recomputed, "compute again instead of keeping");
  add_model_options(command, request.model_options);
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

void write_files(const Options& options, const Document& document) {
  if (!options.json.empty()) write_file_atomically(options.json, json_report(document));
  if (!options.csv.empty()) write_file_atomically(options.csv, csv_report(document.records));
  if (!options.markdown.empty()) write_file_atomically(options.markdown, training_markdown(document.records));
}

int run(Options& options) {
  for (const std::filesystem::path& file : {options.json, options.csv, options.markdown}) {
    if (!file.empty()) check_writable(file);
  }
  const std::atomic<bool>& interrupted = watch_interrupts();
  Progress progress;
  BenchCallbacks callbacks;
  callbacks.progress = [&](const std::string& what, double seconds_left) { progress.show(what, seconds_left); };
  callbacks.interrupted = &interrupted;
  const Document document =
      train_benchmark(options.request, [&] { return probe_machine(options.machine, progress); }, callbacks);
  progress.finish();
  write_files(options, document);
  fmt::print("{}", training_report(document));
  return static_cast<int>(interrupted ? ExitCode::interrupted : ExitCode::ok);
}

}  // namespace

void add_train_benchmark(CLI::App& program, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = *program.add_subcommand("train", "Time training steps: forward, backward, update");
  command.footer(
      "example: assay train --benchmark cs336-small --precision fp32,mixed-bf16 --batch 4 --seq 128,256 --warmup 5");
  command.add_flag_callback("--benchmark", [] {}, "measure time instead of training");
  add_grid_options(command, options->request);
  command.add_option("--json", options->json, "file to write");
  command.add_option("--csv", options->csv, "file to write");
  command.add_option("--markdown", options->markdown, "file to write");
  add_machine_options(command, options->machine);
  command.callback([options, &action] {
    action = [options] {
      std::vector<std::string> models;
      for (const std::string& list : options->request.models) {
        for (const std::string& model : split(list)) models.push_back(model);
      }
      options->request.models = models;
      return run(*options);
    };
  });
}

}  // namespace assay
