"""What assay writes as JSON, as dataclasses. Made from docs/record.schema.json by
tools/generate_python_records.py: change the field list in src/results, not this file.

Every field has a default, so that what an older program wrote can be read; what a newer one wrote beside these is kept
in `extra`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from assay._reading import JsonObject


@dataclass(frozen=True)
class LedgerInput(JsonObject):
    """An input of the model and where it lies."""

    optional: ClassVar[frozenset[str]] = frozenset(("remark",))

    name: str | None = None

    dtype: str | None = None

    device: str | None = None

    remark: str | None = None

    extra: dict[str, Any] = field(default_factory=dict)
    """What this version does not know."""


@dataclass(frozen=True)
class LedgerRow(JsonObject):
    """One operation of a run: what was asked, what ran, and how that is known."""

    optional: ClassVar[frozenset[str]] = frozenset(("weight_in_file", "weight_kept",))

    path: str | None = None

    operation: str | None = None

    role: str | None = None

    requested: str | None = None

    kernel: str | None = None

    operand: str | None = None

    accumulator: str | None = None

    stored: str | None = None

    verdict: Literal["native", "slow", "widened", "emulated", "unsupported"] | None = None

    evidence: str | None = None

    device: str | None = None

    flops: float | None = None

    weight_in_file: str | None = None

    weight_kept: str | None = None

    extra: dict[str, Any] = field(default_factory=dict)
    """What this version does not know."""


@dataclass(frozen=True)
class Record(JsonObject):
    """One measurement: what was measured, on what, what came out, and how far it can be trusted."""

    model: str | None = None
    """Name or path of the model, as asked."""

    weights: str | None = None
    """Hash of the checkpoint, or `random` for a preset."""

    parameters: int | None = None
    """Parameters of the model; a tied weight counts once."""

    stored_dtype: str | None = None
    """Dtype of the weights in the checkpoint; not the precision under test."""

    precision: str | None = None
    """Row of the precision table, with its overrides by role; or `recipe:` and a name."""

    recipe_hash: str | None = None
    """Of a recipe: SHA-256 of its text; else null."""

    recipe: str | None = None
    """Its text, from which it can be run again; else null."""

    calibration: str | None = None
    """How its weights were calibrated, on what, with the data's hash; else null."""

    baseline: str | None = None
    """Precision that speed-up and divergence compare with, in the same run."""

    device: str | None = None
    """cpu, cuda or mps."""

    batch: int | None = None
    """Sequences in one forward pass."""

    seq: int | None = None
    """Tokens in each sequence; of timed data in the longest."""

    threads: int | None = None
    """Threads that the kernels were told to use."""

    logits: Literal["all", "last", "-"] | None = None
    """`all` positions or the `last` one."""

    fusion: Literal["off", "on", "-"] | None = None
    """on or off."""

    casts: Literal["once", "every-call", "-"] | None = None
    """When 16-bit copies of f32 weights are made: `once` or `every-call`."""

    graphs: str | None = None
    """cuda: whether a pass is queued as one CUDA graph, on or off; null elsewhere."""

    caches: Literal["warm", "cold"] | None = None
    """`warm`, or `cold`: emptied before each pass."""

    timed_inputs: Literal["random", "data"] | None = None
    """What was timed: `random` ids of full length, or drawn batches of the `data`."""

    timed_data: str | None = None
    """Of timed data: its name, how it was cut, and the start of a SHA-256 over its rows; else null."""

    row_order: Literal["given", "sorted", "bucketed"] | None = None
    """Of timed data: its rows as `given`, `sorted` by length or `bucketed`."""

    skip_padding: Literal["off", "on", "-"] | None = None
    """Of timed data: whether positions that are padding in every row of a batch were left out, on or off."""

    seed: int | None = None
    """The one seed: of random weights, inputs, the order of the rounds and the bootstrap."""

    machine: str | None = None
    """Processor and cores in words."""

    build: str | None = None
    """Version of assay and how it was built."""

    group: int | None = None
    """Precisions that were timed interleaved share it; from 1. Speed-ups hold within a group."""

    restored: str | None = None
    """Where a resumed run took the row from the store: when it was saved (UTC)."""

    grid: str | None = None
    """Of a grid that is divided among processes or machines: the command that asks for all of it; else null."""

    shard: str | None = None
    """Which shard of it the row is of, `2/4`; null where a machine measured all of it."""

    compared_only: bool | None = None
    """true of a baseline that was timed for other rows to be compared with: another shard has it as its own."""

    command: str | None = None
    """Of `assay measure`: the command line; a sample is one run of it."""

    phase: str | None = None
    """Of a phase that a program marked itself: its name; a sample is one time through it."""

    engine: str | None = None
    """Of `bench --peers` and `--beside`: the other program that computed the row; null: assay itself."""

    engine_settings: str | None = None
    """Its packages with their versions and how it was told to run, or the command line; else null."""

    status: Literal[
        "ok", "oom", "too_slow", "unsupported", "emulated", "impossible", "interrupted", "crashed", "not finite"
    ] | None = None
    """ok, or why there is no number: see `reason`."""

    reason: str | None = None
    """Sentence behind a status other than ok."""

    samples: int | None = None
    """Timed windows, one a round."""

    raw_ms: list[float] = field(default_factory=list)
    """Every sample in the order of the rounds: one forward pass of the whole batch, or one training step (`mode`).
    [ms]"""

    process_samples: list[float] = field(default_factory=list)
    """How many of them are of each process, where several were started for them; else empty."""

    raw_tokens: list[float] = field(default_factory=list)
    """Of timed data: the real tokens in the batch of each sample; else empty."""

    raw_positions: list[float] = field(default_factory=list)
    """Of timed data: rows times length of that batch as it ran; else empty."""

    repetitions: int | None = None
    """Forward passes in one window; a sample is their mean."""

    prepare_ms: float | None = None
    """Planning, and reading and packing the weights that no plan before has packed. [ms]"""

    first_ms: float | None = None
    """From nothing to the first result: `prepare_ms` and the very first forward pass; null where an earlier shape had
    packed the weights already. [ms]"""

    warm_up_ms: list[float] = field(default_factory=list)
    """Runs before the samples, until steady. [ms]"""

    steady: bool | None = None
    """Whether the warm-up ended by its rule and not by its share of the time."""

    median_ms: float | None = None
    """Median of the samples: the latency. [ms]"""

    p10_ms: float | None = None
    """10th percentile. [ms]"""

    p90_ms: float | None = None
    """90th percentile. [ms]"""

    p99_ms: float | None = None
    """99th percentile. [ms]"""

    mean_ms: float | None = None
    """Arithmetic mean. [ms]"""

    std_ms: float | None = None
    """Standard deviation of the samples (n - 1). [ms]"""

    ci_low_ms: float | None = None
    """Lower end of the distribution-free 95 % interval of the median. [ms]"""

    ci_high_ms: float | None = None
    """Its upper end. [ms]"""

    interval_by: str | None = None
    """How that interval was computed, with the version of the method; null before it was said: order statistics 1,
    between processes 1, between runs 1."""

    run_spread: float | None = None
    """Standard deviation of the logarithm of medians between earlier runs on this machine, which the interval holds;
    null where the store had too few. [share]"""

    run_spread_degrees: float | None = None
    """Degrees of freedom with which that is known."""

    asked_width: float | None = None
    """Width of that interval over the median at which sampling may stop. [share]"""

    stopped_by: str | None = None
    """What ended sampling: width, budget, rounds, interrupted or too_slow."""

    device_ms: float | None = None
    """cuda: median of a pass by events of the GPU, all of it queued before it starts; null elsewhere, and where its
    queue does not hold a pass. [ms]"""

    enqueue_ms: float | None = None
    """cuda: median of what queueing that pass took the processor. [ms]"""

    throttled_rounds: int | None = None
    """cuda: rounds left out since the GPU's clocks were held down in one of them."""

    throttle: str | None = None
    """cuda: what held the GPU's clocks down in rounds that count; null: nothing."""

    padding_cost: float | None = None
    """Of timed data whose padding was skipped: the time of the same batches at their full length over theirs, median of
    interleaved rounds; of the first precision of a group. [x]"""

    padding_cost_low: float | None = None
    """Lower end of its 95 % interval (bootstrap over rounds). [x]"""

    padding_cost_high: float | None = None
    """Its upper end. [x]"""

    timed_runs: int | None = None
    """Forward passes in all windows together."""

    timed_s: float | None = None
    """Time of all windows together, by a second reading of the clock around each. [s]"""

    items: float | None = None
    """Items in all runs together, where a measured program says them; rates and energies are an item's."""

    baseline_median_ms: float | None = None
    """Median of the baseline in the same group, what the speed-up refers to. [ms]"""

    speedup: float | None = None
    """Median over the rounds of the baseline's time over this one's. [x]"""

    speedup_low: float | None = None
    """Lower end of its 95 % interval (bootstrap over rounds). [x]"""

    speedup_high: float | None = None
    """Its upper end. [x]"""

    speedup_by: str | None = None
    """How that interval was computed, by `seed`; null before it was said: paired bootstrap 1, between processes 1,
    between runs 1."""

    speedup_run_spread: float | None = None
    """As `run_spread`, of the speed-up. [share]"""

    speedup_run_spread_degrees: float | None = None
    """Degrees of freedom with which that is known."""

    baseline_raw_ms: list[float] = field(default_factory=list)
    """The baseline's samples of these rounds, where no record of the same `group` holds them. [ms]"""

    mode: Literal[
        "inference", "forward", "forward-backward", "step", "program", "phase", "prefill", "decode"
    ] | None = None
    """What a sample is: inference, or of a training step forward, forward-backward or step; of `assay measure` program
    or phase; of a model with a cache prefill or decode."""

    recompute: Literal["none", "attention", "block"] | None = None
    """What the backward computes again: none, attention or block."""

    step: str | None = None
    """How a training step differs from AdamW's on the whole batch without clipping: optimizer, clipping, parts,
    adapters, how frozen weights are kept."""

    warmup_steps: int | None = None
    """Training steps before those that count."""

    forward_ms: float | None = None
    """Median of a step's forward, loss included. [ms]"""

    mean_forward_ms: float | None = None
    """Its mean. [ms]"""

    std_forward_ms: float | None = None
    """Its standard deviation (n - 1). [ms]"""

    backward_ms: float | None = None
    """Median of a step's backward, timed directly. [ms]"""

    mean_backward_ms: float | None = None
    """Its mean. [ms]"""

    std_backward_ms: float | None = None
    """Its standard deviation (n - 1). [ms]"""

    optimizer_ms: float | None = None
    """Median of a step's update, with the gradients' norm where one is taken. [ms]"""

    mean_optimizer_ms: float | None = None
    """Its mean. [ms]"""

    std_optimizer_ms: float | None = None
    """Its standard deviation (n - 1). [ms]"""

    step_ms: float | None = None
    """Median of the whole step, by clock readings of its own. [ms]"""

    mean_step_ms: float | None = None
    """Its mean. [ms]"""

    std_step_ms: float | None = None
    """Its standard deviation (n - 1). [ms]"""

    ranks: int | None = None
    """Of training by several processes: how many of them do a step together. A sample is the slowest one's step, a
    phase's time the slowest one's, `batch` all of their rows; `threads`, the ledger, operations, bytes, memory and
    peaks are one rank's, rank 0's. Else null."""

    exposed_ms: float | None = None
    """Median over the steps of communication in which nothing else was done, of the rank that waited most. [ms]"""

    exposed_of_step: float | None = None
    """Median over the steps of that over the step. [share]"""

    exposed_of_step_low: float | None = None
    """Lower end of its 95 % interval (bootstrap over steps). [share]"""

    exposed_of_step_high: float | None = None
    """Its upper end. [share]"""

    hidden_ms: float | None = None
    """Median of communication behind the backward, of the rank that has most. [ms]"""

    sent_bytes: int | None = None
    """Bytes that the rank that sends most sends in a step. [B]"""

    weak_efficiency: float | None = None
    """Rank 0's own rows alone over the step of all, median over the steps: 1 where communication costs nothing. [x]"""

    weak_efficiency_low: float | None = None
    """Lower end of its 95 % interval (bootstrap over steps). [x]"""

    weak_efficiency_high: float | None = None
    """Its upper end. [x]"""

    rank_speedup: float | None = None
    """All rows on rank 0 alone, with its own threads, over the step of all: at best `ranks`. [x]"""

    rank_speedup_low: float | None = None
    """Lower end of its 95 % interval (bootstrap over steps). [x]"""

    rank_speedup_high: float | None = None
    """Its upper end. [x]"""

    one_process_threads: int | None = None
    """Threads of the ranks of rank 0's machine together, at most one for each processor that they may use; null where
    these are rank 0's own."""

    one_process_ratio: float | None = None
    """All rows in one process, rank 0 with that many threads, over the step of all: above 1 the ranks are faster.
    [x]"""

    one_process_ratio_low: float | None = None
    """Lower end of its 95 % interval (bootstrap over steps). [x]"""

    one_process_ratio_high: float | None = None
    """Its upper end. [x]"""

    raw_exposed_ms: list[float] = field(default_factory=list)
    """Exposed communication of each step, as `raw_ms`. [ms]"""

    raw_alone_part_ms: list[float] = field(default_factory=list)
    """Rank 0's own rows alone, beside each step. [ms]"""

    raw_alone_ms: list[float] = field(default_factory=list)
    """All rows on rank 0 alone, beside each step. [ms]"""

    raw_one_process_ms: list[float] = field(default_factory=list)
    """The same with `one_process_threads`, beside each step. [ms]"""

    depth: int | None = None
    """Of generation: tokens that each row holds before the prompt."""

    prompt_tokens: int | None = None
    """Of generation: tokens of each row's prompt."""

    new_tokens: int | None = None
    """Of generation: tokens that each row gets one by one behind the prompt."""

    kv_bytes: int | None = None
    """Keys and values of depth, prompt and new tokens of all rows, as kept; in `peak_bytes`. [B]"""

    kv_bytes_read: float | None = None
    """Of decoding: what attention reads of these for one token of every row, a mean over the new tokens. [B]"""

    raw_token_ms: list[float] = field(default_factory=list)
    """Of decoding: every token of each round's last run, its choice included; `new_tokens` a round. [ms]"""

    first_tokens: int | None = None
    """So many first ones of each round stand apart and are in no other figure."""

    first_token_ms: float | None = None
    """Median of these. [ms]"""

    token_ms: float | None = None
    """Median of the other tokens, one by one. [ms]"""

    token_p10_ms: float | None = None
    """Their 10th percentile. [ms]"""

    token_p90_ms: float | None = None
    """Their 90th percentile. [ms]"""

    token_p99_ms: float | None = None
    """Their 99th percentile. [ms]"""

    choice_ms: float | None = None
    """Of a token, the choice of the most probable next id; median. [ms]"""

    products_ms: float | None = None
    """Of decoding on the host: what products with weights take of a token; median of up to 16 tokens behind the rounds,
    with the clock read around every kernel. [ms]"""

    attention_ms: float | None = None
    """The same of attention over the cache. [ms]"""

    other_kernels_ms: float | None = None
    """The same of all other kernels. [ms]"""

    outside_kernels_ms: float | None = None
    """The same of what lies outside of kernels: inputs handed over, threads gathered, steps started, the choice of the
    next id. The clock's own time is left out. [ms]"""

    forward_instruction_ms: float | None = None
    """The forward's part of `instruction_ms`. [ms]"""

    backward_instruction_ms: float | None = None
    """The backward's part, what it computes again included. [ms]"""

    optimizer_bytes_read: float | None = None
    """Parameters, gradients and moments that the update reads, each once. [B]"""

    samples_per_s: float | None = None
    """Sequences (of a phase: items) a second: batch times `timed_runs`, or `items`, over `timed_s`. [1/s]"""

    tokens_per_s: float | None = None
    """Tokens a second: `samples_per_s` times seq; of timed data times the mean of real tokens a row. [1/s]"""

    padding_share: float | None = None
    """Of timed data: positions that ran and are padding; else null. [share]"""

    gflops: float | None = None
    """Achieved: `flops` over the median (of timed data over the mean), 10^9; integer operations count alike.
    [GFLOP/s]"""

    peak_share: float | None = None
    """`gflops` over `peak_gflops`. [share]"""

    bytes_per_s: float | None = None
    """`moved_bytes` over the median (of timed data over the mean); caches may serve part of it. [B/s]"""

    bandwidth_share: float | None = None
    """`weight_bytes_read`, of decoding `kv_bytes_read` too, over the same time, of `bandwidth_bytes_per_s`: near 1,
    memory binds; above 1, caches serve part of it. [share]"""

    flops: float | None = None
    """Of the model: its matrix products in one forward pass, attention's included, masked parts not; multiply and add
    count two. Neither precision nor fusion changes it. Of timed data the mean over the drawn batches, as all work and
    bytes of a pass."""

    moved_bytes: float | None = None
    """Operands read once and results written once, over all operations of one pass. [B]"""

    weight_bytes_read: float | None = None
    """Of these, the weights, in training with gradients and moments: each distinct byte once. [B]"""

    peak_gflops: float | None = None
    """Denominator of `peak_share`. [GFLOP/s]"""

    peak_kind: str | None = None
    """What that denominator is."""

    instruction_peak_gflops: float | None = None
    """Measured rate of the operand dtype's instruction from registers. [GFLOP/s]"""

    matmul_peak_gflops: float | None = None
    """Best matmul measured with the operand dtype. [GFLOP/s]"""

    baseline_matmul_peak_gflops: float | None = None
    """Best matmul measured with the baseline's operand dtype. [GFLOP/s]"""

    instruction_ms: float | None = None
    """What the ledger's matrix products take at the upper end of their operands' instruction peaks, row by row. [ms]"""

    matmul_ms: float | None = None
    """The same at the best matmuls measured with those operands. [ms]"""

    peaks_measured_share: float | None = None
    """Of the processor time that measuring the peaks asked for, what it got. [share]"""

    bandwidth_bytes_per_s: float | None = None
    """Read bandwidth from memory, measured, all threads. [B/s]"""

    bandwidth_high_bytes_per_s: float | None = None
    """The most that several readings of it leave possible; gates compare with it. [B/s]"""

    cache_bytes: float | None = None
    """Last-level caches of all processors that this process may run on. [B]"""

    power_limit_w: float | None = None
    """Limit of the board or package, where it says one. [W]"""

    model_bytes: int | None = None
    """Parameters as really stored in memory in this precision, scales included. [B]"""

    packed_bytes: int | None = None
    """Weights in the layout of the kernels, copies beside `model_bytes` included. [B]"""

    arena_bytes: int | None = None
    """The plan's buffers for activations and workspace. [B]"""

    peak_bytes: int | None = None
    """Predicted peak: weights as kept and arena. [B]"""

    resident_bytes: int | None = None
    """Peak resident set of a process of its own; null unless isolated or a program that holds more than assay. [B]"""

    live_bytes: list[float] = field(default_factory=list)
    """Of the arena, what is needed during each operation of one pass, in their order. [B]"""

    user_ms: float | None = None
    """Median over the runs of a program's processor time in itself. [ms]"""

    system_ms: float | None = None
    """The same in the system. [ms]"""

    daemons_left: int | None = None
    """What a program's runs, warm-up included, left behind and lived on for more than 0.1 s. [processes]"""

    daemons_alive: int | None = None
    """Of these, what was alive when all was measured. [processes]"""

    daemons_ended: int | None = None
    """Of these, what `--end-daemons` ended. [processes]"""

    energy_j: float | None = None
    """Energy of one sequence, gross; null without a meter. [J]"""

    energy_net_j: float | None = None
    """The same less idle power. [J]"""

    energy_uncertainty_j: float | None = None
    """How far `energy_j` may be off: by update period and steps of its source, by what others may have drawn in its
    windows, and by windows slower than the latency; a bound. [J]"""

    forward_energy_j: float | None = None
    """Of `energy_j`, a training step's forward; null where one lasted less than 20 resolutions of the meter. [J]"""

    backward_energy_j: float | None = None
    """The backward's part; null as before. [J]"""

    optimizer_energy_j: float | None = None
    """The update's part; null as before. [J]"""

    power_w: float | None = None
    """Mean power over the windows: energy over time. [W]"""

    energy_net_uncertainty_j: float | None = None
    """How far `energy_net_j` may be off: the meter's bound, the idle baseline's, and what others may have drawn in one
    of the two more than in the other. [J]"""

    window_power_w: list[float] = field(default_factory=list)
    """Mean power of each metered window, in their order. [W]"""

    idle_power_w: float | None = None
    """Power while nothing runs, the baseline of net: the mean before and after the run, or the one of the two in which
    others did nothing; where it was interrupted, before the run. [W]"""

    idle_uncertainty_w: float | None = None
    """How far that may be off: the meter's bound, and half of what it changed by. [W]"""

    idle_before_w: float | None = None
    """Power before the run, nothing running. [W]"""

    idle_after_w: float | None = None
    """The same after it. [W]"""

    idle_busy_processors: float | None = None
    """How many processors were busy all the same while idle power was read, a mean. [processors]"""

    energy_foreign_processors: float | None = None
    """How many processors others kept busy in the windows that were metered, a mean. [processors]"""

    energy_repeats: int | None = None
    """Windows for energy alone that were left out and repeated, since others were busy in them. [windows]"""

    energy_short_share: float | None = None
    """Windows shorter than 20 resolutions of the meter. [share]"""

    energy_status: str | None = None
    """The meter and what it covers, or `no meter` and why."""

    energy_source: str | None = None
    """What the meter reads: a file, a command, an address."""

    energy_unit: str | None = None
    """Unit of that source."""

    energy_resolution_j: float | None = None
    """Smallest step of its counter; 0 for a power that is integrated. [J]"""

    energy_update_s: float | None = None
    """How often it is renewed, measured at the start. [s]"""

    other_energy: list[str] = field(default_factory=list)
    """What every other meter read of the same, with its scope and uncertainty."""

    energy_conflict: str | None = None
    """Two meters that cannot both be right; null where all agree."""

    energy_per_token_j: float | None = None
    """`energy_j` over seq. [J]"""

    energy_delay_js: float | None = None
    """Energy-delay product: `energy_j` times the median latency. [J s]"""

    price_per_kwh: float | None = None
    """Price of a kWh as it was given, in the user's currency."""

    carbon_g_per_kwh: float | None = None
    """CO2 of a kWh as it was given. [g]"""

    cost_per_million_tokens: float | None = None
    """Price of the gross energy of 10^6 tokens (of a program: of 10^6 runs)."""

    carbon_g_per_million_tokens: float | None = None
    """CO2 of the same. [g]"""

    quality_status: str | None = None
    """scored, or why not: not asked, random weights, oom, interrupted after N of M, ..."""

    quality_data: str | None = None
    """Text or labelled set that was scored."""

    protocol: str | None = None
    """How: window, stride, padded-lines, labels; with their lengths."""

    perplexity: float | None = None
    """exp of `log_perplexity`."""

    log_perplexity: float | None = None
    """Mean negative log-likelihood of a scored token. [nat]"""

    delta_log_perplexity: float | None = None
    """Change from the baseline on the same tokens. [nat]"""

    delta_log_perplexity_se: float | None = None
    """Standard error of that change, paired and clustered by window. [nat]"""

    delta_log_perplexity_low: float | None = None
    """Lower end of its 95 % interval; null below four windows. [nat]"""

    delta_log_perplexity_high: float | None = None
    """Its upper end. [nat]"""

    scored_windows: int | None = None
    """Windows (rows) that hold the scored tokens."""

    accuracy: float | None = None
    """Correct answers over scored ones. [share]"""

    correct: int | None = None
    """Correct answers."""

    scored: int | None = None
    """Scored tokens (perplexity) or rows (accuracy, scores)."""

    entity_f1: float | None = None
    """F1 of whole entities of tags in IOB2, over all kinds together, as seqeval counts them. [share]"""

    accuracy_change: float | None = None
    """Accuracy less the baseline's. [share]"""

    accuracy_change_low: float | None = None
    """Lower end of its 95 % interval (Agresti & Min 2005). [share]"""

    accuracy_change_high: float | None = None
    """Its upper end. [share]"""

    mcnemar_p: float | None = None
    """Two-sided exact p-value of McNemar's test of that change."""

    kl_mean: float | None = None
    """Mean Kullback-Leibler divergence of the output from the baseline's. [nat]"""

    kl_p999: float | None = None
    """Its 99.9th percentile over positions (nearest rank); null below 1,000 of them. [nat]"""

    top1_agreement: float | None = None
    """Positions whose most likely output equals the baseline's. [share]"""

    max_logit_difference: float | None = None
    """Largest difference of a logit over the baseline's largest magnitude."""

    score_pearson: float | None = None
    """Of a head that gives scores: Pearson's correlation with the baseline's; of several outputs the lowest. Null where
    scores are all equal: see `quality_status`."""

    score_spearman: float | None = None
    """The same of the ranks (Spearman); equal scores share the mean of their ranks."""

    score_difference: float | None = None
    """Largest absolute difference of a score from the baseline's."""

    position_from: list[float] = field(default_factory=list)
    """Of what was decoded: the first position in its window of each stretch of positions; the last stretch ends with
    the window."""

    kl_by_position: list[float] = field(default_factory=list)
    """Mean divergence of each stretch, as `kl_mean`. [nat]"""

    top1_by_position: list[float] = field(default_factory=list)
    """The same of `top1_agreement`. [share]"""

    kl_growth: float | None = None
    """Divergence in the second half of a window over that in the first, its first 16 positions left out: geometric mean
    over the windows. [x]"""

    kl_growth_low: float | None = None
    """Lower end of its 95 % interval; null below four windows. [x]"""

    kl_growth_high: float | None = None
    """Its upper end. [x]"""

    continued_tokens: int | None = None
    """Greedy tokens behind each prompt of the text."""

    equal_tokens: list[float] = field(default_factory=list)
    """A value a prompt: how many of them came before the first that is not the baseline's."""

    equal_32: float | None = None
    """Prompts whose first 32 tokens are the baseline's. [share]"""

    equal_64: float | None = None
    """The same of 64. [share]"""

    equal_128: float | None = None
    """The same of 128. [share]"""

    label_pearson: float | None = None
    """Of scores, or of cosines of sentence embeddings: Pearson's correlation with the labels of the data."""

    label_spearman: float | None = None
    """Spearman's, of the same: 1 where they order the rows as the labels do."""

    logits_hash: str | None = None
    """Hash of the logits of the timed input, to tell bit-identical precisions."""

    foreign_load: float | None = None
    """Processor time that others used during the windows, over that of the threads used here. [share]"""

    stolen_share: float | None = None
    """Processor time that the hypervisor withheld. [share]"""

    frequency_before_mhz: float | None = None
    """Mean over processors after the first window; cuda: of the GPU. [MHz]"""

    frequency_after_mhz: float | None = None
    """The latest reading. [MHz]"""

    temperature_before_c: float | None = None
    """Hottest processor sensor after the first window; cuda: of the GPU. [degC]"""

    temperature_after_c: float | None = None
    """The latest reading. [degC]"""

    page_faults: int | None = None
    """Page faults of this process within the windows."""

    major_page_faults: int | None = None
    """Of these, the ones that read from a disk."""

    trust: str | None = None
    """A (best) to D; null without samples."""

    trust_reasons: list[str] = field(default_factory=list)
    """Why not A, a sentence each; for A, what it rests on."""

    inputs: list[LedgerInput] = field(default_factory=list)
    """Dtype and device of every input."""

    ledger: list[LedgerRow] = field(default_factory=list)
    """An operation a row: what was asked and what ran."""

    operation_bytes: list[float] = field(default_factory=list)
    """A value a row of the ledger: operands read once and results written once. [B]"""

    operation_ms: list[float] = field(default_factory=list)
    """A value a row of the ledger: its time in a traced run after the samples; none where none was traced. [ms]"""

    seal: str | None = None
    """SHA-256 over the record's other fields as canonical JSON; null in records of before there were seals."""

    extra: dict[str, Any] = field(default_factory=dict)
    """What this version does not know."""


@dataclass(frozen=True)
class Finding(JsonObject):
    """What a rule says of records."""

    rule: str | None = None

    kind: Literal["gate", "trust", "finding", "expectation"] | None = None

    model: str | None = None

    batch: int | None = None

    seq: int | None = None

    precision: str | None = None

    met: bool | None = None

    severity: Literal["info", "low", "medium", "high"] | None = None

    text: str | None = None

    extra: dict[str, Any] = field(default_factory=dict)
    """What this version does not know."""


@dataclass(frozen=True)
class Origin(JsonObject):
    """The start of the program that a file comes from."""

    date: str | None = None

    command: str | None = None

    commit: str | None = None

    seal: str | None = None

    extra: dict[str, Any] = field(default_factory=dict)
    """What this version does not know."""


@dataclass(frozen=True)
class RecordFile(JsonObject):
    """What assay bench --json writes."""

    optional: ClassVar[frozenset[str]] = frozenset(("origin",))

    schema: str | None = None

    machine: dict[str, Any] = field(default_factory=dict)

    records: list[Record] = field(default_factory=list)

    findings: list[Finding] = field(default_factory=list)

    origin: Origin | None = None

    extra: dict[str, Any] = field(default_factory=dict)
    """What this version does not know."""
