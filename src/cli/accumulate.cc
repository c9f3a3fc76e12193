#include <map>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "studies/accumulate/ranks.h"
#include "studies/accumulate/request.h"

namespace assay {
namespace {

struct AccumulateCommand {
  AccumulateRequest request;
  AccumulateRanksRequest ranks;
  std::vector<std::string> wires = {"bf16"};
  std::vector<std::string> sums = {"f32"};
  std::vector<std::string> algorithms = {"ring", "tree", "direct"};
  MachineOptions machine;
  OutputOptions outputs;
};

std::vector<DType> dtypes_of(const std::vector<std::string>& words, const char* option) {
  std::vector<DType> dtypes;
  for (const std::string& word : words) {
    const std::optional<DType> dtype = parse_dtype(word);
    if (!dtype) fail_user("{} '{}': f32, bf16 and f16 are possible", option, word);
    dtypes.push_back(*dtype);
  }
  return dtypes;
}

std::vector<RankSum> algorithms_of(const std::vector<std::string>& words) {
  static const std::map<std::string, RankSum> known = {
      {"ring", RankSum::ring}, {"tree", RankSum::tree}, {"direct", RankSum::direct}};
  std::vector<RankSum> algorithms;
  for (const std::string& word : words) {
    const auto found = known.find(word);
    if (found == known.end()) fail_user("--algorithm '{}': ring, tree and direct are known", word);
    algorithms.push_back(found->second);
  }
  return algorithms;
}

int run_accumulate_ranks(AccumulateCommand& options) {
  options.ranks.wires = dtypes_of(options.wires, "--wire");
  options.ranks.sums = dtypes_of(options.sums, "--sum");
  options.ranks.algorithms = algorithms_of(options.algorithms);
  options.ranks.seed = options.request.seed;
  Progress progress;
  const Document document = accumulate_ranks(options.ranks, facts_for(options.machine),
                                             [&](const std::string& what, double) { progress.show(what, 0); });
  progress.clear();
  deliver(document, options.outputs);
  return 0;
}

void add_rank_sum_options(CLI::App& command, AccumulateCommand& options) {
  CLI::Option* ranks =
      command
          .add_option("--ranks", options.ranks.ranks,
                      "instead: sum the gradients of so many ranks, such as 2,16,1024, as reductions do")
          ->delimiter(',');
  const auto add = [&](const char* name, auto& value, const char* help) {
    return command.add_option(name, value, help)->needs(ranks);
  };
  add("--wire", options.wires, "ranks: dtypes that travel: f32, bf16 (default), f16")->delimiter(',');
  add("--sum", options.sums, "ranks: dtypes of the additions: f32 (default), bf16, f16")->delimiter(',');
  add("--algorithm", options.algorithms, "ranks: ring, tree, direct (default: all three)")->delimiter(',');
  add("--model", options.ranks.model, "ranks: whose gradients (default: a small GPT of bytes)");
  add("--rank-tokens", options.ranks.seq, "ranks: tokens that a rank's gradient comes from (default 64)")
      ->check(CLI::Range(1, 1 << 20));
  add("--elements", options.ranks.elements, "ranks: of the gradient, drawn (default 16384)")
      ->check(CLI::Range(1, 1 << 24));
}

}  // namespace

void add_accumulate(CLI::App& program, Action& action) {
  const auto options = std::make_shared<AccumulateCommand>();
  CLI::App& command =
      *program.add_subcommand("accumulate", "Add one number many times in every dtype and say what is lost where");
  command.footer(
      "examples: assay accumulate --addend 0.001 --count 10000\n"
      "          assay accumulate --ranks 2,16,128,1024 --wire bf16 --sum f32,bf16 --algorithm ring,tree,direct");
  command.add_option("--addend", options->request.addend, "what is added (default 0.01)");
  command.add_option("--count", options->request.count, "how often (default 1000)");
  command.add_option("--chunk", options->request.chunk, "terms a chunk of chunked accumulation (default 64)");
  command.add_option("--seed", options->request.seed, "of stochastic rounding");
  add_rank_sum_options(command, *options);
  add_machine_options(command, options->machine);
  add_output_options(command, options->outputs, JsonOption::flag);
  command.callback([options, &action] {
    action = [options] {
      if (!options->ranks.ranks.empty()) return run_accumulate_ranks(*options);
      deliver(accumulate(options->request), options->outputs);
      return 0;
    };
  });
}

}  // namespace assay
