#include "studies/generate/request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "base/streams.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/deliver.h"
#include "cli/interrupt.h"
#include "cli/output_options.h"

namespace assay {
namespace {

struct GenerateCommand {
  GenerateRequest request;
  MachineOptions machine;
  std::filesystem::path json;
};

void add_prompt_options(CLI::App& command, GenerateRequest& request) {
  command.add_option("--prompt", request.prompts.texts, "text to go on from; several times: several rows");
  command.add_option("--prompt-file", request.prompts.text_file, "its exact bytes are the prompt");
  command.add_option("--tokens", request.prompts.tokens_file,
                     "JSON: {\"input_ids\": [[..]], \"attention_mask\": ..?}; rows padded on either side");
  command.add_option("--new", request.most_new, "most new tokens a row (default 128)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30));
}

void add_chat_options(CLI::App& command, GenerateRequest& request) {
  CLI::Option* chat = command.add_flag_callback(
      "--chat", [&request] { request.chat = Chat::on; },
      "the prompt is what a user says: it is written as the model's chat template has it");
  command.add_option("--system", request.system, "what the conversation begins with (default: as the template has it)")
      ->needs(chat);
  static const std::map<std::string, bool> answers = {{"on", true}, {"off", false}};
  add_choice(command, "--thinking", request.enable_thinking, answers, "enable_thinking of templates that ask for it")
      ->needs(chat);
}

void add_sampling_options(CLI::App& command, Sampling& sampling) {
  command.add_option("--temperature", sampling.temperature, "0: the most probable token, always (default)")
      ->check(between(0, 100));
  command.add_option("--top-k", sampling.top_k, "draw from the so many most probable; 0: from all (default)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 31));
  command.add_option("--top-p", sampling.top_p, "draw from the fewest that hold this share (default 1)")
      ->check(between(1e-9, 1));
  command.add_option("--min-p", sampling.min_p, "draw from those at least this share as probable as the first one")
      ->check(between(0, 1));
}

Json json_of(const Generated& result) {
  Json json = {{"sequences", result.generation.sequences}, {"text", nullptr}, {"logprobs", result.generation.logprobs}};
  if (!result.texts.empty()) json["text"] = result.texts;
  json["prompt_tokens"] = result.prompt_tokens;
  json["prefill_ms"] = result.generation.prefill_ms;
  json["token_ms"] = result.generation.token_ms;
  json["interrupted"] = result.generation.is_interrupted;
  json["precision"] = result.precision;
  json["cache_bytes"] = result.cache_bytes;
  json["peak_bytes"] = result.peak_bytes;
  return json;
}

/// "prompt: 12 tokens in 31.2 ms, 385 tokens/s; new: 64 tokens, 8.1 ms each, 123 tokens/s".
std::string rates(const Generated& result) {
  const Generation& g = result.generation;
  const auto prompt = std::accumulate(result.prompt_tokens.begin(), result.prompt_tokens.end(), std::int64_t{0});
  const auto is_empty = [](const auto& row) { return row.empty(); };
  if (g.is_interrupted && std::any_of(g.sequences.begin(), g.sequences.end(), is_empty))
    return fmt::format("{}: interrupted before all of the prompt was read, nothing was timed", result.precision);
  std::string line = fmt::format("{}: {} tokens of prompt in {:.4g} ms, {:.4g} tokens/s", result.precision, prompt,
                                 g.prefill_ms, 1e3 * static_cast<double>(prompt) / g.prefill_ms);
  std::int64_t later = -std::ssize(g.sequences);
  for (const auto& row : g.sequences) later += std::ssize(row);
  const double total_ms = std::accumulate(g.token_ms.begin(), g.token_ms.end(), 0.0);
  if (!g.token_ms.empty())
    line += fmt::format("; {} after the first in {:.4g} ms, {:.4g} ms a run, {:.4g} tokens/s", later, total_ms,
                        total_ms / static_cast<double>(g.token_ms.size()), 1e3 * static_cast<double>(later) / total_ms);
  return line + fmt::format("; cache {}, peak {}", format_bytes(static_cast<double>(result.cache_bytes)),
                            format_bytes(static_cast<double>(result.peak_bytes)));
}

/// Of several rows each is printed whole, behind its number.
void print_rows(const Generated& result) {
  for (std::size_t row = 0; row < result.generation.sequences.size(); ++row) {
    if (result.texts.empty())
      print(fmt::format("{}\n", fmt::join(result.generation.sequences[row], " ")));
    else
      print(fmt::format("--- {}\n{}\n", row, result.texts[row]));
  }
}

/// Text on standard output as it comes. Where that takes no more, a file that is asked for is written none the less:
/// generation goes on for it.
class StreamedText {
 public:
  explicit StreamedText(const std::filesystem::path& file) : has_file_(!file.empty()) {}

  void add(const std::string& text) {
    if (fault_) return;
    try {
      print(text);
    } catch (const Error& e) {
      if (!has_file_) throw;
      fault_ = e;
    }
  }
  /// The end of its last line. Throws what went wrong before.
  void finish() {
    if (fault_) throw *fault_;
    print("\n");
  }

 private:
  const bool has_file_;
  std::optional<Error> fault_;
};

int run_generate(const GenerateCommand& options) {
  const bool is_alone = options.json != standard_output_path;
  const bool streams =
      is_alone && options.request.prompts.tokens_file.empty() && options.request.prompts.texts.size() < 2;
  StreamedText stream(options.json);
  GenerateCallbacks callbacks;
  callbacks.interrupted = &watch_interrupts();
  if (streams) callbacks.text = [&](std::int64_t, const std::string& text) { stream.add(text); };
  const MachineFacts facts = facts_for(options.machine, options.request.engine.device);
  GenerateRequest request = options.request;
  request.logprobs = options.json.empty() ? Logprobs::left_out : Logprobs::kept;
  const Generated result = generate_text(request, facts, callbacks);
  deliver([&] { streams ? stream.finish() : print_rows(result); },
          {{options.json, [&] { return json_of(result).dump() + "\n"; }}});
  tell(rates(result) + "\n");
  return static_cast<int>(result.generation.is_interrupted ? ExitCode::interrupted : ExitCode::ok);
}

}  // namespace

void add_generate(CLI::App& program, Action& action) {
  const auto options = std::make_shared<GenerateCommand>();
  GenerateRequest& request = options->request;
  CLI::App& command = *program.add_subcommand("generate", "Go on with a text, token by token");
  command.footer("example: assay generate smollm2-135m --prompt 'Once upon a time' --new 64 --precision bf16");
  command.add_option("model", request.model, "folder, .gguf file, cached model or preset")->required();
  add_prompt_options(command, request);
  add_chat_options(command, request);
  command.add_option("--precision", request.precision, "one precision (default fp32)");
  add_sampling_options(command, request.sampling);
  add_output_file(command, "--json", options->json,
                  "{\"sequences\": [[new ids]], \"text\", \"logprobs\", \"prefill_ms\", \"token_ms\"}");
  add_engine_options(command, request.engine);
  add_recipe_option(command, request.engine, request.precision);
  add_graphs_option(command, request.engine.graphs);
  add_model_options(command, request.model_options);
  add_machine_options(command, options->machine);
  command.callback([options, &action] { action = [options] { return run_generate(*options); }; });
}

}  // namespace assay
