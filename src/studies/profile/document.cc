#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "results/model_name.h"
#include "studies/probe/run.h"
#include "studies/profile/run.h"
#include "studies/profile/tables.h"

namespace assay {
namespace {

/// A profile and where it stands in JSON: "profile", "against", "inference".
struct ProfilePart {
  std::string key;
  const Profile& profile;
  const MachineFacts& facts;
  std::string gist;  ///< Key of the grouping that everybody is shown; empty: none.

  bool is_asked_for() const { return key.ends_with("profile"); }
  Detail detail() const { return is_asked_for() ? Detail::brief : Detail::details; }
  std::string caption(const std::string& what) const {
    return profile.precision + " " + name(profile.mode) + ", " + what;
  }
};

Table::Column ms_column(std::string key, std::string title, std::string meaning = "") {
  return {.key = std::move(key), .title = std::move(title), .unit = "ms", .meaning = std::move(meaning)};
}

Table::Column bytes_column(std::string key, std::string title, Detail detail = Detail::brief) {
  return {
      .key = std::move(key), .title = std::move(title), .unit = "bytes", .notation = Notation::bytes, .detail = detail};
}

Table::Column share_column(std::string key, std::string title, std::string meaning) {
  return {.key = std::move(key),
          .title = std::move(title),
          .meaning = std::move(meaning),
          .notation = Notation::percent,
          .digits = 1};
}

using ProfileColumns = std::vector<ColumnOf<ProfileRow>>;

ProfileColumns profile_columns(const char* title, double total_ms) {
  using Row = ProfileRow;
  using Cell = Table::Cell;
  return {
      {{.key = "name", .title = title, .role = Table::Role::label}, [](const Row& r) -> Cell { return r.name; }},
      {{.key = "calls"}, [](const Row& r) -> Cell { return r.calls; }},
      {{.key = "paths", .meaning = "different layer paths behind it", .detail = Detail::details},
       [](const Row& r) -> Cell { return r.paths; }},
      {ms_column("ms", "time", "sum of the medians of its steps"), [](const Row& r) -> Cell { return r.ms; }},
      {share_column("share_of_time", "share", "of the time of all steps"),
       [total_ms](const Row& r) -> Cell { return total_ms > 0 ? r.ms / total_ms : 0.0; }},
      {{.key = "flops", .title = "FLOP", .notation = Notation::general}, [](const Row& r) -> Cell { return r.flops; }},
      {bytes_column("bytes", "moved"), [](const Row& r) -> Cell { return r.bytes; }},
      {{.key = "gflops", .title = "GFLOP/s"}, [](const Row& r) -> Cell { return r.gflops(); }},
      {share_column("share_of_matmul_peak", "of peak", "its FLOP/s over those of the best matmul measured here"),
       [](const Row& r) -> Cell { return r.compute_share(); }},
      {{.key = "gbs", .title = "GB/s"}, [](const Row& r) -> Cell { return r.gbs(); }},
      {share_column("share_of_bandwidth", "of memory's", "its bytes a second over what memory was measured to move"),
       [](const Row& r) -> Cell { return r.memory_share(); }},
      {{.key = "intensity", .title = "FLOP/B", .detail = Detail::details},
       [](const Row& r) -> Cell { return r.bytes > 0 ? r.flops / r.bytes : 0.0; }},
      {{.key = "verdict"}, [](const Row& r) -> Cell { return verdict(r); }}};
}

struct ProfileGrouping {
  const char* key;
  const char* title;
  std::string (*name)(const ProfiledStep& step);
};
constexpr ProfileGrouping profile_groupings[] = {
    {"by_kind", "kind", [](const ProfiledStep& step) { return std::string(name(step.kind)); }},
    {"by_operation", "operation", [](const ProfiledStep& step) { return step.operation; }},
    {"by_path", "layer path",
     [](const ProfiledStep& step) {
       const char* mark = step.phase == Phase::backward ? " (backward)" : "";
       return folded(step.phase == Phase::optimizer ? "optimizer" : step.path) + mark;
     }},
    {"by_kernel", "kernel", [](const ProfiledStep& step) { return step.kernel; }},
};

std::string profile_legend() {
  return fmt::format(
      "Bound by the larger share of the two; by overhead (calls, threads, slow code) below {:.0f} % of both. "
      "GB/s above memory's are those of caches.",
      100 * overhead_below);
}

Table grouped_table(const ProfilePart& part, const ProfileGrouping& grouping) {
  Table table{.key = fmt::format("{}.{}", part.key, grouping.key),
              .caption = part.caption(fmt::format("by {}", grouping.title)),
              .detail = part.gist == grouping.key ? Detail::brief : Detail::details};
  if (part.gist == grouping.key) table.legend = profile_legend();
  return filled(std::move(table), profile_columns(grouping.title, part.profile.steps_ms()),
                rows_by(part.profile.steps, grouping.name, part.facts));
}

/// A step, and its kernels where it ran on a GPU.
struct StepOfRun {
  const ProfiledStep& step;
  std::optional<double> gpu_ms;
};

Table steps_table(const ProfilePart& part) {
  using Cell = Table::Cell;
  const Profile& profile = part.profile;
  std::vector<ColumnOf<StepOfRun>> columns = {
      {{.key = "path"}, [](const StepOfRun& s) -> Cell { return s.step.path; }},
      {{.key = "operation"}, [](const StepOfRun& s) -> Cell { return s.step.operation; }},
      {{.key = "kernel"}, [](const StepOfRun& s) -> Cell { return s.step.kernel; }},
      {{.key = "kind"}, [](const StepOfRun& s) -> Cell { return name(s.step.kind); }},
      {{.key = "phase"}, [](const StepOfRun& s) -> Cell { return name(s.step.phase); }},
      {{.key = "flops"}, [](const StepOfRun& s) -> Cell { return s.step.flops; }},
      {bytes_column("bytes", ""), [](const StepOfRun& s) -> Cell { return s.step.bytes; }},
      {ms_column("ms", "time", "median of the traced rounds"), [](const StepOfRun& s) -> Cell { return s.step.ms; }}};
  const bool has_kernels = profile.gpu && profile.gpu->present();
  if (has_kernels) columns.push_back({ms_column("gpu_ms", ""), [](const StepOfRun& s) { return or_absent(s.gpu_ms); }});
  std::vector<StepOfRun> steps;
  for (std::size_t i = 0; i < profile.steps.size(); ++i) {
    steps.push_back({profile.steps[i], std::nullopt});
    if (has_kernels) steps.back().gpu_ms = profile.gpu->step_ms(i);
  }
  return filled({.key = part.key + ".steps", .caption = part.caption("step by step"), .detail = Detail::data}, columns,
                steps);
}

Table gpu_kernels_table(std::string key, std::string caption, Detail detail, const std::vector<GpuKernel>& kernels) {
  using Cell = Table::Cell;
  const std::vector<ColumnOf<GpuKernel>> columns = {
      {{.key = "name", .title = "kernel of the GPU", .role = Table::Role::label},
       [](const GpuKernel& kernel) -> Cell { return kernel.name; }},
      {{.key = "count", .title = "launches"}, [](const GpuKernel& kernel) -> Cell { return kernel.count; }},
      {ms_column("ms", "GPU time"), [](const GpuKernel& kernel) -> Cell { return kernel.ms; }}};
  return filled({.key = std::move(key), .caption = std::move(caption), .detail = detail}, columns, kernels);
}

Table gpu_operations_table(const ProfilePart& part) {
  using Cell = Table::Cell;
  const std::vector<ColumnOf<OperationOnGpu>> columns = {
      {{.key = "operation", .role = Table::Role::label}, [](const OperationOnGpu& o) -> Cell { return o.operation; }},
      {{.key = "launches"}, [](const OperationOnGpu& o) -> Cell { return o.launches; }},
      {ms_column("gpu_ms", "GPU time", "in kernels alone"), [](const OperationOnGpu& o) -> Cell { return o.gpu_ms; }},
      {ms_column("clock_ms", "clock", "by the host's clock around launch and wait"),
       [](const OperationOnGpu& o) -> Cell { return o.clock_ms; }}};
  return filled({.key = part.key + ".gpu.by_operation",
                 .caption = part.caption("on the GPU, by operation"),
                 .legend = fmt::format("By CUPTI, medians of {} runs of their own.", part.profile.gpu->runs),
                 .detail = Detail::details},
                columns, operations_on_gpu(part.profile));
}

Table gpu_facts(const ProfilePart& part) {
  const GpuKernels& kernels = *part.profile.gpu;
  Table facts{.key = part.key + ".gpu", .form = Table::Form::facts, .detail = part.detail()};
  if (!kernels.present()) {
    add_fact(facts, {.key = "absent", .title = "no kernels of the GPU by name"}, kernels.absent);
    return facts;
  }
  add_fact(facts, {.key = "runs", .detail = Detail::data}, std::int64_t{kernels.runs});
  add_fact(facts, ms_column("ms", "in kernels of the GPU"), kernels.total_ms());
  add_fact(facts, {.key = "unmarked", .title = "kernels of no operation", .detail = Detail::details},
           kernels.last.unmarked);
  add_fact(facts, {.key = "dropped", .title = "records that CUPTI dropped", .detail = Detail::details},
           kernels.last.dropped);
  return facts;
}

void add_gpu_tables(const ProfilePart& part, std::vector<Table>& tables) {
  if (!part.profile.gpu) return;
  tables.push_back(gpu_facts(part));
  const GpuKernels& kernels = *part.profile.gpu;
  if (!kernels.present()) return;
  tables.push_back(gpu_operations_table(part));
  tables.push_back(gpu_kernels_table(part.key + ".gpu.kernels", part.caption("by kernel of the GPU"), Detail::details,
                                     kernels_by_name(kernels)));
  for (std::size_t i = 0; i < kernels.steps.size(); ++i) {
    tables.push_back(
        gpu_kernels_table(fmt::format("{}.steps.{}.gpu_kernels", part.key, i), "", Detail::data, kernels.steps[i]));
  }
}

void add_phase_facts(Table& facts, const Profile& profile, Phase phase) {
  const auto at = static_cast<std::size_t>(phase);
  const std::string of = name(phase);
  const bool ran = profile.untraced_ms[at] > 0 && profile.traced_ms[at] > 0;
  const auto fact = [&](const char* word, const PhaseTimes& times, Detail detail) {
    Table::Column column = ms_column(fmt::format("{}.{}_ms", word, of), fmt::format("{}, {}", of, word));
    column.detail = ran ? detail : Detail::data;
    add_fact(facts, std::move(column), times[at]);
  };
  fact("untraced", profile.untraced_ms, Detail::brief);
  fact("traced", profile.traced_ms, Detail::details);
}

void add_count_facts(Table& facts, const NodeCounts& counts) {
  const auto fact = [&](const char* key, const char* title, std::int64_t count) {
    add_fact(facts, {.key = std::string("counts.") + key, .title = title, .detail = Detail::details}, count);
  };
  fact("nodes", "operations in the program", counts.nodes);
  fact("steps", "of them kernels that run", counts.steps);
  fact("windows", "views into other values", counts.windows);
  fact("constant", "made once from weights", counts.constant);
  fact("unwanted", "not wanted", counts.unwanted);
}

Table part_facts(const ProfilePart& part) {
  const Profile& profile = part.profile;
  Table facts{
      .key = part.key, .caption = part.caption("whole phases"), .form = Table::Form::facts, .detail = part.detail()};
  add_fact(facts, {.key = "precision", .detail = Detail::data}, profile.precision);
  add_fact(facts, {.key = "mode", .detail = Detail::data}, name(profile.mode));
  add_fact(facts, {.key = "rounds", .detail = Detail::details}, std::int64_t{profile.rounds});
  for (const Phase phase : {Phase::forward, Phase::backward, Phase::optimizer}) add_phase_facts(facts, profile, phase);
  add_count_facts(facts, profile.counts);
  add_fact(facts, bytes_column("profile_memory", "memory, predicted peak"), profile.peak_bytes);
  add_fact(facts, {.key = "trust", .role = Table::Role::grade}, named_or_absent(profile.grade.trust));
  add_fact(facts, {.key = "trust_reasons", .title = "trusted less because", .detail = Detail::details},
           profile.grade.trust_reasons);
  if (profile.not_finite) add_fact(facts, {.key = "not_finite", .title = "not finite"}, *profile.not_finite);
  if (profile.tracing)
    add_fact(facts, {.key = "traced_over_untraced", .title = "traced / untraced", .digits = 4}, profile.tracing->value);
  return facts;
}

void add_tables(const ProfilePart& part, std::vector<Table>& tables) {
  tables.push_back(part_facts(part));
  for (const ProfileGrouping& grouping : profile_groupings) tables.push_back(grouped_table(part, grouping));
  tables.push_back(steps_table(part));
  add_gpu_tables(part, tables);
}

Table amdahl_table(const ProfileStudy& study, const std::string& prefix) {
  using Part = AmdahlPart;
  using Cell = Table::Cell;
  const std::string before = study.against->precision;
  const std::string after = study.profile.precision;
  const std::vector<ColumnOf<Part>> columns = {
      {{.key = "kind", .role = Table::Role::label}, [](const Part& p) -> Cell { return name(p.kind); }},
      {{.key = "calls_before", .title = "calls, " + before}, [](const Part& p) -> Cell { return p.calls_before; }},
      {{.key = "calls_after", .title = "calls, " + after}, [](const Part& p) -> Cell { return p.calls_after; }},
      {bytes_column("bytes_before", "moved, " + before), [](const Part& p) -> Cell { return p.bytes_before; }},
      {bytes_column("bytes_after", "moved, " + after), [](const Part& p) -> Cell { return p.bytes_after; }},
      {ms_column("ms_before", before), [](const Part& p) -> Cell { return p.ms_before; }},
      {ms_column("ms_after", after), [](const Part& p) -> Cell { return p.ms_after; }},
      {{.key = "speedup", .title = "speed-up"},
       [](const Part& p) -> Cell {
         if (p.ms_before <= 0 || p.ms_after <= 0) return Absent{};
         return p.ms_before / p.ms_after;
       }},
      {share_column("share", "share before", "of the time of " + before),
       [](const Part& p) -> Cell { return p.share; }},
      {{.key = "part",
        .title = "Amdahl part",
        .meaning = "its time now over the whole time before",
        .notation = Notation::fixed,
        .digits = 4},
       [](const Part& p) -> Cell { return p.part; }}};
  return filled({.key = prefix + "amdahl",
                 .caption = fmt::format("What became faster from {} to {}", before, after),
                 .legend = fmt::format("The Amdahl parts sum to the time of {} over that of {}: {:.4f}.", after, before,
                                       study.profile.steps_ms() / study.against->steps_ms())},
                columns, amdahl(*study.against, study.profile));
}

/// Times of frames, each within those that hold it.
struct FlameNode {
  std::string name;
  double ms = 0;
  std::vector<FlameNode> children;

  FlameNode& child(const std::string& wanted) {
    for (FlameNode& node : children) {
      if (node.name == wanted) return node;
    }
    return children.emplace_back(FlameNode{wanted, 0, {}});
  }
};

void add_flames(const FlameNode& node, double begin_ms, double row, std::vector<Figure::Point>& points) {
  points.push_back({.x = begin_ms, .y = row, .value = node.ms, .label = node.name});
  for (const FlameNode& child : node.children) {
    add_flames(child, begin_ms, row + 1, points);
    begin_ms += child.ms;
  }
}

}  // namespace

Figure flame_of(const ProfileStudy& study, const std::string& key) {
  FlameNode root{shown_model_name(study.model) + " " + study.profile.precision, 0, {}};
  for (const ProfiledStep& step : study.profile.steps) {
    FlameNode* node = &root;
    node->ms += step.ms;
    for (const std::string& frame : frames(step)) {
      node = &node->child(frame);
      node->ms += step.ms;
    }
  }
  Figure figure{.kind = FigureKind::flame,
                .key = key,
                .caption = fmt::format("{} {} {}, {} x {}: {:.3f} ms, medians of {} runs",
                                       shown_model_name(study.model), study.profile.precision, name(study.profile.mode),
                                       study.extent.batch, study.extent.seq, root.ms, study.profile.rounds),
                .x = {.title = "time", .unit = "ms"},
                .y = {.title = "phase, layer, operation"},
                .series = {{}}};
  add_flames(root, 0, 0, figure.series.front().points);
  return figure;
}

std::vector<Table> profile_tables(const ProfileStudy& study, const std::string& prefix) {
  std::vector<Table> tables;
  const bool trains = study.profile.mode == RunMode::train;
  const char* gist = study.against ? "" : trains ? "by_kind" : "by_operation";  // One screen holds one of them.
  add_tables({prefix + "profile", study.profile, study.facts, gist}, tables);
  if (study.against) {
    tables.push_back(amdahl_table(study, prefix));
    add_tables({prefix + "against", *study.against, study.facts, ""}, tables);
  }
  if (study.inference) add_tables({prefix + "inference", *study.inference, study.facts, ""}, tables);
  return tables;
}

namespace {

Table profile_facts(const ProfileStudy& study) {
  Table facts = Document{}.subject.facts;
  const auto fact = [&](const char* key, Table::Cell value) {
    add_fact(facts, {.key = key, .detail = Detail::data}, std::move(value));
  };
  fact("model", study.model);
  fact("batch", study.extent.batch);
  fact("seq", study.extent.seq);
  if (study.profile.mode == RunMode::train) {
    fact("recompute", name(study.step.recompute));
    if (!words(study.step).empty()) fact("step", words(study.step));
  }
  fact("fusion", study.fusion == Fusion::on ? "on" : "off");
  fact("clock_reading_ns", 1e9 * study.clock_cost_s);
  return facts;
}

}  // namespace

Table profile_methods(const ProfileStudy& study) {
  Table methods = Document{}.methods;
  const auto fact = [&](const char* key, const char* title, const char* unit, Table::Cell value) {
    add_fact(methods, {.key = key, .title = title, .unit = unit, .detail = Detail::details}, std::move(value));
  };
  fact("threads", "", "", std::int64_t{study.facts.threads});
  fact("memory_gbs", "memory moves", "GB/s", study.facts.bandwidth_gbs);
  for (const MatmulPeak& peak : study.facts.peaks)
    fact(fmt::format("matmul_gflops.{}", name(peak.operand)).c_str(),
         fmt::format("best {} matmul measured here", name(peak.operand)).c_str(), "GFLOP/s", peak.matmul_gflops);
  fact("rounds", "rounds, traced and untraced by turns", "", std::int64_t{study.profile.rounds});
  return methods;
}

Document to_document(const ProfileStudy& study) {
  const bool trains = study.profile.mode == RunMode::train;
  return {.subject = {.schema = "assay-profile-1",
                      .title =
                          fmt::format("{} in {}, {}, batch {} x {} tokens, fusion {}", shown_model_name(study.model),
                                      study.profile.precision, trains ? "a training step with AdamW" : "a forward pass",
                                      study.extent.batch, study.extent.seq, study.fusion == Fusion::on ? "on" : "off"),
                      .facts = profile_facts(study)},
          .machine = machine_json(study.facts),
          .tables = profile_tables(study, ""),
          .figures = {flame_of(study, "flame")},
          .sentences = {{.key = "paragraphs", .texts = profile_sentences(study)}},
          .methods = profile_methods(study)};
}

}  // namespace assay
