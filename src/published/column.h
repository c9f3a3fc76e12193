#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "published/figure.h"
#include "rules/precision_name.h"

namespace assay {

/// What a column, or a row of a table whose columns are precisions, holds.
enum class Quantity : std::uint8_t {
  none,
  precision,
  model,
  device,
  key,  ///< Words that tell rows apart: phase, task, data set.
  notes,
  batch,
  seq,
  layers,
  width,
  parameters,
  count,  ///< Rows of data behind a figure.
  runs,   ///< Runs or iterations behind it.
  latency,
  latency_std,
  forward,
  forward_std,
  backward,
  backward_std,
  optimizer,
  optimizer_std,
  step,  ///< Forward and backward, or the whole step.
  step_std,
  throughput,
  tokens_per_s,
  energy,
  power,
  speedup,
  energy_ratio,
  size,
  size_ratio,
  memory,
  perplexity,
  accuracy,
  rate,
  ttft,    ///< Until the first token.
  tpot,    ///< Between two tokens of one stream.
  median,  ///< Beside a mean.
  p90,
  p95,
  p99,
  least,
  most,
  loss,
  bandwidth,  ///< 10^9 bytes a second.
  bits,       ///< Of a stored weight.
  token_energy,
  tokens_per_joule,
  output,   ///< Tokens that a run generates.
  change,   ///< Of time or rate, as a share.
  devices,  ///< Cards that share the work.
  idle_power,
  kv_cache,     ///< Bytes of keys and values.
  prompt_rate,  ///< Tokens of prompts a second.
  items_per_joule,
  run_energy,  ///< Of a whole run, not of one item.
  correct,     ///< Right answers.
  recovery,    ///< Of its baseline's score, as a share.
};
const char* name(Quantity quantity);
std::optional<Quantity> parse_quantity(std::string_view word);
/// The same with '|' between them, for help and errors.
std::string quantity_words();
/// Of what its values are, where no unit is printed.
Dimension dimension_of(Quantity quantity);
/// What a figure is of whose unit is all that is known of it: of "W" power.
Quantity usual_quantity(Dimension dimension);
/// The spread of a duration: forward_std of forward; none for what has none.
Quantity spread_of(Quantity quantity);
/// latency, forward, backward, optimizer, step.
bool is_duration(Quantity quantity);

/// What the words over a column (or at the head of a row) say.
struct ColumnMeaning {
  Quantity quantity = Quantity::none;
  Unit unit;                 ///< dimension none: not said.
  PrecisionWords precision;  ///< "FP16 latency (ms)" is latency, of fp16.
};
ColumnMeaning read_column(std::string_view header);
/// The words of a header in lower case, without what stands between them: "fwd_avg (ms)" is fwd, avg, ms.
std::vector<std::string> words_of_header(std::string_view text);
/// By a phrase that means one thing wherever it stands, as "ms/token"; none where it holds none.
std::optional<ColumnMeaning> meaning_by_phrase(const std::vector<std::string>& words);

}  // namespace assay
