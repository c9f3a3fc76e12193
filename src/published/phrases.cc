#include <algorithm>

#include "published/column.h"

namespace assay {
namespace {

/// Words that follow one another in a header, whatever stands between them: "ms/token", "ms per token", "[ms token]".
struct Phrase {
  std::string_view words;
  Quantity quantity;
  Unit unit = {};
};

constexpr Unit in_ms = {Dimension::time, 1};
constexpr Unit seconds = {Dimension::time, 1e3};
constexpr Unit joules = {Dimension::energy, 1};
constexpr Unit watt_hours = {Dimension::energy, 3600};
constexpr Unit tokens_a_second = {Dimension::token_rate, 1};
constexpr Unit runs_a_second = {Dimension::rate, 1};
constexpr Unit share = {Dimension::percent, 0.01};
constexpr Unit billions = {Dimension::none, 1e9};
constexpr Unit millions = {Dimension::none, 1e6};

// "per" is left out of headers before they are compared. What stands first is found first.
constexpr Phrase phrases[] = {
    // Read as nothing: they look like figures that they are not.
    {"batch tokens", Quantity::none},
    {"tokens batch", Quantity::none},
    {"group size", Quantity::none},
    {"beam size", Quantity::none},
    {"image size", Quantity::none},
    {"input size", Quantity::none},
    {"block size", Quantity::none},
    {"chunk size", Quantity::none},
    {"window size", Quantity::none},
    {"vocab size", Quantity::none},
    {"tdp", Quantity::none},
    {"total token throughput", Quantity::none},
    {"top 5", Quantity::none},
    {"onnx runtime", Quantity::none},
    {"load time", Quantity::none},
    {"compile time", Quantity::none},
    {"compression time", Quantity::none},
    {"quantization time", Quantity::none},
    {"total input tokens", Quantity::none},
    {"total generated tokens", Quantity::none},
    {"peak power", Quantity::none},
    {"max power", Quantity::none},
    {"compute capability", Quantity::none},
    {"optimizer state", Quantity::none},
    {"optimizer states", Quantity::none},
    {"fps w", Quantity::items_per_joule},
    {"fps watt", Quantity::items_per_joule},
    {"samples j", Quantity::items_per_joule},
    {"samples joule", Quantity::items_per_joule},
    {"images j", Quantity::items_per_joule},
    {"images joule", Quantity::items_per_joule},
    {"img j", Quantity::items_per_joule},
    {"inferences j", Quantity::items_per_joule},
    {"inferences joule", Quantity::items_per_joule},
    {"inf j", Quantity::items_per_joule},
    {"images s w", Quantity::items_per_joule},
    {"img s w", Quantity::items_per_joule},
    {"samples s w", Quantity::items_per_joule},
    {"kv cache", Quantity::kv_cache},
    {"prompt eval", Quantity::prompt_rate},
    {"prompt processing", Quantity::prompt_rate},
    {"prefill tok s", Quantity::prompt_rate},
    {"prefill t s", Quantity::prompt_rate},
    {"prefill tokens s", Quantity::prompt_rate},
    {"prefill throughput", Quantity::prompt_rate},
    {"prefill speed", Quantity::prompt_rate},
    {"prompt t s", Quantity::prompt_rate},
    {"prompt tok s", Quantity::prompt_rate},
    {"pp t s", Quantity::prompt_rate},
    {"input tokens s", Quantity::prompt_rate},
    {"input tok s", Quantity::prompt_rate},
    {"tokens gpu s", Quantity::tokens_per_s, {Dimension::token_rate, 1}},
    {"hardware support", Quantity::notes},
    {"n batch", Quantity::batch},
    {"concurrency", Quantity::batch},
    {"tok s w", Quantity::tokens_per_joule},
    {"tokens s w", Quantity::tokens_per_joule},
    {"tokens watt", Quantity::tokens_per_joule},
    {"time to first token", Quantity::ttft},
    {"first token latency", Quantity::ttft},
    {"ttft", Quantity::ttft},
    {"inter token latency", Quantity::tpot},
    {"time output token", Quantity::tpot},
    {"latency token", Quantity::tpot},
    {"time token", Quantity::tpot},
    {"tpot", Quantity::tpot},
    {"itl", Quantity::tpot},
    {"ms token", Quantity::tpot, in_ms},
    {"ms tok", Quantity::tpot, in_ms},
    {"s token", Quantity::tpot, seconds},
    {"sec token", Quantity::tpot, seconds},
    {"tokens joule", Quantity::tokens_per_joule},
    {"tokens j", Quantity::tokens_per_joule},
    {"tok j", Quantity::tokens_per_joule},
    {"j token", Quantity::token_energy, joules},
    {"j tok", Quantity::token_energy, joules},
    {"joules token", Quantity::token_energy, joules},
    {"mj token", Quantity::token_energy, {Dimension::energy, 1e-3}},
    {"mj tok", Quantity::token_energy, {Dimension::energy, 1e-3}},
    {"energy token", Quantity::token_energy},
    {"wh token", Quantity::token_energy, watt_hours},
    {"tokens generated", Quantity::output},
    {"generated tokens", Quantity::output},
    {"output tokens s", Quantity::tokens_per_s, tokens_a_second},
    {"output tokens", Quantity::output},
    {"new tokens", Quantity::output},
    {"output length", Quantity::output},
    {"output len", Quantity::output},
    {"tok s", Quantity::tokens_per_s, tokens_a_second},
    {"toks s", Quantity::tokens_per_s, tokens_a_second},
    {"t s", Quantity::tokens_per_s, tokens_a_second},
    {"tok sec", Quantity::tokens_per_s, tokens_a_second},
    {"tokens s", Quantity::tokens_per_s, tokens_a_second},
    {"tokens sec", Quantity::tokens_per_s, tokens_a_second},
    {"tokens second", Quantity::tokens_per_s, tokens_a_second},
    {"token s", Quantity::tokens_per_s, tokens_a_second},
    {"ktok s", Quantity::tokens_per_s, {Dimension::token_rate, 1e3}},
    {"s it", Quantity::latency, seconds},
    {"sec it", Quantity::latency, seconds},
    {"s iter", Quantity::latency, seconds},
    {"ms it", Quantity::latency, in_ms},
    {"ms iter", Quantity::latency, in_ms},
    {"ms image", Quantity::latency, in_ms},
    {"ms img", Quantity::latency, in_ms},
    {"ms sample", Quantity::latency, in_ms},
    {"ms batch", Quantity::latency, in_ms},
    {"s batch", Quantity::latency, seconds},
    {"latency batch", Quantity::latency},
    {"time batch", Quantity::latency},
    {"ms inference", Quantity::latency, in_ms},
    {"ms frame", Quantity::latency, in_ms},
    {"s image", Quantity::latency, seconds},
    {"ms step", Quantity::step, in_ms},
    {"s step", Quantity::step, seconds},
    {"seq s", Quantity::throughput, runs_a_second},
    {"seqs s", Quantity::throughput, runs_a_second},
    {"req s", Quantity::throughput, runs_a_second},
    {"requests s", Quantity::throughput, runs_a_second},
    {"it s", Quantity::throughput, runs_a_second},
    {"iter s", Quantity::throughput, runs_a_second},
    {"imgs s", Quantity::throughput, runs_a_second},
    {"img s", Quantity::throughput, runs_a_second},
    {"im s", Quantity::throughput, runs_a_second},
    {"images s", Quantity::throughput, runs_a_second},
    {"images sec", Quantity::throughput, runs_a_second},
    {"images second", Quantity::throughput, runs_a_second},
    {"queries s", Quantity::throughput, runs_a_second},
    {"samples s", Quantity::throughput, runs_a_second},
    {"samples sec", Quantity::throughput, runs_a_second},
    {"samples second", Quantity::throughput, runs_a_second},
    {"sequences s", Quantity::throughput, runs_a_second},
    {"sequences second", Quantity::throughput, runs_a_second},
    {"inferences s", Quantity::throughput, runs_a_second},
    {"inferences second", Quantity::throughput, runs_a_second},
    {"frames s", Quantity::throughput, runs_a_second},
    {"frames second", Quantity::throughput, runs_a_second},
    {"steps s", Quantity::throughput, runs_a_second},
    {"iterations s", Quantity::throughput, runs_a_second},
    {"j iter", Quantity::energy, joules},
    {"j it", Quantity::energy, joules},
    {"j image", Quantity::energy, joules},
    {"j img", Quantity::energy, joules},
    {"j sample", Quantity::energy, joules},
    {"j inference", Quantity::energy, joules},
    {"j inf", Quantity::energy, joules},
    {"mj image", Quantity::energy, {Dimension::energy, 1e-3}},
    {"mj inf", Quantity::energy, {Dimension::energy, 1e-3}},
    {"mj inference", Quantity::energy, {Dimension::energy, 1e-3}},
    {"mj sample", Quantity::energy, {Dimension::energy, 1e-3}},
    {"j run", Quantity::energy, joules},
    {"kj run", Quantity::energy, {Dimension::energy, 1e3}},
    {"kj epoch", Quantity::energy, {Dimension::energy, 1e3}},
    {"total energy", Quantity::run_energy},
    {"energy total", Quantity::run_energy},
    {"correct", Quantity::correct},
    {"recovery", Quantity::recovery, share},
    {"retention", Quantity::recovery, share},
    {"of baseline", Quantity::recovery, share},
    {"efficiency gain", Quantity::energy_ratio},
    {"top 1", Quantity::accuracy},
    {"acc 1", Quantity::accuracy},
    {"acc1", Quantity::accuracy},
    {"exact match", Quantity::accuracy},
    {"mmlu", Quantity::accuracy},
    {"gsm8k", Quantity::accuracy},
    {"hellaswag", Quantity::accuracy},
    {"arc c", Quantity::accuracy},
    {"arc e", Quantity::accuracy},
    {"winogrande", Quantity::accuracy},
    {"piqa", Quantity::accuracy},
    {"boolq", Quantity::accuracy},
    {"f1", Quantity::accuracy},
    {"em", Quantity::accuracy},
    {"map", Quantity::accuracy},
    {"pass 1", Quantity::accuracy},
    {"c4", Quantity::perplexity},
    {"ptb", Quantity::perplexity},
    {"train loss", Quantity::loss},
    {"training loss", Quantity::loss},
    {"wikitext2", Quantity::perplexity},
    {"wikitext 2", Quantity::perplexity},
    {"wiki2", Quantity::perplexity},
    {"cross entropy", Quantity::loss},
    {"eval loss", Quantity::loss},
    {"val loss", Quantity::loss},
    {"validation loss", Quantity::loss},
    {"test loss", Quantity::loss},
    {"nll", Quantity::loss},
    {"gb s", Quantity::bandwidth, {Dimension::bandwidth, 1}},
    {"gib s", Quantity::bandwidth, {Dimension::bandwidth, 1.073741824}},
    {"tb s", Quantity::bandwidth, {Dimension::bandwidth, 1e3}},
    {"tflops", Quantity::rate, {Dimension::tops, 1}},
    {"tflop s", Quantity::rate, {Dimension::tops, 1}},
    {"gflops", Quantity::rate, {Dimension::tops, 1e-3}},
    {"tops", Quantity::rate, {Dimension::tops, 1}},
    {"params b", Quantity::parameters, billions},
    {"parameters b", Quantity::parameters, billions},
    {"param b", Quantity::parameters, billions},
    {"params m", Quantity::parameters, millions},
    {"parameters m", Quantity::parameters, millions},
    {"bpw", Quantity::bits},
    {"bits weight", Quantity::bits},
    {"wbits", Quantity::bits},
    {"bit width", Quantity::bits},
    {"bitwidth", Quantity::bits},
    {"instances", Quantity::devices},
    {"replicas", Quantity::devices},
    {"gpu count", Quantity::devices},
    {"num gpus", Quantity::devices},
    {"gpus", Quantity::devices},
    {"tp", Quantity::devices},
    {"Δ latency", Quantity::change, share},
    {"Δ time", Quantity::change, share},
    {"Δ throughput", Quantity::change, share},
    {"memory saving", Quantity::size_ratio},
    {"memory savings", Quantity::size_ratio},
    {"max memory", Quantity::memory},
    {"max mem", Quantity::memory},
    {"max vram", Quantity::memory},
    {"gpu memory", Quantity::memory},
    {"gpu mem", Quantity::memory},
    {"wall clock", Quantity::latency},
    {"elapsed", Quantity::latency},
    {"improvement", Quantity::change, share},
    {"latency change", Quantity::change, share},
    {"time change", Quantity::change, share},
    {"throughput change", Quantity::change, share},
    {"latency reduction", Quantity::change, share},
    {"time reduction", Quantity::change, share},
    {"time saved", Quantity::change, share},
    {"throughput gain", Quantity::change, share},
    {"throughput increase", Quantity::change, share},
    {"change", Quantity::change, share},
    {"faster", Quantity::speedup},
    {"p90", Quantity::p90},
    {"p95", Quantity::p95},
    {"p99", Quantity::p99},
};

std::string joined(const std::vector<std::string>& words) {
  std::string text = " ";
  for (const std::string& word : words) {
    if (word != "per") text += word + " ";
  }
  return text;
}

}  // namespace

std::optional<ColumnMeaning> meaning_by_phrase(const std::vector<std::string>& words) {
  if (words.size() == 1 && (words[0] == "w" || words[0] == "watts"))
    return ColumnMeaning{Quantity::power, {Dimension::power, 1}, {}};
  if (words.size() == 2 && words[0] == "w" && (words[1] == "mean" || words[1] == "avg" || words[1] == "average"))
    return ColumnMeaning{Quantity::power, {Dimension::power, 1}, {}};
  if (words.size() == 1 && words[0] == "j") return ColumnMeaning{Quantity::energy, joules, {}};
  const bool is_short = words.size() == 1 || (words.size() == 2 && read_unit(words[1]));
  if (is_short && words[0] == "max") return ColumnMeaning{Quantity::most, {}, {}};
  if (is_short && words[0] == "min" && words.size() > 1) return ColumnMeaning{Quantity::least, {}, {}};
  if (words.size() == 1 && words[0] == "bits") return ColumnMeaning{Quantity::bits, {}, {}};
  constexpr std::string_view changes[] = {"reduction", "savings", "gain", "increase", "decrease"};
  if (words.size() == 1 && std::find(std::begin(changes), std::end(changes), words[0]) != std::end(changes))
    return ColumnMeaning{Quantity::change, share, {}};
  constexpr std::string_view ratios[] = {"relative", "normalized", "normalised", "ratio"};
  if (words.size() == 1 && std::find(std::begin(ratios), std::end(ratios), words[0]) != std::end(ratios))
    return ColumnMeaning{Quantity::speedup, {}, {}};
  if (words.size() == 1 && words[0] == "loss") return ColumnMeaning{Quantity::loss, {}, {}};
  const auto is_test = [&](std::string_view kind) {
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      return word.starts_with(kind) && word.size() > kind.size() && word[kind.size()] >= '0' &&
             word[kind.size()] <= '9';
    });
  };
  if (is_test("pp")) return ColumnMeaning{Quantity::prompt_rate, {}, {}};
  if (is_test("tg")) return ColumnMeaning{Quantity::tokens_per_s, {}, {}};
  const std::string text = joined(words);
  const auto stands_in = [&](const Phrase& one) {
    return text.find(" " + std::string(one.words) + " ") != std::string::npos;
  };
  // A spread of such a figure, and its change, is none.
  for (const char* other :
       {" std ", " stddev ", " sd ", " delta ", " ci ", " drop ", " util ", " utilization ", " mfu "}) {
    if (text.find(other) != std::string::npos) return std::nullopt;
  }
  const bool is_of_other = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    constexpr std::string_view others[] = {"memory",     "size",   "accuracy", "acc", "ppl",
                                           "perplexity", "energy", "power",    "loss"};
    return std::find(std::begin(others), std::end(others), word) != std::end(others);
  });
  const auto found = std::find_if(std::begin(phrases), std::end(phrases), stands_in);
  if (found == std::end(phrases)) return std::nullopt;
  if (found->quantity == Quantity::change && is_of_other) return std::nullopt;
  const bool is_edge = text.find(" p9") != std::string::npos && found->words[0] != 'p';
  if (is_edge) return ColumnMeaning{};
  return ColumnMeaning{found->quantity, found->unit, {}};
}

}  // namespace assay
