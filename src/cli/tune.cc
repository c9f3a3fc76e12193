#include "studies/tune/request.h"

#include "base/error.h"
#include "cli/cli.h"
#include "cli/measuring.h"
#include "cli/meter_options.h"
#include "cli/outputs.h"
#include "cli/share_option.h"

namespace assay {
namespace {

struct TuneCommand {
  TuneRequest request;
  std::string max_kl;
  std::string max_drop;
  std::string max_perplexity;
  MachineOptions machine;
  OutputOptions outputs;
};

/// "0.01", "1%"; of what rises "+1%" too.
double limit_share(const char* option, std::string text) {
  if (text.starts_with('+')) text.erase(0, 1);
  const double share = share_of(text, option);
  if (share <= 0) fail_user("{} {}: has to be above 0, such as 0.01 or 1%", option, text);
  return share;
}

LossLimit limit_of(const TuneCommand& options) {
  struct Given {
    const char* option;
    LossKind kind;
    const std::string& text;
  };
  const Given all[] = {{"--max-kl", LossKind::kl, options.max_kl},
                       {"--max-drop", LossKind::drop, options.max_drop},
                       {"--max-perplexity", LossKind::perplexity, options.max_perplexity}};
  LossLimit limit;
  const char* chosen = nullptr;
  for (const Given& given : all) {
    if (given.text.empty()) continue;
    if (chosen != nullptr) fail_user("{} and {}: one limit at a time", chosen, given.option);
    chosen = given.option;
    limit = {given.kind, limit_share(given.option, given.text)};
  }
  return limit;
}

int run_tune(TuneCommand options) {
  options.request.limit = limit_of(options);
  Measuring measuring({.file = "none"});
  const Document document = tune(
      options.request, [&] { return measuring.probe_machine(options.machine, options.request.engine.device); },
      measuring.callbacks());
  measuring.finish();
  deliver(document, options.outputs);
  return measuring.exit_code();
}

void add_limits(CLI::App& command, TuneCommand& options) {
  command.add_option("--max-kl", options.max_kl, "most KL(fp32 || mix), nats a row (default 0.01)");
  command.add_option("--max-drop", options.max_drop, "most accuracy that may be lost, such as 0.5%");
  command.add_option("--max-perplexity", options.max_perplexity, "most relative rise of perplexity, such as +1%");
}

void add_search_options(CLI::App& command, TuneRequest& request) {
  std::map<std::string, Aim> aims;
  for (const Aim aim : {Aim::latency, Aim::decode, Aim::energy, Aim::bytes}) aims.emplace(name(aim), aim);
  add_choice(command, "--minimise", request.aim, aims,
             "what is to be small within the limit (default latency); energy needs a meter");
  command.add_option("--precision", request.precisions, "that layers may have (default: all that are native here)")
      ->delimiter(',');
  command.add_option("--budget", request.seconds, "of all of it: 600, 90s, 10m, 1h (default 10m)")
      ->transform(CLI::AsNumberWithUnit(std::map<std::string, double>{{"s", 1}, {"m", 60}, {"h", 3600}},
                                        CLI::AsNumberWithUnit::UNIT_OPTIONAL))
      ->check(between(0.01, 1e7));
  command.add_option("--seconds", request.timed_seconds, "of each precision and mix in the last timing (default 5)")
      ->check(between(0.01, 1e6));
  command.add_option("--batch", request.batch, "rows of what is timed (default 1)")->check(CLI::Range(1, 1 << 20));
  command.add_option("--seq", request.seq, "tokens a row of it; of decode, of the prompt (default 128)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20));
}

void add_data_options(CLI::App& command, TuneRequest& request) {
  command.add_option("--data", request.data, "text, .tsv, .jsonl or folder of .npy (default: the bundled text)");
  command.add_option("--window", request.window, "tokens a row of a text (default 128)")
      ->check(CLI::Range(std::int64_t{2}, std::int64_t{1} << 20));
  command
      .add_option("--search-rows", request.search_rows,
                  "that mixes are tried on (default 16 windows, 256 sentences, fewer where the budget is short)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30));
  command.add_option("--gradient-rows", request.gradient_rows, "of them, behind the estimates (default 16)")
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--resume", request.resume, "file that keeps what was measured each minute, and is gone on from");
  command.add_option("--out", request.recipe, "recipe file of the best mix, for --recipe of other commands");
}

}  // namespace

void add_tune(CLI::App& program, Action& action) {
  const auto options = std::make_shared<TuneCommand>();
  CLI::App& command =
      *program.add_subcommand("tune", "Find the fastest, smallest or thriftiest mix of precisions within a limit");
  command.footer("example: assay tune smollm2-135m --max-kl 0.01 --minimise latency --budget 10m --out mix.toml");
  command.add_option("model", options->request.model, "folder, .gguf file, cached model or preset")->required();
  add_limits(command, *options);
  add_search_options(command, options->request);
  add_data_options(command, options->request);
  add_output_options(command, options->outputs);
  add_engine_options(command, options->request.engine);
  add_model_options(command, options->request.model_options);
  add_meter_options(command, options->request.energy);
  add_machine_options(command, options->machine);
  command.callback([options, &action] { action = [options] { return run_tune(*options); }; });
}

}  // namespace assay
