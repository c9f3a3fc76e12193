#include "results/fields.h"

#include <algorithm>

#include "base/error.h"

namespace assay {
namespace {

template <typename T>
const T& part_in(const T& part) {
  return part;
}
template <typename T>
const T& part_in(const OptionalPart<T>& part) {
  return *part;
}
template <typename T>
T& made(T& part) {
  return part;
}
template <typename T>
T& made(OptionalPart<T>& part) {
  return part.made();
}

template <auto part, auto figure>
constexpr Field field_of(const char* part_name, const char* name, const char* unit, const char* meaning) {
  return {part_name,
          name,
          unit,
          meaning,
          [](const Record& record) -> FieldValue { return &(part_in(record.*part).*figure); },
          [](Record& record) -> FieldPlace { return &(made(record.*part).*figure); }};
}

#define ASSAY_FIELD(part, member, unit, meaning) \
  field_of<&Record::part, &std::remove_cvref_t<decltype(part_in(Record{}.part))>::member>(#part, #member, unit, meaning)

constexpr Field fields[] = {
    ASSAY_FIELD(setting, model, "", "Name or path of the model, as asked."),
    ASSAY_FIELD(setting, weights, "", "Hash of the checkpoint, or `random` for a preset."),
    ASSAY_FIELD(setting, parameters, "", "Parameters of the model; a tied weight counts once."),
    ASSAY_FIELD(setting, stored_dtype, "", "Dtype of the weights in the checkpoint; not the precision under test."),
    ASSAY_FIELD(setting, precision, "",
                "Row of the precision table, with its overrides by role; or `recipe:` and a name."),
    ASSAY_FIELD(setting, recipe_hash, "", "Of a recipe: SHA-256 of its text; else null."),
    ASSAY_FIELD(setting, recipe, "", "Its text, from which it can be run again; else null."),
    ASSAY_FIELD(setting, calibration, "", "How its weights were calibrated, on what, with the data's hash; else null."),
    ASSAY_FIELD(setting, baseline, "", "Precision that speed-up and divergence compare with, in the same run."),
    ASSAY_FIELD(setting, device, "", "cpu, cuda or mps."),
    ASSAY_FIELD(setting, batch, "", "Sequences in one forward pass."),
    ASSAY_FIELD(setting, seq, "", "Tokens in each sequence; of timed data in the longest."),
    ASSAY_FIELD(setting, threads, "", "Threads that the kernels were told to use."),
    ASSAY_FIELD(setting, logits, "", "`all` positions or the `last` one."),
    ASSAY_FIELD(setting, fusion, "", "on or off."),
    ASSAY_FIELD(setting, casts, "", "When 16-bit copies of f32 weights are made: `once` or `every-call`."),
    ASSAY_FIELD(setting, graphs, "", "cuda: whether a pass is queued as one CUDA graph, on or off; null elsewhere."),
    ASSAY_FIELD(setting, caches, "", "`warm`, or `cold`: emptied before each pass."),
    ASSAY_FIELD(setting, timed_inputs, "",
                "What was timed: `random` ids of full length, or drawn batches of the `data`."),
    ASSAY_FIELD(setting, timed_data, "",
                "Of timed data: its name, how it was cut, and the start of a SHA-256 over its rows; else null."),
    ASSAY_FIELD(setting, row_order, "", "Of timed data: its rows as `given`, `sorted` by length or `bucketed`."),
    ASSAY_FIELD(setting, skip_padding, "",
                "Of timed data: whether positions that are padding in every row of a batch were left out, on or off."),
    ASSAY_FIELD(setting, seed, "",
                "The one seed: of random weights, inputs, the order of the rounds and the bootstrap."),
    ASSAY_FIELD(setting, machine, "", "Processor and cores in words."),
    ASSAY_FIELD(setting, build, "", "Version of assay and how it was built."),
    ASSAY_FIELD(outcome, group, "",
                "Precisions that were timed interleaved share it; from 1. Speed-ups hold within a group."),
    ASSAY_FIELD(outcome, restored, "", "Where a resumed run took the row from the store: when it was saved (UTC)."),
    ASSAY_FIELD(share, grid, "",
                "Of a grid that is divided among processes or machines: the command that asks for all of it; else "
                "null."),
    ASSAY_FIELD(share, shard, "", "Which shard of it the row is of, `2/4`; null where a machine measured all of it."),
    ASSAY_FIELD(share, compared_only, "",
                "true of a baseline that was timed for other rows to be compared with: another shard has it as its "
                "own."),
    ASSAY_FIELD(setting, command, "", "Of `assay measure`: the command line; a sample is one run of it."),
    ASSAY_FIELD(setting, phase, "",
                "Of a phase that a program marked itself: its name; a sample is one time through it."),
    ASSAY_FIELD(setting, engine, "",
                "Of `bench --peers` and `--beside`: the other program that computed the row; null: assay itself."),
    ASSAY_FIELD(setting, engine_settings, "",
                "Its packages with their versions and how it was told to run, or the command line; else null."),
    ASSAY_FIELD(outcome, status, "", "ok, or why there is no number: see `reason`."),
    ASSAY_FIELD(outcome, reason, "", "Sentence behind a status other than ok."),
    ASSAY_FIELD(latency, samples, "", "Timed windows, one a round."),
    ASSAY_FIELD(
        latency, raw_ms, "ms",
        "Every sample in the order of the rounds: one forward pass of the whole batch, or one training step (`mode`)."),
    ASSAY_FIELD(latency, process_samples, "",
                "How many of them are of each process, where several were started for them; else empty."),
    ASSAY_FIELD(latency, raw_tokens, "", "Of timed data: the real tokens in the batch of each sample; else empty."),
    ASSAY_FIELD(latency, raw_positions, "", "Of timed data: rows times length of that batch as it ran; else empty."),
    ASSAY_FIELD(latency, repetitions, "", "Forward passes in one window; a sample is their mean."),
    ASSAY_FIELD(latency, prepare_ms, "ms",
                "Planning, and reading and packing the weights that no plan before has packed."),
    ASSAY_FIELD(latency, first_ms, "ms",
                "From nothing to the first result: `prepare_ms` and the very first forward pass; null where an "
                "earlier shape had packed the weights already."),
    ASSAY_FIELD(latency, warm_up_ms, "ms", "Runs before the samples, until steady."),
    ASSAY_FIELD(latency, steady, "", "Whether the warm-up ended by its rule and not by its share of the time."),
    ASSAY_FIELD(latency, median_ms, "ms", "Median of the samples: the latency."),
    ASSAY_FIELD(latency, p10_ms, "ms", "10th percentile."),
    ASSAY_FIELD(latency, p90_ms, "ms", "90th percentile."),
    ASSAY_FIELD(latency, p99_ms, "ms", "99th percentile."),
    ASSAY_FIELD(latency, mean_ms, "ms", "Arithmetic mean."),
    ASSAY_FIELD(latency, std_ms, "ms", "Standard deviation of the samples (n - 1)."),
    ASSAY_FIELD(latency, ci_low_ms, "ms", "Lower end of the distribution-free 95 % interval of the median."),
    ASSAY_FIELD(latency, ci_high_ms, "ms", "Its upper end."),
    ASSAY_FIELD(latency, interval_by, "",
                "How that interval was computed, with the version of the method; null before it was said: order "
                "statistics 1, between processes 1, between runs 1."),
    ASSAY_FIELD(
        latency, run_spread, "share",
        "Standard deviation of the logarithm of medians between earlier runs on this machine, which the interval "
        "holds; null where the store had too few."),
    ASSAY_FIELD(latency, run_spread_degrees, "", "Degrees of freedom with which that is known."),
    ASSAY_FIELD(latency, asked_width, "share", "Width of that interval over the median at which sampling may stop."),
    ASSAY_FIELD(latency, stopped_by, "", "What ended sampling: width, budget, rounds, interrupted or too_slow."),
    ASSAY_FIELD(
        latency, device_ms, "ms",
        "cuda: median of a pass by events of the GPU, all of it queued before it starts; null elsewhere, and where "
        "its queue does not hold a pass."),
    ASSAY_FIELD(latency, enqueue_ms, "ms", "cuda: median of what queueing that pass took the processor."),
    ASSAY_FIELD(latency, throttled_rounds, "",
                "cuda: rounds left out since the GPU's clocks were held down in one of them."),
    ASSAY_FIELD(circumstances, throttle, "",
                "cuda: what held the GPU's clocks down in rounds that count; null: nothing."),
    ASSAY_FIELD(
        latency, padding_cost, "x",
        "Of timed data whose padding was skipped: the time of the same batches at their full length over theirs, "
        "median of interleaved rounds; of the first precision of a group."),
    ASSAY_FIELD(latency, padding_cost_low, "x", "Lower end of its 95 % interval (bootstrap over rounds)."),
    ASSAY_FIELD(latency, padding_cost_high, "x", "Its upper end."),
    ASSAY_FIELD(latency, timed_runs, "", "Forward passes in all windows together."),
    ASSAY_FIELD(latency, timed_s, "s", "Time of all windows together, by a second reading of the clock around each."),
    ASSAY_FIELD(latency, items, "",
                "Items in all runs together, where a measured program says them; rates and energies are an item's."),
    ASSAY_FIELD(speedup, baseline_median_ms, "ms",
                "Median of the baseline in the same group, what the speed-up refers to."),
    ASSAY_FIELD(speedup, speedup, "x", "Median over the rounds of the baseline's time over this one's."),
    ASSAY_FIELD(speedup, speedup_low, "x", "Lower end of its 95 % interval (bootstrap over rounds)."),
    ASSAY_FIELD(speedup, speedup_high, "x", "Its upper end."),
    ASSAY_FIELD(speedup, speedup_by, "",
                "How that interval was computed, by `seed`; null before it was said: paired bootstrap 1, between "
                "processes 1, between runs 1."),
    ASSAY_FIELD(speedup, speedup_run_spread, "share", "As `run_spread`, of the speed-up."),
    ASSAY_FIELD(speedup, speedup_run_spread_degrees, "", "Degrees of freedom with which that is known."),
    ASSAY_FIELD(speedup, baseline_raw_ms, "ms",
                "The baseline's samples of these rounds, where no record of the same `group` holds them."),
    ASSAY_FIELD(setting, mode, "",
                "What a sample is: inference, or of a training step forward, forward-backward or step; of `assay "
                "measure` program or phase; of a model with a cache prefill or decode."),
    ASSAY_FIELD(setting, recompute, "", "What the backward computes again: none, attention or block."),
    ASSAY_FIELD(
        setting, step, "",
        "How a training step differs from AdamW's on the whole batch without clipping: optimizer, clipping, parts, "
        "adapters, how frozen weights are kept."),
    ASSAY_FIELD(setting, warmup_steps, "", "Training steps before those that count."),
    ASSAY_FIELD(training, forward_ms, "ms", "Median of a step's forward, loss included."),
    ASSAY_FIELD(training, mean_forward_ms, "ms", "Its mean."),
    ASSAY_FIELD(training, std_forward_ms, "ms", "Its standard deviation (n - 1)."),
    ASSAY_FIELD(training, backward_ms, "ms", "Median of a step's backward, timed directly."),
    ASSAY_FIELD(training, mean_backward_ms, "ms", "Its mean."),
    ASSAY_FIELD(training, std_backward_ms, "ms", "Its standard deviation (n - 1)."),
    ASSAY_FIELD(training, optimizer_ms, "ms",
                "Median of a step's update, with the gradients' norm where one is taken."),
    ASSAY_FIELD(training, mean_optimizer_ms, "ms", "Its mean."),
    ASSAY_FIELD(training, std_optimizer_ms, "ms", "Its standard deviation (n - 1)."),
    ASSAY_FIELD(training, step_ms, "ms", "Median of the whole step, by clock readings of its own."),
    ASSAY_FIELD(training, mean_step_ms, "ms", "Its mean."),
    ASSAY_FIELD(training, std_step_ms, "ms", "Its standard deviation (n - 1)."),
    ASSAY_FIELD(setting, ranks, "",
                "Of training by several processes: how many of them do a step together. A sample is the slowest one's "
                "step, a phase's time the slowest one's, `batch` all of their rows; `threads`, the ledger, operations, "
                "bytes, memory and peaks are one rank's, rank 0's. Else null."),
    ASSAY_FIELD(ranked, exposed_ms, "ms",
                "Median over the steps of communication in which nothing else was done, of the rank that waited most."),
    ASSAY_FIELD(ranked, exposed_of_step, "share", "Median over the steps of that over the step."),
    ASSAY_FIELD(ranked, exposed_of_step_low, "share", "Lower end of its 95 % interval (bootstrap over steps)."),
    ASSAY_FIELD(ranked, exposed_of_step_high, "share", "Its upper end."),
    ASSAY_FIELD(ranked, hidden_ms, "ms", "Median of communication behind the backward, of the rank that has most."),
    ASSAY_FIELD(ranked, sent_bytes, "B", "Bytes that the rank that sends most sends in a step."),
    ASSAY_FIELD(ranked, weak_efficiency, "x",
                "Rank 0's own rows alone over the step of all, median over the steps: 1 where communication costs "
                "nothing."),
    ASSAY_FIELD(ranked, weak_efficiency_low, "x", "Lower end of its 95 % interval (bootstrap over steps)."),
    ASSAY_FIELD(ranked, weak_efficiency_high, "x", "Its upper end."),
    ASSAY_FIELD(ranked, rank_speedup, "x",
                "All rows on rank 0 alone, with its own threads, over the step of all: at best `ranks`."),
    ASSAY_FIELD(ranked, rank_speedup_low, "x", "Lower end of its 95 % interval (bootstrap over steps)."),
    ASSAY_FIELD(ranked, rank_speedup_high, "x", "Its upper end."),
    ASSAY_FIELD(ranked, one_process_threads, "",
                "Threads of the ranks of rank 0's machine together, at most one for each processor that they may use; "
                "null where these are rank 0's own."),
    ASSAY_FIELD(ranked, one_process_ratio, "x",
                "All rows in one process, rank 0 with that many threads, over the step of all: above 1 the ranks are "
                "faster."),
    ASSAY_FIELD(ranked, one_process_ratio_low, "x", "Lower end of its 95 % interval (bootstrap over steps)."),
    ASSAY_FIELD(ranked, one_process_ratio_high, "x", "Its upper end."),
    ASSAY_FIELD(ranked, raw_exposed_ms, "ms", "Exposed communication of each step, as `raw_ms`."),
    ASSAY_FIELD(ranked, raw_alone_part_ms, "ms", "Rank 0's own rows alone, beside each step."),
    ASSAY_FIELD(ranked, raw_alone_ms, "ms", "All rows on rank 0 alone, beside each step."),
    ASSAY_FIELD(ranked, raw_one_process_ms, "ms", "The same with `one_process_threads`, beside each step."),
    ASSAY_FIELD(setting, depth, "", "Of generation: tokens that each row holds before the prompt."),
    ASSAY_FIELD(setting, prompt_tokens, "", "Of generation: tokens of each row's prompt."),
    ASSAY_FIELD(setting, new_tokens, "", "Of generation: tokens that each row gets one by one behind the prompt."),
    ASSAY_FIELD(generation, kv_bytes, "B",
                "Keys and values of depth, prompt and new tokens of all rows, as kept; in `peak_bytes`."),
    ASSAY_FIELD(generation, kv_bytes_read, "B",
                "Of decoding: what attention reads of these for one token of every row, a mean over the new tokens."),
    ASSAY_FIELD(generation, raw_token_ms, "ms",
                "Of decoding: every token of each round's last run, its choice included; `new_tokens` a round."),
    ASSAY_FIELD(generation, first_tokens, "",
                "So many first ones of each round stand apart and are in no other figure."),
    ASSAY_FIELD(generation, first_token_ms, "ms", "Median of these."),
    ASSAY_FIELD(generation, token_ms, "ms", "Median of the other tokens, one by one."),
    ASSAY_FIELD(generation, token_p10_ms, "ms", "Their 10th percentile."),
    ASSAY_FIELD(generation, token_p90_ms, "ms", "Their 90th percentile."),
    ASSAY_FIELD(generation, token_p99_ms, "ms", "Their 99th percentile."),
    ASSAY_FIELD(generation, choice_ms, "ms", "Of a token, the choice of the most probable next id; median."),
    ASSAY_FIELD(generation, products_ms, "ms",
                "Of decoding on the host: what products with weights take of a token; median of up to 16 tokens behind "
                "the rounds, with the clock read around every kernel."),
    ASSAY_FIELD(generation, attention_ms, "ms", "The same of attention over the cache."),
    ASSAY_FIELD(generation, other_kernels_ms, "ms", "The same of all other kernels."),
    ASSAY_FIELD(generation, outside_kernels_ms, "ms",
                "The same of what lies outside of kernels: inputs handed over, threads gathered, steps started, the "
                "choice of the next id. The clock's own time is left out."),
    ASSAY_FIELD(evidence, forward_instruction_ms, "ms", "The forward's part of `instruction_ms`."),
    ASSAY_FIELD(evidence, backward_instruction_ms, "ms", "The backward's part, what it computes again included."),
    ASSAY_FIELD(evidence, optimizer_bytes_read, "B",
                "Parameters, gradients and moments that the update reads, each once."),
    ASSAY_FIELD(rates, samples_per_s, "1/s",
                "Sequences (of a phase: items) a second: batch times `timed_runs`, or `items`, over `timed_s`."),
    ASSAY_FIELD(rates, tokens_per_s, "1/s",
                "Tokens a second: `samples_per_s` times seq; of timed data times the mean of real tokens a row."),
    ASSAY_FIELD(rates, padding_share, "share", "Of timed data: positions that ran and are padding; else null."),
    ASSAY_FIELD(
        rates, gflops, "GFLOP/s",
        "Achieved: `flops` over the median (of timed data over the mean), 10^9; integer operations count alike."),
    ASSAY_FIELD(rates, peak_share, "share", "`gflops` over `peak_gflops`."),
    ASSAY_FIELD(rates, bytes_per_s, "B/s",
                "`moved_bytes` over the median (of timed data over the mean); caches may serve part of it."),
    ASSAY_FIELD(
        rates, bandwidth_share, "share",
        "`weight_bytes_read`, of decoding `kv_bytes_read` too, over the same time, of `bandwidth_bytes_per_s`: near 1, "
        "memory binds; above 1, caches serve part of it."),
    ASSAY_FIELD(
        evidence, flops, "",
        "Of the model: its matrix products in one forward pass, attention's included, masked parts not; multiply and "
        "add count two. Neither precision nor fusion changes it. Of timed data the mean over the drawn batches, as all "
        "work and bytes of a pass."),
    ASSAY_FIELD(evidence, moved_bytes, "B",
                "Operands read once and results written once, over all operations of one pass."),
    ASSAY_FIELD(evidence, weight_bytes_read, "B",
                "Of these, the weights, in training with gradients and moments: each distinct byte once."),
    ASSAY_FIELD(evidence, peak_gflops, "GFLOP/s", "Denominator of `peak_share`."),
    ASSAY_FIELD(evidence, peak_kind, "", "What that denominator is."),
    ASSAY_FIELD(evidence, instruction_peak_gflops, "GFLOP/s",
                "Measured rate of the operand dtype's instruction from registers."),
    ASSAY_FIELD(evidence, matmul_peak_gflops, "GFLOP/s", "Best matmul measured with the operand dtype."),
    ASSAY_FIELD(evidence, baseline_matmul_peak_gflops, "GFLOP/s",
                "Best matmul measured with the baseline's operand dtype."),
    ASSAY_FIELD(
        evidence, instruction_ms, "ms",
        "What the ledger's matrix products take at the upper end of their operands' instruction peaks, row by row."),
    ASSAY_FIELD(evidence, matmul_ms, "ms", "The same at the best matmuls measured with those operands."),
    ASSAY_FIELD(evidence, peaks_measured_share, "share",
                "Of the processor time that measuring the peaks asked for, what it got."),
    ASSAY_FIELD(evidence, bandwidth_bytes_per_s, "B/s", "Read bandwidth from memory, measured, all threads."),
    ASSAY_FIELD(evidence, bandwidth_high_bytes_per_s, "B/s",
                "The most that several readings of it leave possible; gates compare with it."),
    ASSAY_FIELD(evidence, cache_bytes, "B", "Last-level caches of all processors that this process may run on."),
    ASSAY_FIELD(energy, power_limit_w, "W", "Limit of the board or package, where it says one."),
    ASSAY_FIELD(memory, model_bytes, "B", "Parameters as really stored in memory in this precision, scales included."),
    ASSAY_FIELD(memory, packed_bytes, "B",
                "Weights in the layout of the kernels, copies beside `model_bytes` included."),
    ASSAY_FIELD(memory, arena_bytes, "B", "The plan's buffers for activations and workspace."),
    ASSAY_FIELD(memory, peak_bytes, "B", "Predicted peak: weights as kept and arena."),
    ASSAY_FIELD(
        memory, resident_bytes, "B",
        "Peak resident set of a process of its own; null unless isolated or a program that holds more than assay."),
    ASSAY_FIELD(memory, live_bytes, "B",
                "Of the arena, what is needed during each operation of one pass, in their order."),
    ASSAY_FIELD(program_run, user_ms, "ms", "Median over the runs of a program's processor time in itself."),
    ASSAY_FIELD(program_run, system_ms, "ms", "The same in the system."),
    ASSAY_FIELD(program_run, daemons_left, "processes",
                "What a program's runs, warm-up included, left behind and lived on for more than 0.1 s."),
    ASSAY_FIELD(program_run, daemons_alive, "processes", "Of these, what was alive when all was measured."),
    ASSAY_FIELD(program_run, daemons_ended, "processes", "Of these, what `--end-daemons` ended."),
    ASSAY_FIELD(energy, energy_j, "J", "Energy of one sequence, gross; null without a meter."),
    ASSAY_FIELD(energy, energy_net_j, "J", "The same less idle power."),
    ASSAY_FIELD(energy, energy_uncertainty_j, "J",
                "How far `energy_j` may be off: by update period and steps of its source, by what others may have "
                "drawn in its windows, and by windows slower than the latency; a bound."),
    ASSAY_FIELD(
        training, forward_energy_j, "J",
        "Of `energy_j`, a training step's forward; null where one lasted less than 20 resolutions of the meter."),
    ASSAY_FIELD(training, backward_energy_j, "J", "The backward's part; null as before."),
    ASSAY_FIELD(training, optimizer_energy_j, "J", "The update's part; null as before."),
    ASSAY_FIELD(energy, power_w, "W", "Mean power over the windows: energy over time."),
    ASSAY_FIELD(
        energy, energy_net_uncertainty_j, "J",
        "How far `energy_net_j` may be off: the meter's bound, the idle baseline's, and what others may have drawn in "
        "one of the two more than in the other."),
    ASSAY_FIELD(energy, window_power_w, "W", "Mean power of each metered window, in their order."),
    ASSAY_FIELD(energy, idle_power_w, "W",
                "Power while nothing runs, the baseline of net: the mean before and after the run, or the one of the "
                "two in which others did nothing; where it was interrupted, before the run."),
    ASSAY_FIELD(energy, idle_uncertainty_w, "W",
                "How far that may be off: the meter's bound, and half of what it changed by."),
    ASSAY_FIELD(energy, idle_before_w, "W", "Power before the run, nothing running."),
    ASSAY_FIELD(energy, idle_after_w, "W", "The same after it."),
    ASSAY_FIELD(energy, idle_busy_processors, "processors",
                "How many processors were busy all the same while idle power was read, a mean."),
    ASSAY_FIELD(energy, energy_foreign_processors, "processors",
                "How many processors others kept busy in the windows that were metered, a mean."),
    ASSAY_FIELD(energy, energy_repeats, "windows",
                "Windows for energy alone that were left out and repeated, since others were busy in them."),
    ASSAY_FIELD(energy, energy_short_share, "share", "Windows shorter than 20 resolutions of the meter."),
    ASSAY_FIELD(energy, energy_status, "", "The meter and what it covers, or `no meter` and why."),
    ASSAY_FIELD(energy, energy_source, "", "What the meter reads: a file, a command, an address."),
    ASSAY_FIELD(energy, energy_unit, "", "Unit of that source."),
    ASSAY_FIELD(energy, energy_resolution_j, "J", "Smallest step of its counter; 0 for a power that is integrated."),
    ASSAY_FIELD(energy, energy_update_s, "s", "How often it is renewed, measured at the start."),
    ASSAY_FIELD(energy, other_energy, "", "What every other meter read of the same, with its scope and uncertainty."),
    ASSAY_FIELD(energy, energy_conflict, "", "Two meters that cannot both be right; null where all agree."),
    ASSAY_FIELD(rates, energy_per_token_j, "J", "`energy_j` over seq."),
    ASSAY_FIELD(rates, energy_delay_js, "J s", "Energy-delay product: `energy_j` times the median latency."),
    ASSAY_FIELD(energy, price_per_kwh, "", "Price of a kWh as it was given, in the user's currency."),
    ASSAY_FIELD(energy, carbon_g_per_kwh, "g", "CO2 of a kWh as it was given."),
    ASSAY_FIELD(rates, cost_per_million_tokens, "",
                "Price of the gross energy of 10^6 tokens (of a program: of 10^6 runs)."),
    ASSAY_FIELD(rates, carbon_g_per_million_tokens, "g", "CO2 of the same."),
    ASSAY_FIELD(quality, quality_status, "",
                "scored, or why not: not asked, random weights, oom, interrupted after N of M, ..."),
    ASSAY_FIELD(quality, quality_data, "", "Text or labelled set that was scored."),
    ASSAY_FIELD(quality, protocol, "", "How: window, stride, padded-lines, labels; with their lengths."),
    ASSAY_FIELD(quality, perplexity, "", "exp of `log_perplexity`."),
    ASSAY_FIELD(quality, log_perplexity, "nat", "Mean negative log-likelihood of a scored token."),
    ASSAY_FIELD(difference, delta_log_perplexity, "nat", "Change from the baseline on the same tokens."),
    ASSAY_FIELD(difference, delta_log_perplexity_se, "nat",
                "Standard error of that change, paired and clustered by window."),
    ASSAY_FIELD(difference, delta_log_perplexity_low, "nat",
                "Lower end of its 95 % interval; null below four windows."),
    ASSAY_FIELD(difference, delta_log_perplexity_high, "nat", "Its upper end."),
    ASSAY_FIELD(quality, scored_windows, "", "Windows (rows) that hold the scored tokens."),
    ASSAY_FIELD(quality, accuracy, "share", "Correct answers over scored ones."),
    ASSAY_FIELD(quality, correct, "", "Correct answers."),
    ASSAY_FIELD(quality, scored, "", "Scored tokens (perplexity) or rows (accuracy, scores)."),
    ASSAY_FIELD(quality, entity_f1, "share",
                "F1 of whole entities of tags in IOB2, over all kinds together, as seqeval counts them."),
    ASSAY_FIELD(difference, accuracy_change, "share", "Accuracy less the baseline's."),
    ASSAY_FIELD(difference, accuracy_change_low, "share", "Lower end of its 95 % interval (Agresti & Min 2005)."),
    ASSAY_FIELD(difference, accuracy_change_high, "share", "Its upper end."),
    ASSAY_FIELD(difference, mcnemar_p, "", "Two-sided exact p-value of McNemar's test of that change."),
    ASSAY_FIELD(difference, kl_mean, "nat", "Mean Kullback-Leibler divergence of the output from the baseline's."),
    ASSAY_FIELD(difference, kl_p999, "nat",
                "Its 99.9th percentile over positions (nearest rank); null below 1,000 of them."),
    ASSAY_FIELD(difference, top1_agreement, "share", "Positions whose most likely output equals the baseline's."),
    ASSAY_FIELD(difference, max_logit_difference, "",
                "Largest difference of a logit over the baseline's largest magnitude."),
    ASSAY_FIELD(
        difference, score_pearson, "",
        "Of a head that gives scores: Pearson's correlation with the baseline's; of several outputs the lowest. "
        "Null where scores are all equal: see `quality_status`."),
    ASSAY_FIELD(difference, score_spearman, "",
                "The same of the ranks (Spearman); equal scores share the mean of their ranks."),
    ASSAY_FIELD(difference, score_difference, "", "Largest absolute difference of a score from the baseline's."),
    ASSAY_FIELD(decoded, position_from, "",
                "Of what was decoded: the first position in its window of each stretch of positions; the last stretch "
                "ends with the window."),
    ASSAY_FIELD(decoded, kl_by_position, "nat", "Mean divergence of each stretch, as `kl_mean`."),
    ASSAY_FIELD(decoded, top1_by_position, "share", "The same of `top1_agreement`."),
    ASSAY_FIELD(decoded, kl_growth, "x",
                "Divergence in the second half of a window over that in the first, its first 16 positions left out: "
                "geometric mean over the windows."),
    ASSAY_FIELD(decoded, kl_growth_low, "x", "Lower end of its 95 % interval; null below four windows."),
    ASSAY_FIELD(decoded, kl_growth_high, "x", "Its upper end."),
    ASSAY_FIELD(decoded, continued_tokens, "", "Greedy tokens behind each prompt of the text."),
    ASSAY_FIELD(decoded, equal_tokens, "",
                "A value a prompt: how many of them came before the first that is not the baseline's."),
    ASSAY_FIELD(decoded, equal_32, "share", "Prompts whose first 32 tokens are the baseline's."),
    ASSAY_FIELD(decoded, equal_64, "share", "The same of 64."),
    ASSAY_FIELD(decoded, equal_128, "share", "The same of 128."),
    ASSAY_FIELD(quality, label_pearson, "",
                "Of scores, or of cosines of sentence embeddings: Pearson's correlation with the labels of the data."),
    ASSAY_FIELD(quality, label_spearman, "", "Spearman's, of the same: 1 where they order the rows as the labels do."),
    ASSAY_FIELD(quality, logits_hash, "", "Hash of the logits of the timed input, to tell bit-identical precisions."),
    ASSAY_FIELD(circumstances, foreign_load, "share",
                "Processor time that others used during the windows, over that of the threads used here."),
    ASSAY_FIELD(circumstances, stolen_share, "share", "Processor time that the hypervisor withheld."),
    ASSAY_FIELD(circumstances, frequency_before_mhz, "MHz",
                "Mean over processors after the first window; cuda: of the GPU."),
    ASSAY_FIELD(circumstances, frequency_after_mhz, "MHz", "The latest reading."),
    ASSAY_FIELD(circumstances, temperature_before_c, "degC",
                "Hottest processor sensor after the first window; cuda: of the GPU."),
    ASSAY_FIELD(circumstances, temperature_after_c, "degC", "The latest reading."),
    ASSAY_FIELD(circumstances, page_faults, "", "Page faults of this process within the windows."),
    ASSAY_FIELD(circumstances, major_page_faults, "", "Of these, the ones that read from a disk."),
    ASSAY_FIELD(grade, trust, "", "A (best) to D; null without samples."),
    ASSAY_FIELD(grade, trust_reasons, "", "Why not A, a sentence each; for A, what it rests on."),
    ASSAY_FIELD(evidence, inputs, "", "Dtype and device of every input."),
    ASSAY_FIELD(evidence, ledger, "", "An operation a row: what was asked and what ran."),
    ASSAY_FIELD(evidence, operation_bytes, "B",
                "A value a row of the ledger: operands read once and results written once."),
    ASSAY_FIELD(evidence, operation_ms, "ms",
                "A value a row of the ledger: its time in a traced run after the samples; none where none was traced."),
    ASSAY_FIELD(
        seal, seal, "",
        "SHA-256 over the record's other fields as canonical JSON; null in records of before there were seals."),
};

#undef ASSAY_FIELD

}  // namespace

std::span<const Field> record_fields() {
  return fields;
}

bool is_short(const Field& field) {
  const FieldValue value = field.value(Record{});
  return !std::holds_alternative<const std::vector<double>*>(value) &&
         !std::holds_alternative<const std::vector<LedgerInput>*>(value) &&
         !std::holds_alternative<const std::vector<LedgerRow>*>(value);
}

const Field& record_field(std::string_view name) {
  const auto found = std::find_if(std::begin(fields), std::end(fields), [&](const Field& f) { return name == f.name; });
  ASSAY_ASSERT(found != std::end(fields));
  return *found;
}

}  // namespace assay
