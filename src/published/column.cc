#include "published/column.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <vector>

namespace assay {
namespace {

constexpr std::array quantity_names = {"none",
                                       "precision",
                                       "model",
                                       "device",
                                       "key",
                                       "notes",
                                       "batch",
                                       "seq",
                                       "layers",
                                       "width",
                                       "parameters",
                                       "count",
                                       "runs",
                                       "latency",
                                       "latency_std",
                                       "forward",
                                       "forward_std",
                                       "backward",
                                       "backward_std",
                                       "optimizer",
                                       "optimizer_std",
                                       "step",
                                       "step_std",
                                       "throughput",
                                       "tokens_per_s",
                                       "energy",
                                       "power",
                                       "speedup",
                                       "energy_ratio",
                                       "size",
                                       "size_ratio",
                                       "memory",
                                       "perplexity",
                                       "accuracy",
                                       "rate",
                                       "ttft",
                                       "tpot",
                                       "median",
                                       "p90",
                                       "p95",
                                       "p99",
                                       "least",
                                       "most",
                                       "loss",
                                       "bandwidth",
                                       "bits",
                                       "token_energy",
                                       "tokens_per_joule",
                                       "output",
                                       "change",
                                       "devices",
                                       "idle_power",
                                       "kv_cache",
                                       "prompt_rate",
                                       "items_per_joule",
                                       "run_energy",
                                       "correct",
                                       "recovery"};

/// Words of German and French headers that no English header holds.
struct Translation {
  std::string_view word;
  std::string_view english;
};

constexpr Translation translations[] = {
    {"präzision", "precision"},
    {"précision", "precision"},
    {"genauigkeit", "accuracy"},
    {"exactitude", "accuracy"},
    {"latenz", "latency"},
    {"latence", "latency"},
    {"durchsatz", "throughput"},
    {"débit", "throughput"},
    {"beschleunigung", "speedup"},
    {"accélération", "speedup"},
    {"speicher", "memory"},
    {"speicherbedarf", "memory"},
    {"mémoire", "memory"},
    {"größe", "size"},
    {"modellgröße", "size"},
    {"taille", "size"},
    {"stapelgröße", "batchsize"},
    {"lot", "batch"},
    {"modell", "model"},
    {"modèle", "model"},
    {"zeit", "time"},
    {"laufzeit", "runtime"},
    {"dauer", "duration"},
    {"temps", "time"},
    {"durée", "duration"},
    {"energie", "energy"},
    {"énergie", "energy"},
    {"puissance", "power"},
    {"leistungsaufnahme", "power"},
    {"perplexität", "perplexity"},
    {"perplexité", "perplexity"},
    {"verlust", "loss"},
    {"perte", "loss"},
    {"paramètres", "parameters"},
    {"verfahren", "method"},
    {"méthode", "method"},
    {"aufgabe", "task"},
    {"tâche", "task"},
    {"änderung", "change"},
    {"faktor", "speedup"},
    {"facteur", "speedup"},
    {"einsparung", "reduction"},
    {"réduction", "reduction"},
    {"consommation", "energy"},
    {"gegenüber", "vs"},
    {"gerät", "device"},
    {"lat", "latency"},
    {"prec", "precision"},
    {"thpt", "throughput"},
    {"tput", "throughput"},
    {"thr", "throughput"},
    {"thrpt", "throughput"},
    {"pwr", "power"},
    {"carte", "gpu"},
};

std::string in_english(std::string word) {
  // The two bytes of a capital É or Ä stand 0x20 below the small one's.
  if (word.size() > 1 && word[0] == '\xc3' && static_cast<unsigned char>(word[1]) < 0x9f)
    word[1] = static_cast<char>(word[1] + 0x20);
  for (const Translation& one : translations) {
    if (one.word == word) return std::string(one.english);
  }
  return word;
}

/// The words of a header in lower case: "fwd_avg (ms)" is fwd, avg.
struct Words {
  std::vector<std::string> list;
  bool has(std::initializer_list<std::string_view> any) const {
    return std::any_of(list.begin(), list.end(),
                       [&](const std::string& word) { return std::find(any.begin(), any.end(), word) != any.end(); });
  }
};

Words header_words(std::string_view text) {
  Words words;
  words.list = {""};
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || byte >= 0x80) {
      words.list.back() += static_cast<char>(byte < 0x80 ? std::tolower(byte) : byte);
    } else if (!words.list.back().empty()) {
      words.list.emplace_back();
    }
  }
  if (words.list.back().empty()) words.list.pop_back();
  for (std::string& word : words.list) word = in_english(std::move(word));
  return words;
}

/// "throughput_samples_s", "tokens_per_s", "samples per second": what ends like a time and is a rate.
Unit take_rate(std::string& text) {
  const Words words = header_words(text);
  const std::size_t n = words.list.size();
  if (n < 2) return {};
  const auto is_one_of = [](const std::string& word, std::initializer_list<std::string_view> any) {
    return std::find(any.begin(), any.end(), word) != any.end();
  };
  if (!is_one_of(words.list[n - 1], {"s", "sec", "second"})) return {};
  const std::string& what = words.list[n - 2] == "per" && n > 2 ? words.list[n - 3] : words.list[n - 2];
  const bool is_token = is_one_of(what, {"token", "tokens", "tok"});
  if (!is_token && !is_one_of(what, {"sample", "samples", "samp", "seq", "sequences", "sentences", "images", "requests",
                                     "inferences", "items", "it", "queries", "img", "imgs", "image"}))
    return {};
  if (text.find('(') != std::string::npos) return {};
  return {is_token ? Dimension::token_rate : Dimension::rate, 1};
}

/// "latency_min" is the least latency; minutes stand in brackets: "Time (min)".
bool says_least(std::string_view last_word) {
  return header_words(last_word).has({"min"});
}

/// "mJ/frame" is mJ: behind the slash stands what it is of.
std::optional<Unit> unit_of_item(const std::string& text) {
  const auto whole = read_unit(text);
  const auto slash = text.find('/');
  if (whole || slash == std::string::npos) return whole;
  const bool is_rate =
      header_words(text.substr(slash)).has({"s", "sec", "second", "w", "j", "min", "h", "token", "tok"});
  return is_rate ? std::nullopt : read_unit(text.substr(0, slash));
}

/// Takes the unit off a header: "Latency (ms)", "Latency [ms]", "latency_ms", "Latency ms", "Energy/sample (mJ)".
Unit take_header_unit(std::string& text) {
  if (const Unit rate = take_rate(text); rate.dimension != Dimension::none) return rate;
  for (const char open : {'(', '['}) {
    const auto from = text.rfind(open);
    if (from == std::string::npos) continue;
    const auto to = std::min(text.find(open == '(' ? ')' : ']', from), text.size());
    std::string inside = text.substr(from + 1, to - from - 1);
    const auto unit = unit_of_item(inside);
    if (!unit) continue;
    text.erase(from, to - from + 1);
    return *unit;
  }
  const auto last = text.find_last_of(" _,");
  if (last != std::string::npos && !says_least(text.substr(last + 1))) {
    if (const auto unit = read_unit(text.substr(last + 1)); unit && unit->dimension != Dimension::ratio) {
      text.erase(last);
      return *unit;
    }
  }
  // "GB on disk", "ms per image": of a letter alone nobody can tell.
  const auto first = text.find_first_of(" _/");
  const auto leading = first == std::string::npos ? std::nullopt : read_unit(std::string_view(text).substr(0, first));
  if (leading && first > 1 && leading->dimension != Dimension::ratio && !says_least(text.substr(0, first))) {
    text.erase(0, first + 1);
    return *leading;
  }
  if (text.ends_with('%')) {
    text.pop_back();
    return {Dimension::percent, 0.01};
  }
  if (text.starts_with('%')) {
    text.erase(0, 1);
    return {Dimension::percent, 0.01};
  }
  return {};
}

Quantity spread_of_mean(Quantity mean, bool is_spread) {
  return is_spread ? spread_of(mean) : mean;
}

Quantity duration_in(const Words& words, Unit unit) {
  const bool is_time = unit.dimension == Dimension::time;  // "F (ms)", "B (ms)", "F+B (ms)".
  const bool forward = words.has({"forward", "fwd", "fw"}) || (is_time && words.has({"f"}));
  const bool backward = words.has({"backward", "bwd", "bw", "back"}) || (is_time && words.has({"b"}));
  if (forward && backward) return Quantity::step;
  if (forward) return Quantity::forward;
  if (backward) return Quantity::backward;
  if (words.has({"optimizer", "optimiser", "adamw", "opt"})) return Quantity::optimizer;
  if (words.has({"total", "step", "iteration", "iter"})) return Quantity::step;
  if (words.has(
          {"latency", "time", "runtime", "duration", "mean", "avg", "average", "median", "p50", "speed", "delay"}))
    return Quantity::latency;
  return Quantity::none;
}

Quantity energy_in(const Words& words, Unit unit) {
  if (words.has({"token", "tokens", "total", "delay", "edp"})) return Quantity::none;
  const bool compares =
      words.has({"reduction", "savings", "saving", "saved", "ratio", "improvement", "vs", "efficiency"});
  if (compares || unit.dimension == Dimension::percent || unit.dimension == Dimension::ratio)
    return Quantity::energy_ratio;
  return Quantity::energy;
}

Quantity size_in(const Words& words, Unit unit) {
  if (words.has({"reduction", "ratio", "compression", "saved", "savings", "vs"})) return Quantity::size_ratio;
  if (unit.dimension == Dimension::percent || unit.dimension == Dimension::ratio) return Quantity::size_ratio;
  return words.has({"memory", "vram", "mem", "ram", "peak"}) ? Quantity::memory : Quantity::size;
}

/// What stands beside a figure and is none of its middle.
bool is_edge(const Words& words) {
  return words.has({"p90", "p95", "p99", "max", "min", "cv", "ci", "first", "cold", "prefill", "ttft"});
}

Quantity figure_in(const Words& words, Unit unit) {
  const bool is_spread = words.has({"std", "stdev", "stddev", "sd", "deviation", "σ", "±"});
  const bool is_number =
      unit.dimension == Dimension::none && !words.has({"per", "throughput", "s", "sec", "second", "power"});
  if (is_number && words.has({"runs", "iterations", "iters", "trials", "measurements"})) return Quantity::runs;
  if (is_number && words.has({"samples", "rows", "n"})) return Quantity::count;
  if (is_edge(words)) return Quantity::none;
  if (words.has({"speedup", "speedups", "faster"}) ||
      (words.has({"speed"}) && words.has({"up", "vs", "relative", "ratio"})))
    return Quantity::speedup;
  if (words.has({"perplexity", "ppl"})) return is_spread ? Quantity::none : Quantity::perplexity;
  if (words.has({"accuracy", "acc", "top1"})) return is_spread ? Quantity::none : Quantity::accuracy;
  if (words.has({"tflops", "gflops", "flops", "tops"}) && !words.has({"util", "utilization", "mfu"}))
    return unit.dimension == Dimension::tops ? Quantity::rate : Quantity::none;
  if (unit.dimension == Dimension::token_rate || words.has({"tps"})) return Quantity::tokens_per_s;
  if (words.has({"tokens", "tok"}) && words.has({"per", "s", "sec", "second", "throughput"}))
    return Quantity::tokens_per_s;
  if (unit.dimension == Dimension::rate || words.has({"throughput", "qps", "fps"})) return Quantity::throughput;
  if (words.has({"compression"})) return Quantity::size_ratio;
  if (unit.dimension == Dimension::energy || words.has({"energy", "joules"})) {
    return is_spread ? Quantity::none : energy_in(words, unit);
  }
  if (unit.dimension == Dimension::power || words.has({"power", "watts", "wattage", "draw"})) {
    if (words.has({"idle"}) && words.has({"above", "net", "minus", "over", "less", "without"})) return Quantity::none;
    if (is_spread || words.has({"samples", "readings", "limit"})) return Quantity::none;
    return words.has({"idle"}) ? Quantity::idle_power : Quantity::power;
  }
  if (words.has({"size", "disk", "memory", "vram", "mem"}) || unit.dimension == Dimension::bytes) {
    if (words.has({"batch"})) return Quantity::batch;
    return is_spread ? Quantity::none : size_in(words, unit);
  }
  if (unit.dimension != Dimension::none && unit.dimension != Dimension::time) return Quantity::none;
  const bool is_corrected = words.has({"corrected", "adjusted", "without", "excluding"});
  if (words.has({"change", "delta", "diff", "vs", "overhead", "reduction"}) && !is_corrected) return Quantity::none;
  const Quantity duration = duration_in(words, unit);
  return duration == Quantity::none && is_spread ? Quantity::latency_std : spread_of_mean(duration, is_spread);
}

Quantity label_in(const Words& words) {
  if (words.has({"batch", "bs", "batchsize"})) return Quantity::batch;
  if (words.has({"seq", "seqlen", "sequence", "context", "ctx", "tokens"})) return Quantity::seq;
  if (words.has({"layers", "nlayers", "depth"})) return Quantity::layers;
  if (words.has({"width", "hidden", "dmodel"}) || (words.has({"d"}) && words.has({"model"}))) return Quantity::width;
  if (words.has({"params", "parameters", "param"})) return Quantity::parameters;
  if (words.has({"precision", "dtype", "format", "quantization", "quantisation", "approach", "method", "config",
                 "configuration", "variant", "datatype", "quant"}))
    return Quantity::precision;
  if (words.has({"device", "gpu", "hardware", "platform"})) return Quantity::device;
  if (words.has({"notes", "note", "status", "comment", "comments", "remarks", "observation"})) return Quantity::notes;
  if (words.has(
          {"phase", "mode", "pass", "stage", "task", "dataset", "data", "backend", "framework", "compile", "function"}))
    return Quantity::key;
  return Quantity::none;
}

/// Those that would be taken for figures, by their last word.
Quantity early_label(const Words& words) {
  if (words.list.empty()) return Quantity::none;
  if (words.has({"batch"}) && words.has({"size"})) return Quantity::batch;
  if (words.list.front() == "d" && words.list.back() == "model") return Quantity::width;
  if (words.has({"model", "network", "architecture"}) && !words.has({"size", "mb", "memory"})) return Quantity::model;
  if (words.has({"sequence", "seq", "context"}) && words.has({"length", "len"})) return Quantity::seq;
  if (words.list.size() == 1 && words.has({"tokens"})) return Quantity::seq;
  return Quantity::none;
}

}  // namespace

std::vector<std::string> words_of_header(std::string_view text) {
  return header_words(text).list;
}

const char* name(Quantity quantity) {
  return quantity_names[static_cast<std::size_t>(quantity)];
}

std::optional<Quantity> parse_quantity(std::string_view word) {
  const auto found = std::find(quantity_names.begin(), quantity_names.end(), word);
  if (found == quantity_names.end()) return std::nullopt;
  return static_cast<Quantity>(found - quantity_names.begin());
}

std::string quantity_words() {
  std::string words;
  for (const char* one : quantity_names) words += (words.empty() ? "" : "|") + std::string(one);
  return words;
}

bool is_duration(Quantity quantity) {
  return quantity == Quantity::latency || quantity == Quantity::forward || quantity == Quantity::backward ||
         quantity == Quantity::optimizer || quantity == Quantity::step;
}

Quantity spread_of(Quantity quantity) {
  return is_duration(quantity) ? static_cast<Quantity>(static_cast<int>(quantity) + 1) : Quantity::none;
}

Dimension dimension_of(Quantity quantity) {
  struct Row {
    Dimension dimension;
    std::initializer_list<Quantity> quantities;
  };
  static const Row rows[] = {
      {Dimension::time,
       {Quantity::latency_std, Quantity::forward_std, Quantity::backward_std, Quantity::optimizer_std,
        Quantity::step_std, Quantity::ttft, Quantity::tpot, Quantity::median, Quantity::p90, Quantity::p95,
        Quantity::p99, Quantity::least, Quantity::most}},
      {Dimension::energy, {Quantity::energy, Quantity::token_energy, Quantity::run_energy}},
      {Dimension::power, {Quantity::power, Quantity::idle_power}},
      {Dimension::bytes, {Quantity::size, Quantity::memory, Quantity::kv_cache}},
      {Dimension::rate, {Quantity::throughput}},
      {Dimension::token_rate, {Quantity::tokens_per_s, Quantity::prompt_rate}},
      {Dimension::ratio,
       {Quantity::speedup, Quantity::energy_ratio, Quantity::size_ratio, Quantity::change, Quantity::recovery}},
      {Dimension::percent, {Quantity::accuracy}},
      {Dimension::tops, {Quantity::rate}},
      {Dimension::bandwidth, {Quantity::bandwidth}},
  };
  if (is_duration(quantity)) return Dimension::time;
  for (const Row& row : rows) {
    if (std::find(row.quantities.begin(), row.quantities.end(), quantity) != row.quantities.end()) return row.dimension;
  }
  return Dimension::none;
}

Quantity usual_quantity(Dimension dimension) {
  switch (dimension) {
    case Dimension::time:
      return Quantity::latency;
    case Dimension::energy:
      return Quantity::energy;
    case Dimension::power:
      return Quantity::power;
    case Dimension::bytes:
      return Quantity::size;
    case Dimension::rate:
      return Quantity::throughput;
    case Dimension::token_rate:
      return Quantity::tokens_per_s;
    case Dimension::tops:
      return Quantity::rate;
    case Dimension::bandwidth:
      return Quantity::bandwidth;
    default:
      return Quantity::none;
  }
}

ColumnMeaning read_column(std::string_view header) {
  ColumnMeaning meaning;
  std::string text = plain_text(header);
  const std::optional<ColumnMeaning> phrase = meaning_by_phrase(words_of_header(text));
  meaning.unit = take_header_unit(text);
  const Words words = header_words(text);
  if (phrase && phrase->quantity == Quantity::none) return meaning;
  if (phrase) {
    meaning = *phrase;
    if (meaning.unit.dimension == Dimension::none && meaning.unit.factor == 1) {
      std::string whole = plain_text(header);
      meaning.unit = take_header_unit(whole);
    }
  }
  if (meaning.quantity == Quantity::none) meaning.quantity = early_label(words);
  if (meaning.quantity == Quantity::none) meaning.quantity = figure_in(words, meaning.unit);
  if (meaning.quantity == Quantity::none) meaning.quantity = label_in(words);
  // "ms", "FPS", "Watt": a unit alone.
  const std::string whole = plain_text(header);
  const auto alone = whole.size() > 1 && !says_least(whole) ? read_unit(whole) : std::nullopt;
  const Quantity usual = alone ? usual_quantity(alone->dimension) : Quantity::none;
  const bool lacks_unit = meaning.unit.dimension == Dimension::none && meaning.quantity == usual;
  if (usual != Quantity::none && (meaning.quantity == Quantity::none || lacks_unit)) {
    meaning.quantity = usual;
    meaning.unit = *alone;
  }
  const bool is_score = meaning.quantity == Quantity::accuracy || meaning.quantity == Quantity::perplexity;
  if (is_score && words.has({"Δ", "δ", "delta", "drop", "diff", "degradation", "recovery", "retention"}))
    meaning.quantity = Quantity::none;
  // "Speed-up vs FP32" names the other side of a comparison, not whose figure it is.
  const bool compares = words.has({"vs", "over", "relative", "against", "than", "versus", "compared"});
  if (!compares) meaning.precision = read_precision(text);
  return meaning;
}

}  // namespace assay
