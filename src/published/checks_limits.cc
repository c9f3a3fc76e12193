#include <algorithm>
#include <cmath>

#include "published/checks.h"
#include "published/row_figures.h"

namespace assay {
namespace {

/// What a limit is asked of: a row, its figures and the cards that it ran on.
struct Asked {
  const PublishedTable& table;
  const Observation& row;
  const RowFigures& figures;
  double cards;

  std::optional<Range> range(Quantity quantity) const {
    const KnownFigure* known = figures.find(quantity);
    return known ? std::optional(known->range) : std::nullopt;
  }
  double device(double KnownDevice::*figure) const { return row.device ? cards * row.device->*figure : 0; }
};

/// Bytes of the weights, in the fewest bits that the row may mean.
std::optional<Range> weight_bytes(const Asked& asked) {
  const auto parameters = asked.range(Quantity::parameters);
  const auto bits = asked.range(Quantity::bits);
  if (!parameters || !bits) return std::nullopt;
  return scaled(*parameters * *bits, 1.0 / 8);
}

/// No single board may draw more.
constexpr double most_power_w = 1400;

bool may_decode(const Asked& asked) {
  return asked.range(Quantity::prompt_rate) ||
         !page_says(asked.table, asked.row,
                    {"prefill", "prompt processing", "pp512", "train", "encoder", "bert", "embedding model", "finetun",
                     "fine-tun", "prompt eval"});
}

/// A token of one stream passes all weights: what reading them takes.
std::optional<Range> decode_gb_s(const Asked& asked) {
  auto bytes = weight_bytes(asked);
  // A file holds tables that a token reads one row of.
  const auto size = asked.range(Quantity::size);
  if (size && (!bytes || 0.85 * size->low > bytes->low)) bytes = scaled(*size, 0.85);
  if (!bytes || !may_decode(asked)) return std::nullopt;
  const double cached = asked.row.device ? asked.row.device->cache_mb * 1e6 * asked.cards : 0;
  const Range read = {std::max(0.0, 0.97 * bytes->low - cached), bytes->high};
  if (const auto gap = asked.range(Quantity::tpot)) return scaled(read / *gap, 1e-6);
  const auto rate = asked.range(Quantity::tokens_per_s);
  const auto batch = asked.range(Quantity::batch);
  if (!rate || !batch) return std::nullopt;
  return scaled(read * *rate / *batch, 1e-9);
}

std::optional<Range> token_tops(const Asked& asked) {
  auto rate = asked.range(Quantity::tokens_per_s);
  if (const auto prompts = asked.range(Quantity::prompt_rate); prompts && (!rate || prompts->low > rate->low))
    rate = prompts;
  const auto parameters = asked.range(Quantity::parameters);
  if (!rate || !parameters || asked.row.precision.precision == PrecisionName::unknown) return std::nullopt;
  // Forward and backward are three passes.
  const bool infers = page_says(asked.table, asked.row,
                                {"post-training", "inference", "decod", "serving", "generat", "prefill", "prompt"});
  const bool trains = !infers && page_says(asked.table, asked.row, {"training", "pretrain", "pre-train"});
  return scaled(*rate * *parameters, trains ? 6e-12 : 2e-12);
}

double peak_of_cards(const Asked& asked) {
  return asked.row.device ? asked.cards * peak_tops(*asked.row.device, asked.row.precision.precision) : 0;
}

std::optional<Range> idle_over_power(const Asked& asked) {
  const auto power = asked.range(Quantity::power);
  if (!power) return std::nullopt;
  if (const auto idle = asked.range(Quantity::idle_power)) return *idle / *power;
  if (asked.table.said.idle_w > 0) return exactly(asked.table.said.idle_w) / *power;
  if (!asked.row.device) return std::nullopt;
  return Range{asked.row.device->idle_w / power->high, asked.row.device->idle_w / power->low};
}

double power_limit(const Asked& asked) {
  const bool is_of_page = !asked.row.device || asked.row.device == asked.table.device;
  if (asked.table.said.power_limit_w > 0 && is_of_page) return asked.cards * asked.table.said.power_limit_w;
  return asked.row.device ? asked.device(&KnownDevice::limit_w) : asked.cards * most_power_w;
}

double memory_bandwidth(const Asked& asked) {
  if (asked.row.device) return asked.device(&KnownDevice::bandwidth_gb_s);
  return asked.cards * asked.table.said.bandwidth_gb_s;
}

/// Bytes a parameter in training: its weight, its gradient, what the optimizer keeps of it.
struct TrainingBytes {
  std::initializer_list<std::string_view> optimizer;  ///< Any of these words says it.
  double narrow;                                      ///< All of it in 16 bits.
  double mixed;                                       ///< Weights and states in 32 bits, products in 16.
  double wide;                                        ///< All in 32 bits.
};
const TrainingBytes training_bytes[] = {
    {{"8-bit adam", "8bit adam", "adam8bit", "adamw8bit", "adam 8", "adamw 8", "8-bit optim", "paged_adamw_8bit"},
     6,
     10,
     10},
    {{"adam"}, 8, 16, 16},
    {{"momentum"}, 6, 12, 12},
    {{"sgd", "full fine-tun", "full finetun", "training memory", "training step"}, 4, 8, 8},
};

/// What training of all weights takes at least; none where not all are trained on one card, or nothing is.
std::optional<Range> training_memory(const Asked& asked) {
  const auto parameters = asked.range(Quantity::parameters);
  const PrecisionName precision = asked.row.precision.precision;
  const bool is_partial =
      page_says(asked.table, asked.row,
                {"lora", "adapter", "peft", "frozen", "zero", "fsdp", "shard", "galore", "lomo", "adafactor", "offload",
                 "prompt tuning", "inference", "trainable", "lion", "muon", "linear probe", "bitfit", "stage"});
  const bool trains = page_says(asked.table, asked.row, {"training", "pre-train", "pretrain", "tuning", "train "});
  if (!parameters || asked.cards > 1 || is_partial || !trains || operand_bits(precision) < 16) return std::nullopt;
  for (const TrainingBytes& one : training_bytes) {
    if (!page_says(asked.table, asked.row, one.optimizer)) continue;
    const bool is_narrow = precision == PrecisionName::bf16 || precision == PrecisionName::fp16;
    return scaled(*parameters, is_narrow ? one.narrow : is_mixed(precision) ? one.mixed : one.wide);
  }
  return std::nullopt;
}

std::optional<Range> training_over_memory(const Asked& asked) {
  const auto needed = training_memory(asked);
  const auto memory = asked.range(Quantity::memory);
  if (!needed || !memory) return std::nullopt;
  return *needed / *memory;
}

/// Keys and values, and the weights beside them where their size is known.
std::optional<Range> cache_and_weights(const Asked& asked) {
  const auto cache = asked.range(Quantity::kv_cache);
  if (!cache) return std::nullopt;
  const auto weights = asked.range(Quantity::size);
  return weights ? Range{cache->low + weights->low, cache->high + weights->high} : *cache;
}

/// A row that did not run (OOM) needs no room.
bool has_run(const Observation& row) {
  return std::any_of(row.figures.begin(), row.figures.end(), [](const auto& figure) {
    const Dimension dimension = dimension_of(figure.first);
    return dimension == Dimension::time || dimension == Dimension::bytes || dimension == Dimension::rate ||
           dimension == Dimension::token_rate || dimension == Dimension::power;
  });
}

double memory_bytes(const Asked& asked) {
  if (!has_run(asked.row)) return 0;
  return asked.row.device ? 1e9 * asked.cards * memory_gb(*asked.row.device) : 0;
}

std::optional<Range> weights_over_memory(const Asked& asked) {
  const auto weights = weight_bytes(asked);
  const auto memory = asked.range(Quantity::memory);
  // Of several cards each may print its own.
  if (!weights || !memory || asked.cards > 1 || stored_bits(asked.row.precision.precision) == 0) return std::nullopt;
  return *weights / *memory;
}

std::optional<Range> streams_missing(const Asked& asked) {
  const auto rate = asked.range(Quantity::tokens_per_s);
  const auto gap = asked.range(Quantity::tpot);
  if (!rate || !gap) return std::nullopt;
  return Range{1e3, 1e3} / (*rate * *gap);
}

/// A figure that may not exceed what there is.
struct Limit {
  const char* rule;
  std::optional<Range> (*figure)(const Asked& asked);
  double (*most)(const Asked& asked);  ///< 0: not known.
  double unit;                         ///< What both are divided by to be shown.
  const char* words;                   ///< {0} the figure, {1} the most, {2} the cards.
};

constexpr Limit limits[] = {
    {"memory_capacity", [](const Asked& a) { return a.range(Quantity::memory); }, memory_bytes, 1e9,
     "{0} GB are more than the {1} GB that {2} has"},
    {"memory_capacity", weight_bytes, memory_bytes, 1e9, "weights of {0} GB do not fit into the {1} GB that {2} has"},
    {"memory_capacity", cache_and_weights, memory_bytes, 1e9,
     "keys, values and weights of {0} GB do not fit into the {1} GB that {2} has"},
    {"memory_capacity", training_memory, memory_bytes, 1e9,
     "weights, gradients and optimizer states of {0} GB do not fit into the {1} GB that {2} has"},
    {"memory_of_weights", training_over_memory, [](const Asked&) { return 1.0; }, 1,
     "weights, gradients and optimizer states take {0}x the memory that is stated"},
    {"memory_of_weights", weights_over_memory, [](const Asked&) { return 1.05; }, 1,
     "weights of that many parameters and bits take {0}x the memory that is stated"},
    {"bandwidth_claim", [](const Asked& a) { return a.range(Quantity::bandwidth); }, memory_bandwidth, 1,
     "{0} GB/s exceed the {1} that {2} has"},
    {"bandwidth_decode", decode_gb_s, memory_bandwidth, 1,
     "each token reads all weights, {0} GB/s at this rate, above the {1} that {2} has"},
    {"peak_claim", [](const Asked& a) { return a.range(Quantity::rate); }, peak_of_cards, 1,
     "{0} TFLOP/s exceed the {1} that {2} has in this precision"},
    {"peak_of_tokens", token_tops, peak_of_cards, 1,
     "2 operations a parameter and token, 6 in training, are {0} TFLOP/s, above the {1} that {2} has in this "
     "precision"},
    {"power_limit", [](const Asked& a) { return a.range(Quantity::power); }, power_limit, 1,
     "{0} W are above the {1} W that {2} may draw"},
    {"power_limit", [](const Asked& a) { return implied_power(a.table, a.row); }, power_limit, 1,
     "energy over latency is {0} W, above the {1} W that {2} may draw"},
    {"power_below_idle", idle_over_power, [](const Asked&) { return 1.0; }, 1,
     "the power is below what {2} draws asleep, by a factor of {0}"},
    {"token_rate", streams_missing, [](const Asked&) { return 3.0; }, 1,
     "tokens a second are {0} times fewer than one stream has at that time between tokens"},
};

void test_limit(const Limit& limit, const Asked& asked, Complaints& say) {
  const auto figure = limit.figure(asked);
  const double most = limit.most(asked);
  if (!figure || most <= 0) return;
  say.limit_tested();
  if (!is_impossible(*figure, most)) return;
  const std::string cards = asked.row.device ? cards_of(*asked.row.device, asked.cards) : "the device";
  const Range shown_figure = scaled(*figure, 1 / limit.unit);
  const std::string sentence =
      fmt::format(fmt::runtime(limit.words), shown(shown_figure), shown(most / limit.unit), cards);
  say.row(asked.row, sentence + ": impossible.",
          fmt::format("{} against {}", shown(shown_figure), shown(most / limit.unit)));
}

}  // namespace

void check_limits(const PublishedTable& table, Complaints& say) {
  for (const Observation& row : table.rows) {
    if (runs_on_cpu(row) && say.rule_id() != "power_limit") continue;
    const RowFigures figures = figures_of(table, row);
    const Asked asked = {table, row, figures, devices_of(table, row)};
    for (const Limit& limit : limits) {
      if (say.rule_id() == limit.rule) test_limit(limit, asked, say);
    }
  }
}

}  // namespace assay
