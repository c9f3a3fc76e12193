#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/states.h"
#include "tensor/ledger.h"

namespace assay {

// The parts of a record. Absent values were not measured or do not exist here; none is ever replaced by 0.
// `record_fields()` says what each member means and in which unit.

/// What makes two records the same measurement: see results/identity.h, which says what of it counts where.
struct Setting {
  std::string model = {};
  std::string weights = {};  ///< "sha256:…" or "random".
  std::int64_t parameters = 0;
  std::string stored_dtype = {};
  std::string precision = {};
  std::optional<std::string> recipe_hash = {};
  std::optional<std::string> recipe = {};
  std::optional<std::string> calibration = {};
  std::string baseline = {};  ///< Precision that speed-up and divergence compare with.
  std::string device = "cpu";
  std::int64_t batch = 1;
  std::int64_t seq = 1;
  std::int64_t threads = 1;
  LogitsOf logits = LogitsOf::all;
  Switch fusion = Switch::on;
  CastsMade casts = CastsMade::once;
  std::optional<Switch> graphs = {};
  CacheState caches = CacheState::warm;
  InputsOf timed_inputs = InputsOf::random;
  std::optional<std::string> timed_data = {};
  RowOrder row_order = RowOrder::given;
  Switch skip_padding = Switch::on;
  std::int64_t seed = 0;
  std::string machine = {};
  std::string build = {};
  std::optional<std::string> command = {};
  std::optional<std::string> phase = {};
  std::optional<std::string> engine = {};  ///< Another program that computes the same; absent: assay.
  std::optional<std::string> engine_settings = {};
  Mode mode = Mode::inference;
  Recomputed recompute = Recomputed::none;
  std::optional<std::string> step = {};
  std::optional<std::int64_t> warmup_steps = {};
  std::optional<std::int64_t> depth = {};
  std::optional<std::int64_t> prompt_tokens = {};
  std::optional<std::int64_t> new_tokens = {};
  std::optional<std::int64_t> ranks = {};  ///< Processes that do one training step together; `threads` is of each.
};

struct CellOutcome {
  Status status = Status::ok;
  std::optional<std::string> reason = {};
  std::optional<std::int64_t> group = {};
  std::optional<std::string> restored = {};
};

/// Of a grid that is divided among processes or machines: which part of it the record is of.
struct GridShare {
  std::optional<std::string> grid = {};    ///< The command that asks for all of it.
  std::optional<std::string> shard = {};   ///< "2/4"; absent where each machine measures all of it.
  std::optional<bool> compared_only = {};  ///< A baseline that another shard has as its own.
};

/// Of what was sampled.
struct Latency {
  std::int64_t samples = 0;
  std::vector<double> raw_ms = {};
  std::vector<double> process_samples = {};  ///< Counts.
  std::vector<double> raw_tokens = {};       ///< Counts.
  std::vector<double> raw_positions = {};    ///< Counts.
  std::optional<std::int64_t> repetitions = {};
  std::optional<double> prepare_ms = {};
  std::optional<double> first_ms = {};
  std::vector<double> warm_up_ms = {};
  std::optional<bool> steady = {};
  std::optional<double> median_ms = {};
  std::optional<double> p10_ms = {};
  std::optional<double> p90_ms = {};
  std::optional<double> p99_ms = {};
  std::optional<double> mean_ms = {};
  std::optional<double> std_ms = {};
  std::optional<double> ci_low_ms = {};
  std::optional<double> ci_high_ms = {};
  std::optional<std::string> interval_by = {};
  std::optional<double> run_spread = {};
  std::optional<double> run_spread_degrees = {};
  std::optional<double> asked_width = {};
  std::optional<StoppedBy> stopped_by = {};
  std::optional<double> device_ms = {};
  std::optional<double> enqueue_ms = {};
  std::optional<std::int64_t> throttled_rounds = {};
  std::optional<double> padding_cost = {};
  std::optional<double> padding_cost_low = {};
  std::optional<double> padding_cost_high = {};
  std::optional<std::int64_t> timed_runs = {};
  std::optional<double> timed_s = {};
  std::optional<double> items = {};
};

/// Against the baseline, round by round.
struct Speedup {
  std::optional<double> baseline_median_ms = {};
  std::optional<double> speedup = {};
  std::optional<double> speedup_low = {};
  std::optional<double> speedup_high = {};
  std::optional<std::string> speedup_by = {};
  std::optional<double> speedup_run_spread = {};
  std::optional<double> speedup_run_spread_degrees = {};
  std::vector<double> baseline_raw_ms = {};
};

/// The phases of a training step, each timed by itself.
struct Training {
  std::optional<double> forward_ms = {};
  std::optional<double> mean_forward_ms = {};
  std::optional<double> std_forward_ms = {};
  std::optional<double> backward_ms = {};
  std::optional<double> mean_backward_ms = {};
  std::optional<double> std_backward_ms = {};
  std::optional<double> optimizer_ms = {};
  std::optional<double> mean_optimizer_ms = {};
  std::optional<double> std_optimizer_ms = {};
  std::optional<double> step_ms = {};
  std::optional<double> mean_step_ms = {};
  std::optional<double> std_step_ms = {};
  std::optional<double> forward_energy_j = {};
  std::optional<double> backward_energy_j = {};
  std::optional<double> optimizer_energy_j = {};
};

/// Of a training step by several ranks: what travels, and what rank 0 takes alone between two steps of all.
struct RankedStep {
  std::optional<double> exposed_ms = {};
  std::optional<double> exposed_of_step = {};
  std::optional<double> exposed_of_step_low = {};
  std::optional<double> exposed_of_step_high = {};
  std::optional<double> hidden_ms = {};
  std::optional<std::int64_t> sent_bytes = {};
  std::optional<double> weak_efficiency = {};
  std::optional<double> weak_efficiency_low = {};
  std::optional<double> weak_efficiency_high = {};
  std::optional<double> rank_speedup = {};
  std::optional<double> rank_speedup_low = {};
  std::optional<double> rank_speedup_high = {};
  std::optional<std::int64_t> one_process_threads = {};
  std::optional<double> one_process_ratio = {};
  std::optional<double> one_process_ratio_low = {};
  std::optional<double> one_process_ratio_high = {};
  std::vector<double> raw_exposed_ms = {};
  std::vector<double> raw_alone_part_ms = {};
  std::vector<double> raw_alone_ms = {};
  std::vector<double> raw_one_process_ms = {};
};

/// Of a model with a cache: what it keeps and reads of its tokens, and of decoding each token's time.
struct GenerationCosts {
  std::optional<std::int64_t> kv_bytes = {};
  std::optional<double> kv_bytes_read = {};
  std::vector<double> raw_token_ms = {};
  std::optional<std::int64_t> first_tokens = {};
  std::optional<double> first_token_ms = {};
  std::optional<double> token_ms = {};
  std::optional<double> token_p10_ms = {};
  std::optional<double> token_p90_ms = {};
  std::optional<double> token_p99_ms = {};
  std::optional<double> choice_ms = {};
  std::optional<double> products_ms = {};
  std::optional<double> attention_ms = {};
  std::optional<double> other_kernels_ms = {};
  std::optional<double> outside_kernels_ms = {};
};

/// What follows from the other parts: see rates_of().
struct Rates {
  std::optional<double> samples_per_s = {};
  std::optional<double> tokens_per_s = {};
  std::optional<double> padding_share = {};
  std::optional<double> gflops = {};
  std::optional<double> peak_share = {};
  std::optional<double> bytes_per_s = {};
  std::optional<double> bandwidth_share = {};
  std::optional<double> energy_per_token_j = {};
  std::optional<double> energy_delay_js = {};
  std::optional<double> cost_per_million_tokens = {};
  std::optional<double> carbon_g_per_million_tokens = {};
};

struct MemoryUse {
  std::optional<std::int64_t> model_bytes = {};
  std::optional<std::int64_t> packed_bytes = {};
  std::optional<std::int64_t> arena_bytes = {};
  std::optional<std::int64_t> peak_bytes = {};
  std::optional<std::int64_t> resident_bytes = {};
  std::vector<double> live_bytes = {};
};

/// Of a program that was measured: processor time of one run, and what all runs left.
struct ProgramRun {
  std::optional<double> user_ms = {};
  std::optional<double> system_ms = {};
  std::optional<std::int64_t> daemons_left = {};
  std::optional<std::int64_t> daemons_alive = {};
  std::optional<std::int64_t> daemons_ended = {};
};

/// Of one sequence, with its meter.
struct Energy {
  std::optional<double> energy_j = {};
  std::optional<double> energy_net_j = {};
  std::optional<double> energy_net_uncertainty_j = {};
  std::optional<double> energy_uncertainty_j = {};
  std::optional<double> power_w = {};
  std::vector<double> window_power_w = {};
  std::optional<double> idle_power_w = {};
  std::optional<double> idle_uncertainty_w = {};
  std::optional<double> idle_before_w = {};
  std::optional<double> idle_after_w = {};
  std::optional<double> idle_busy_processors = {};
  std::optional<double> energy_foreign_processors = {};
  std::optional<std::int64_t> energy_repeats = {};
  std::optional<double> energy_short_share = {};
  EnergyStatus energy_status = {};
  std::optional<std::string> energy_source = {};
  std::optional<std::string> energy_unit = {};
  std::optional<double> energy_resolution_j = {};
  std::optional<double> energy_update_s = {};
  std::optional<double> power_limit_w = {};
  std::vector<std::string> other_energy = {};
  std::optional<std::string> energy_conflict = {};
  std::optional<double> price_per_kwh = {};
  std::optional<double> carbon_g_per_kwh = {};
};

/// Figures of this precision alone.
struct Quality {
  QualityStatus quality_status = {};
  std::optional<std::string> quality_data = {};
  std::optional<std::string> protocol = {};
  std::optional<double> perplexity = {};
  std::optional<double> log_perplexity = {};
  std::optional<std::int64_t> scored_windows = {};
  std::optional<double> accuracy = {};
  std::optional<std::int64_t> correct = {};
  std::optional<std::int64_t> scored = {};
  std::optional<double> entity_f1 = {};
  std::optional<double> label_pearson = {};
  std::optional<double> label_spearman = {};
  std::optional<std::string> logits_hash = {};
};

/// How what it decodes differs from what the baseline does, token by token through a cache.
struct DecodedDifference {
  std::vector<double> position_from = {};  ///< Counts.
  std::vector<double> kl_by_position = {};
  std::vector<double> top1_by_position = {};
  std::optional<double> kl_growth = {};
  std::optional<double> kl_growth_low = {};
  std::optional<double> kl_growth_high = {};
  std::optional<std::int64_t> continued_tokens = {};
  std::vector<double> equal_tokens = {};  ///< Counts.
  std::optional<double> equal_32 = {};
  std::optional<double> equal_64 = {};
  std::optional<double> equal_128 = {};
};

/// How its output differs from the baseline's on the same data.
struct Difference {
  std::optional<double> delta_log_perplexity = {};
  std::optional<double> delta_log_perplexity_se = {};
  std::optional<double> delta_log_perplexity_low = {};
  std::optional<double> delta_log_perplexity_high = {};
  std::optional<double> accuracy_change = {};
  std::optional<double> accuracy_change_low = {};
  std::optional<double> accuracy_change_high = {};
  std::optional<double> mcnemar_p = {};
  std::optional<double> kl_mean = {};
  std::optional<double> kl_p999 = {};
  std::optional<double> top1_agreement = {};
  std::optional<double> max_logit_difference = {};
  std::optional<double> score_pearson = {};
  std::optional<double> score_spearman = {};
  std::optional<double> score_difference = {};
};

/// The machine around the timed windows.
struct Circumstances {
  std::optional<double> foreign_load = {};
  std::optional<double> stolen_share = {};
  std::optional<double> frequency_before_mhz = {};
  std::optional<double> frequency_after_mhz = {};
  std::optional<double> temperature_before_c = {};
  std::optional<double> temperature_after_c = {};
  std::optional<std::string> throttle = {};
  std::optional<std::int64_t> page_faults = {};
  std::optional<std::int64_t> major_page_faults = {};
};

/// What ran, what its plan knows of it, and what this machine can do.
struct Evidence {
  std::vector<LedgerInput> inputs = {};
  std::vector<LedgerRow> ledger = {};
  std::vector<double> operation_bytes = {};  ///< A value a row of the ledger, as the next one.
  std::vector<double> operation_ms = {};
  std::optional<double> flops = {};
  std::optional<double> moved_bytes = {};
  std::optional<double> weight_bytes_read = {};
  std::optional<double> optimizer_bytes_read = {};
  std::optional<double> peak_gflops = {};
  std::optional<std::string> peak_kind = {};
  std::optional<double> instruction_peak_gflops = {};
  std::optional<double> matmul_peak_gflops = {};
  std::optional<double> baseline_matmul_peak_gflops = {};
  std::optional<double> instruction_ms = {};
  std::optional<double> forward_instruction_ms = {};
  std::optional<double> backward_instruction_ms = {};
  std::optional<double> matmul_ms = {};
  std::optional<double> peaks_measured_share = {};
  std::optional<double> bandwidth_bytes_per_s = {};
  std::optional<double> bandwidth_high_bytes_per_s = {};
  std::optional<double> cache_bytes = {};
};

/// What judge() says of it.
struct Grade {
  std::optional<Trust> trust = {};
  std::vector<std::string> trust_reasons = {};
};

/// Whether it is as it was written.
struct Seal {
  enum class State : std::uint8_t {
    own,     ///< Measured by this process.
    holds,   ///< Read, with content that its seal is of.
    broken,  ///< Read, with another content.
    absent   ///< Read from what was written before there were seals.
  };
  std::optional<std::string> seal = {};
  State state = State::own;               ///< Of a record in memory; no file says it.
  std::vector<std::string> changed = {};  ///< Stored figures that did not follow from the samples, a sentence each.
};

}  // namespace assay
