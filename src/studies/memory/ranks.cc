#include "studies/memory/ranks.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/units.h"

namespace assay {
namespace {

/// Of the floating-point operations of forward, backward (with what it computes again) and update, the backward's.
double backward_share_of(const TrainingPrograms& programs, Extent extent) {
  double all = 0;
  double backward = 0;
  for (const Program* program : {&programs.step, &programs.update}) {
    for (const Node& node : program->nodes) {
      const double operations = flops(*program, node, extent);
      all += operations;
      if (node.phase == Phase::backward) backward += operations;
    }
  }
  return all > 0 ? backward / all : 0;
}

std::int64_t stored_parameter_bytes(const TrainingPrograms& programs) {
  std::int64_t bytes = 0;
  for (std::size_t id = 0; id < programs.step.values.size(); ++id) {
    if (is_parameter(programs.step.values[id])) bytes += storage_bytes(programs.step, static_cast<ValueId>(id), {});
  }
  return bytes;
}

/// Of the rank that owns most.
std::int64_t most_moment_bytes(const TrainingPrograms& programs, int ranks) {
  std::vector<std::int64_t> held(static_cast<std::size_t>(programs.owners.empty() ? 1 : ranks));
  for (const NamedMoment& moment : programs.moments)
    held[static_cast<std::size_t>(std::max(0, owner_of(programs, moment.parameter)))] +=
        element_count(moment.shape) * static_cast<std::int64_t>(size_of(moment.dtype));
  return std::ranges::max(held);
}

/// Of parameters in their own dtypes, of the rank that owns most of them.
std::int64_t most_parameter_bytes(const TrainingPrograms& programs, std::int64_t ranks) {
  std::vector<std::int64_t> owned(static_cast<std::size_t>(ranks));
  for (std::size_t id = 0; id < programs.step.values.size(); ++id) {
    const Value& value = programs.step.values[id];
    if (is_parameter(value))
      owned[static_cast<std::size_t>(owner_of(programs, value.name))] +=
          storage_bytes(programs.step, static_cast<ValueId>(id), {});
  }
  return std::ranges::max(owned);
}

/// Where each rank updates its own parameters, its sums come to it alone, and all wait for what it hands out.
void add_exchange(RankCell& one, const ReduceTraffic& traffic, const TrainingPrograms& programs) {
  one.buckets = traffic.buckets;
  one.exchange_bytes = traffic.scratch_bytes;
  one.parameter_bytes = stored_parameter_bytes(programs);
  if (one.stage == ZeroStage::none) {
    one.reduced_bytes = 2 * traffic.one_way_bytes;
    one.last_bucket_bytes = 2 * traffic.last_bucket_bytes;
    return;
  }
  const std::int64_t others = one.ranks - 1;
  // Of the equal share that a rank has summed, what others own goes to them: on the mean (N - 1) / N of it.
  one.reduced_bytes = traffic.one_way_bytes + traffic.one_way_bytes / one.ranks;
  one.last_bucket_bytes = traffic.last_bucket_bytes + traffic.last_bucket_bytes / one.ranks;
  one.handed_out_bytes = most_parameter_bytes(programs, one.ranks) * others;
}

/// When the update has ended: nothing hides it. Direct: one message to each other rank; tree: a broadcast.
ExchangeTime hand_out_time(const RankCell& one, const RankRequest& link) {
  if (one.stage == ZeroStage::none) return {};
  const double bytes_a_ms = link.bandwidth_gb_s * 1e6;
  const double latency_ms = link.latency_us * 1e-3;
  const double levels = std::ceil(std::log2(static_cast<double>(one.ranks)));
  return {static_cast<double>(one.handed_out_bytes) / bytes_a_ms + static_cast<double>(one.ranks - 1) * latency_ms,
          static_cast<double>(one.parameter_bytes) / bytes_a_ms + levels * latency_ms};
}

void predict_time(RankCell& one, const RankRequest& link) {
  if (!link.step_ms) return;
  const ExchangeTime all = exchange_time(one.reduced_bytes, one.buckets, one.ranks, link);
  const ExchangeTime last = exchange_time(one.last_bucket_bytes, 1, one.ranks, link);
  const ExchangeTime after = hand_out_time(one, link);
  const double hides = one.backward_share * *link.step_ms;
  one.exposed_ms = std::max(all.direct_ms - hides, last.direct_ms) + after.direct_ms;
  one.direct_ms = *link.step_ms + *one.exposed_ms;
  one.tree_ms = *link.step_ms + std::max(all.tree_ms - hides, last.tree_ms) + after.tree_ms;
}

RankCell rank_cell(const MemoryCell& cell, const Model& model, const MemoryRequest& request, const MachineFacts& facts,
                   std::int64_t ranks, ZeroStage stage) {
  TrainingOptions options =
      whole_step(precision_choice(cell.precision, request.engine, facts), request.engine, model, cell.step);
  options.sharding = {stage, 0, static_cast<int>(ranks)};
  const TrainingPrograms programs = training_programs(model.config, options);
  RankCell one{.cell = cell, .ranks = ranks, .stage = stage};
  one.backward_share = backward_share_of(programs, cell.extent);
  one.optimizer_bytes = most_moment_bytes(programs, static_cast<int>(ranks));
  const ReduceTraffic traffic =
      reduce_traffic(gradient_sizes(programs.step), request.ranks.reduce, static_cast<int>(ranks));
  add_exchange(one, traffic, programs);
  const GradientBytes gradients = gradient_bytes(programs, static_cast<int>(ranks));
  one.gradient_bytes = stage == ZeroStage::gradients
                           ? std::min(gradients.all, gradients.most_owned + traffic.under_way_bytes)
                           : gradients.all;
  const std::int64_t whole =
      cell.held[static_cast<std::size_t>(Held::optimizer)] + cell.held[static_cast<std::size_t>(Held::gradients)];
  one.peak_bytes = std::max(cell.total_bytes - whole + one.gradient_bytes + one.optimizer_bytes + one.exchange_bytes,
                            cell.loading_bytes);
  predict_time(one, request.ranks);
  return one;
}

const char* stage_word(ZeroStage stage) {
  constexpr const char* words[] = {"0", "1", "2"};
  return words[static_cast<std::size_t>(stage)];
}

}  // namespace

ExchangeTime exchange_time(std::int64_t bytes, std::int64_t buckets, std::int64_t ranks, const RankRequest& link) {
  const double bytes_a_ms = link.bandwidth_gb_s * 1e6;
  const double latency_ms = link.latency_us * 1e-3;
  const auto others = static_cast<double>(ranks - 1);
  const double levels = std::ceil(std::log2(static_cast<double>(ranks)));
  const auto messages = static_cast<double>(buckets);
  ExchangeTime time;
  time.direct_ms = static_cast<double>(bytes) / bytes_a_ms + messages * 2 * others * latency_ms;
  // A rank of a tree passes on whole buckets, (N - 1) / N of which would be its part of an exchange of shares.
  const double whole = static_cast<double>(bytes) * static_cast<double>(ranks) / others;
  time.tree_ms = whole / bytes_a_ms + messages * 2 * levels * latency_ms;
  return time;
}

std::vector<RankCell> rank_cells(const MemoryStudy& study, const Model& model, const MemoryRequest& request,
                                 const MachineFacts& facts) {
  std::vector<RankCell> cells;
  for (const MemoryCell& cell : study.cells) {
    if (cell.fits == Fits::unsupported || cell.model != model.name) continue;
    for (const std::int64_t ranks : request.ranks.counts) {
      for (const ZeroStage stage : {ZeroStage::none, ZeroStage::optimizer, ZeroStage::gradients})
        cells.push_back(rank_cell(cell, model, request, facts, ranks, stage));
    }
  }
  return cells;
}

Table rank_table(const std::vector<RankCell>& cells, const MemoryRequest& request) {
  using Cell = Table::Cell;
  constexpr auto label = Table::Role::label;
  std::vector<ColumnOf<RankCell>> columns = {
      {{.key = "precision", .role = label}, [](const RankCell& c) -> Cell { return c.cell.precision; }},
      {{.key = "batch", .title = "B", .meaning = "rows a rank", .role = label},
       [](const RankCell& c) -> Cell { return c.cell.extent.batch; }},
      {{.key = "seq", .title = "T", .role = label}, [](const RankCell& c) -> Cell { return c.cell.extent.seq; }},
      {{.key = "recompute", .role = label}, [](const RankCell& c) -> Cell { return name(c.cell.step.recompute); }},
      {{.key = "ranks", .role = label}, [](const RankCell& c) -> Cell { return c.ranks; }},
      {{.key = "zero",
        .meaning = "each rank keeps a share of 1: the optimizer's state, 2: and of the gradients",
        .role = label},
       [](const RankCell& c) -> Cell { return stage_word(c.stage); }}};
  const auto bytes = [&](const char* key, const char* title, const char* meaning, auto member) {
    columns.push_back({{.key = key, .title = title, .unit = "bytes", .meaning = meaning, .notation = Notation::bytes},
                       [member](const RankCell& c) -> Cell { return c.*member; }});
  };
  bytes("gradient_bytes", "grads", "the most that lie in memory at once", &RankCell::gradient_bytes);
  bytes("optimizer_bytes", "optim", "moments of the rank that has most", &RankCell::optimizer_bytes);
  bytes("exchange_bytes", "exchange", "buffers of gradients under way", &RankCell::exchange_bytes);
  bytes("peak_bytes", "peak", "of the rank that has most", &RankCell::peak_bytes);
  columns.push_back({{.key = "sent_bytes",
                      .title = "sent",
                      .unit = "bytes",
                      .meaning = "in a step, about, by the rank that sends most",
                      .notation = Notation::bytes},
                     [](const RankCell& c) -> Cell { return c.sent_bytes(); }});
  const auto time = [&](const char* key, const char* title, const char* meaning, auto member) {
    if (!request.ranks.step_ms) return;
    columns.push_back({{.key = key, .title = title, .unit = "ms", .meaning = meaning},
                       [member](const RankCell& c) -> Cell { return *(c.*member); }});
  };
  if (request.ranks.step_ms)
    columns.push_back({{.key = "backward_share", .detail = Detail::data},
                       [](const RankCell& c) -> Cell { return c.backward_share; }});
  time("exposed_ms", "exposed", "of direct exchange, not behind the backward", &RankCell::exposed_ms);
  time("step_ms", "step", "by direct exchange", &RankCell::direct_ms);
  time("tree_step_ms", "step, tree", "by a library's trees", &RankCell::tree_ms);
  if (request.ranks.step_ms)
    columns.push_back(
        {{.key = "efficiency", .meaning = "weak scaling: one rank's step over this", .notation = Notation::percent},
         [&](const RankCell& c) -> Cell { return *request.ranks.step_ms / *c.direct_ms; }});
  return filled({.key = "ranks", .caption = "A rank of several that train together"}, columns, cells);
}

namespace {

/// "66 %", "64 to 66 %".
std::string backward_share_words(const std::vector<RankCell>& cells) {
  std::vector<long> shares;
  shares.reserve(cells.size());
  for (const RankCell& cell : cells) shares.push_back(std::lround(100 * cell.backward_share));
  const auto [low, high] = std::ranges::minmax(shares);
  return low == high ? fmt::format("{} %", low) : fmt::format("{} to {} %", low, high);
}

}  // namespace

std::vector<std::string> rank_assumptions(const std::vector<RankCell>& cells, const MemoryRequest& request) {
  const RankRequest& link = request.ranks;
  std::vector<std::string> texts = {fmt::format("Gradients travel as {}, in buckets of {}; each rank works B rows.",
                                                link.reduce.format.name,
                                                format_bytes(static_cast<double>(link.reduce.bucket_bytes)))};
  if (!link.step_ms) {
    texts.emplace_back("For a step's time: --step-ms, what one rank takes alone (train --benchmark measures it).");
    return texts;
  }
  texts.push_back(fmt::format(
      "Times are predicted, not measured: one rank alone takes {:.4g} ms (given), a rank sends {:.4g} GB/s, "
      "a message takes {:.4g} us besides (given or assumed), no link is shared, no rank is slower.",
      *link.step_ms, link.bandwidth_gb_s, link.latency_us));
  if (!cells.empty())
    texts.push_back(
        fmt::format("The backward is {} of a step, as of its floating-point operations; what is sent behind it costs "
                    "nothing but the last bucket, and what takes longer than the backward is exposed.",
                    backward_share_words(cells)));
  texts.emplace_back(
      "Direct exchange: 2 (N - 1) messages a bucket and rank, one after another; a tree: 2 log2 N levels, whole "
      "buckets at each.");
  texts.emplace_back(
      "--zero: a parameter is one rank's, whole, which hands it to N - 1 others when the update has ended; so the "
      "largest of them bounds what a share may save, and a step waits for who owns most.");
  return texts;
}

}  // namespace assay
