#include <algorithm>

#include "published/checks.h"

namespace assay {
namespace {

/// Durations that stand for 1, 2 and 3 forward passes.
double passes_of(Quantity duration) {
  if (duration == Quantity::backward) return 2;
  return duration == Quantity::step ? 3 : 1;
}

std::string rate_figures(const PublishedTable& table, const Observation& row, Quantity duration, Range rate) {
  return fmt::format(
      "{} x 2 x {} parameters x {} tokens / {} = {} TFLOP/s", shown(passes_of(duration), 1),
      format_count(static_cast<std::int64_t>(multiplied_of(table, row))),
      shown(batch_of(table, row).value_or(1) *
                (row.find(Quantity::seq) ? row.find(Quantity::seq)->figure.value : table.seq.value_or(0)),
            4),
      shown(*row.find(duration)), shown(rate));
}

/// What else may have run: of fp32 what the device has that is faster.
std::string way_out(const KnownDevice& device, PrecisionName precision) {
  const bool has_tf32 = device.tf32 > device.fp32;
  const bool has_16_bits = std::max(device.fp16, device.bf16) > device.fp32;
  if (precision != PrecisionName::fp32 || !(has_tf32 || has_16_bits))
    return ", unless the clock stopped before the device did";
  return fmt::format(" in fp32; it was {}, or the clock stopped before the device did", has_tf32 && has_16_bits
                                                                                            ? "TF32 or 16 bits"
                                                                                        : has_tf32 ? "TF32"
                                                                                                   : "16 bits");
}

}  // namespace

const KnownModel* model_of(const PublishedTable& table, const Observation& row) {
  return row.model ? row.model : table.model;
}

double parameters_of(const Observation& row, const KnownModel* model) {
  if (const Measured* parameters = row.find(Quantity::parameters)) return parameters->figure.value;
  return model ? model->parameters : 0;
}

/// Parameters that products multiply with.
double multiplied_of(const PublishedTable& table, const Observation& row) {
  const KnownModel* model = model_of(table, row);
  return std::max(0.0, parameters_of(row, model) - (model ? model->embedding_parameters : 0));
}

std::optional<Range> implied_tops(const PublishedTable& table, const Observation& row, Quantity duration) {
  const auto time = row.absolute(duration);
  const Measured* seq = row.find(Quantity::seq);
  const double tokens = (seq ? seq->figure.value : table.seq.value_or(0)) * batch_of(table, row).value_or(1);
  const double multiplied = multiplied_of(table, row);
  if (!time || time->low <= 0 || tokens <= 0 || multiplied <= 0) return std::nullopt;
  // A "total" of inference is one pass; only a table with a backward pass trains.
  const bool trains = row.find(Quantity::backward) != nullptr;
  const double passes = duration == Quantity::step && !trains ? 1 : passes_of(duration);
  return scaled(Range{1, 1} / *time, passes * 2 * multiplied * tokens * 1e3 * 1e-12);
}

void check_instruction_peak(const PublishedTable& table, Complaints& say) {
  for (const Observation& row : table.rows) {
    const PrecisionName precision = row.precision.precision;
    if (!row.device || precision == PrecisionName::unknown) continue;
    for (const Quantity duration : {Quantity::latency, Quantity::forward, Quantity::backward, Quantity::step}) {
      const auto rate = implied_tops(table, row, duration);
      const double peak = peak_tops(*row.device, precision);
      if (!rate) continue;
      say.limit_tested();
      if (!is_impossible(*rate, peak)) continue;
      say.figure(*row.find(duration),
                 fmt::format("{} stands for {} TFLOP/s, above the {} that a {} has in {}: impossible{}.",
                             shown(*row.find(duration)), shown(*rate), shown(peak), row.device->name, name(precision),
                             way_out(*row.device, precision)),
                 rate_figures(table, row, duration, *rate));
    }
  }
}

void check_near_peak(const PublishedTable& table, Complaints& say) {
  for (const Observation& row : table.rows) {
    if (!row.device || row.device->tf32 == 0 || row.precision.precision != PrecisionName::fp32) continue;
    for (const Quantity duration : {Quantity::latency, Quantity::forward, Quantity::backward, Quantity::step}) {
      const auto rate = implied_tops(table, row, duration);
      const double peak = row.device->fp32;
      if (!rate || middle(*rate) < 0.85 * peak || is_impossible(*rate, peak)) continue;
      say.figure(
          *row.find(duration),
          fmt::format("{} stands for {} TFLOP/s, {} % of the {}'s fp32 peak, which whole models do not reach: was TF32 "
                      "allowed?",
                      shown(*row.find(duration)), shown(*rate), shown(100 * middle(*rate) / peak), row.device->name),
          rate_figures(table, row, duration, *rate));
    }
  }
}

void check_bandwidth(const PublishedTable& table, Complaints& say) {
  for (const Observation& row : table.rows) {
    const auto time = row.absolute(row.find(Quantity::latency) ? Quantity::latency : Quantity::forward);
    const auto size = row.absolute(Quantity::size);
    const double bits = operand_bits(row.precision.precision);
    if (!row.device || !time || time->low <= 0 || bits == 0) continue;
    const double parameters = parameters_of(row, model_of(table, row));
    const double weights = parameters > 0 ? multiplied_of(table, row) * bits / 8 : size ? 0.5 * size->low : 0;
    const double cache_bytes = row.device->cache_mb * 1e6;
    const Range rate = scaled(rate_from_memory(weights, cache_bytes, *time), 1e-9);
    if (!is_impossible(rate, row.device->bandwidth_gb_s)) continue;
    const auto batch = batch_of(table, row);
    const Measured& about = *row.find(row.find(Quantity::latency) ? Quantity::latency : Quantity::forward);
    say.figure(
        about,
        fmt::format("reading its weights in {} takes {} GB/s, above the {} of a {}: impossible{}.", shown(about),
                    shown(rate.low), shown(row.device->bandwidth_gb_s), row.device->name,
                    batch == 1.0 ? "" : ", unless it is the time of one sample of a batch"),
        fmt::format("{} beyond the cache / {}", format_bytes(bytes_from_memory(weights, cache_bytes)), shown(about)),
        batch == 1.0 ? Severity::high : Severity::medium);
  }
}

}  // namespace assay
