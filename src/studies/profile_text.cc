#include <fmt/format.h>

#include "base/json.h"

#include <algorithm>
#include "base/units.h"
#include "program/operation.h"
#include "studies/profile.h"

namespace assay {
namespace {

/// "-" where the rate of this machine is not known.
std::string share_text(double floor_ms, double share) {
  return floor_ms > 0 ? fmt::format("{:.0f} %", 100 * share) : "-";
}

/// "compute", below the title "bound by".
std::string bound_by(const ProfileRow& row) {
  const std::string words = verdict(row);
  return words.substr(0, words.find("-bound"));
}

std::string row_text(const ProfileRow& row, double total_ms) {
  const std::string times = row.paths > 1 ? fmt::format("{} in {}", row.calls, row.paths) : std::to_string(row.calls);
  return fmt::format("{:<34.34}{:>10}{:>9}{:>6.1f}{:>9.3f}{:>8.1f}{:>8.1f}{:>6}{:>7.1f}{:>6}{:>7.1f}  {}\n", row.name,
                     times, format_significant(row.ms), 100 * row.ms / total_ms, row.flops / 1e9, row.bytes / 1e6,
                     row.gflops(), share_text(row.compute_floor_ms, row.compute_share()), row.gbs(),
                     share_text(row.memory_floor_ms, row.memory_share()), row.bytes > 0 ? row.flops / row.bytes : 0.0,
                     bound_by(row));
}

std::string table_text(const char* title, const std::vector<ProfileRow>& rows, double total_ms) {
  constexpr std::size_t most = 30;
  std::string text = fmt::format("\n{:<34}{:>10}{:>9}{:>6}{:>9}{:>8}{:>8}{:>6}{:>7}{:>6}{:>7}  {}\n", title, "calls",
                                 "ms", "%", "GFLOP", "MB", "GFLOP/s", "peak", "GB/s", "peak", "FLOP/B", "bound by");
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) text += row_text(rows[i], total_ms);
  if (rows.size() > most) text += fmt::format("... and {} more\n", rows.size() - most);
  return text;
}

struct StepTable {
  const char* title;
  const char* json;
  std::string (*name)(const ProfiledStep& step);
};
constexpr StepTable profile_tables[] = {
    {"by operation", "by_operation", [](const ProfiledStep& step) { return step.operation; }},
    {"by layer path", "by_path",
     [](const ProfiledStep& step) {
       const char* mark = step.phase == Phase::backward ? " (backward)" : "";
       return folded(step.phase == Phase::optimizer ? "optimizer" : step.path) + mark;
     }},
    {"by kernel", "by_kernel", [](const ProfiledStep& step) { return step.kernel; }},
};

std::string counts_text(const NodeCounts& counts) {
  return fmt::format(
      "{} operations in the program = {} kernels traced + {} windows + {} made once from weights + {} not "
      "wanted\n",
      counts.nodes, counts.steps, counts.windows, counts.constant, counts.unwanted);
}

std::string phases_text(const Profile& profile) {
  std::string text;
  for (const Phase phase : {Phase::forward, Phase::backward, Phase::optimizer}) {
    const auto at = static_cast<std::size_t>(phase);
    if (profile.untraced_ms[at] <= 0 || profile.traced_ms[at] <= 0) continue;
    text += fmt::format("{:<10} {:>9} ms untraced {:>9} ms traced\n", name(phase),
                        format_significant(profile.untraced_ms[at]), format_significant(profile.traced_ms[at]));
  }
  return text;
}

std::string amdahl_text(const ProfileStudy& study) {
  const std::string& before = study.against->precision;
  const std::string& after = study.profile.precision;
  std::string text = fmt::format("\n{:<12}{:>13}{:>19}{:>21}{:>10}{:>14}{:>12}\n", "kind", "calls", "MB", "ms",
                                 "speed-up", "share before", "Amdahl part");
  text += fmt::format("{:<12}{:>13}{:>19}{:>21}\n", "", "", "", before + " -> " + after);
  double sum = 0;
  for (const AmdahlPart& part : amdahl(*study.against, study.profile)) {
    sum += part.part;
    const bool both = part.ms_before > 0 && part.ms_after > 0;
    text +=
        fmt::format("{:<12}{:>13}{:>19}{:>21}{:>10}{:>12.1f} %{:>12.4f}\n", name(part.kind),
                    fmt::format("{} -> {}", part.calls_before, part.calls_after),
                    fmt::format("{:.2f} -> {:.2f}", part.bytes_before / 1e6, part.bytes_after / 1e6),
                    format_significant(part.ms_before) + " -> " + format_significant(part.ms_after),
                    both ? fmt::format("{:.2f}x", part.ms_before / part.ms_after) : "-", 100 * part.share, part.part);
  }
  return text +
         fmt::format(
             "{:<12}{:>13}{:>19}{:>21}{:>10}{:>14}{:>12.4f}\nThe sum of the parts is the time of {} over that of "
             "{}.\n",
             "sum", "", "",
             format_significant(study.against->steps_ms()) + " -> " + format_significant(study.profile.steps_ms()),
             fmt::format("{:.2f}x", 1 / sum), "100.0 %", sum, after, before);
}

std::string peaks_text(const MachineFacts& facts) {
  std::string text = "peaks: best matmul measured here";
  for (const MatmulPeak& peak : facts.peaks) text += fmt::format(" {} {:.0f},", name(peak.operand), peak.matmul_gflops);
  return text + fmt::format(
                    " GFLOP/s; memory {:.1f} GB/s; {} threads.\n"
                    "Bound by the larger share of the two; by overhead (calls, threads, slow code) below {:.0f} % of "
                    "both.\nGB/s above memory's are those of caches.\n",
                    facts.bandwidth_gbs, facts.threads, 100 * overhead_below);
}

OrderedJson row_json(const ProfileRow& row) {
  return {{"name", row.name},
          {"calls", row.calls},
          {"paths", row.paths},
          {"ms", row.ms},
          {"flops", row.flops},
          {"bytes", row.bytes},
          {"gflops", row.gflops()},
          {"gbs", row.gbs()},
          {"share_of_matmul_peak", row.compute_share()},
          {"share_of_bandwidth", row.memory_share()},
          {"verdict", verdict(row)}};
}

OrderedJson step_json(const ProfiledStep& step) {
  return {
      {"path", step.path},         {"operation", step.operation}, {"kernel", step.kernel}, {"kind", name(step.kind)},
      {"phase", name(step.phase)}, {"flops", step.flops},         {"bytes", step.bytes},   {"ms", step.ms}};
}

void add_gpu_kernels(const GpuKernels& kernels, std::size_t step, OrderedJson& json) {
  json["gpu_ms"] = kernels.step_ms(step);
  json["gpu_kernels"] = OrderedJson::array();
  for (const GpuKernel& kernel : kernels.steps[step]) json["gpu_kernels"].push_back(gpu_kernel_json(kernel));
}

OrderedJson phases_json(const PhaseTimes& times) {
  OrderedJson json;
  for (const Phase phase : {Phase::forward, Phase::backward, Phase::optimizer})
    json[std::string(name(phase)) + "_ms"] = times[static_cast<std::size_t>(phase)];
  return json;
}

OrderedJson one_json(const Profile& profile, const MachineFacts& facts) {
  OrderedJson json = {{"precision", profile.precision},
                      {"mode", name(profile.mode)},
                      {"rounds", profile.rounds},
                      {"untraced", phases_json(profile.untraced_ms)},
                      {"traced", phases_json(profile.traced_ms)},
                      {"counts",
                       {{"nodes", profile.counts.nodes},
                        {"steps", profile.counts.steps},
                        {"windows", profile.counts.windows},
                        {"constant", profile.counts.constant},
                        {"unwanted", profile.counts.unwanted}}}};
  if (profile.not_finite) json["not_finite"] = *profile.not_finite;
  if (profile.tracing) json["traced_over_untraced"] = profile.tracing->value;
  for (const StepTable& table : profile_tables) {
    OrderedJson rows = OrderedJson::array();
    for (const ProfileRow& row : rows_by(profile.steps, table.name, facts)) rows.push_back(row_json(row));
    json[table.json] = rows;
  }
  if (profile.gpu) json["gpu"] = gpu_json(*profile.gpu);
  json["steps"] = OrderedJson::array();
  for (std::size_t i = 0; i < profile.steps.size(); ++i) {
    OrderedJson step = step_json(profile.steps[i]);
    if (profile.gpu && profile.gpu->present()) add_gpu_kernels(*profile.gpu, i, step);
    json["steps"].push_back(step);
  }
  return json;
}

OrderedJson amdahl_json(const ProfileStudy& study) {
  OrderedJson json = OrderedJson::array();
  for (const AmdahlPart& part : amdahl(*study.against, study.profile)) {
    json.push_back({{"kind", name(part.kind)},
                    {"calls_before", part.calls_before},
                    {"calls_after", part.calls_after},
                    {"bytes_before", part.bytes_before},
                    {"bytes_after", part.bytes_after},
                    {"ms_before", part.ms_before},
                    {"ms_after", part.ms_after},
                    {"share", part.share},
                    {"part", part.part}});
  }
  return json;
}

}  // namespace

std::string profile_text(const ProfileStudy& study) {
  const Profile& profile = study.profile;
  std::string text = fmt::format("# {} in {}, {}, batch {} x {} tokens, fusion {}\n", study.model, profile.precision,
                                 profile.mode == RunMode::infer ? "a forward pass" : "a training step with AdamW",
                                 study.extent.batch, study.extent.seq, study.fusion == Fusion::on ? "on" : "off");
  text += counts_text(profile.counts) + phases_text(profile);
  for (const StepTable& table : profile_tables)
    text += table_text(table.title, rows_by(profile.steps, table.name, study.facts), profile.steps_ms());
  text += gpu_text(profile);
  text += "\n" + peaks_text(study.facts);
  if (study.against) text += amdahl_text(study);
  return text;
}

OrderedJson profile_json(const ProfileStudy& study) {
  OrderedJson json = {{"model", study.model},
                      {"batch", study.extent.batch},
                      {"seq", study.extent.seq},
                      {"fusion", study.fusion == Fusion::on ? "on" : "off"},
                      {"clock_reading_ns", 1e9 * study.clock_cost_s},
                      {"profile", one_json(study.profile, study.facts)}};
  if (study.against) {
    json["against"] = one_json(*study.against, study.facts);
    json["amdahl"] = amdahl_json(study);
  }
  if (study.inference) json["inference"] = one_json(*study.inference, study.facts);
  json["paragraphs"] = profile_paragraphs(study);
  return json;
}

}  // namespace assay
