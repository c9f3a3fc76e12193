#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/draw/plot.h"
#include "report/records/figures.h"
#include "report/records/operated.h"

namespace assay {
namespace {

/// Operations that do the same work.
struct Work {
  const LedgerRow* row = nullptr;
  int count = 0;
  double ms = 0;     ///< Sum; 0 where one of them was not timed.
  double bytes = 0;  ///< Of one.
  double intensity = 0;
};

struct Roof {
  double gflops = 0;
  double bytes_per_s = 0;
  double bound(double intensity) const { return std::min(gflops, intensity * bytes_per_s / 1e9); }
  double ridge() const { return gflops * 1e9 / bytes_per_s; }
};

bool is_alike(const Work& a, const Operated& b) {
  return a.row->operation == b.row->operation && a.row->flops == b.row->flops && a.bytes == b.bytes &&
         a.row->kernel == b.row->kernel;
}

/// The largest consumers of time first.
std::vector<Work> works_of(const Record& record) {
  std::vector<Work> works;
  for (const Operated& one : operations_of(record)) {
    if (one.row->flops <= 0 || one.bytes <= 0) continue;
    auto known = std::find_if(works.begin(), works.end(), [&](const Work& work) { return is_alike(work, one); });
    if (known == works.end()) known = works.insert(works.end(), {one.row, 0, 0, one.bytes, one.row->flops / one.bytes});
    ++known->count;
    known->ms += one.ms;
  }
  std::stable_sort(works.begin(), works.end(), [](const Work& a, const Work& b) { return a.ms > b.ms; });
  return works;
}

Figure::Point point_of(const Work& work, const Roof& roof, bool timed) {
  const double gflops = timed ? work.row->flops * work.count / work.ms / 1e6 : roof.bound(work.intensity);
  const std::string label =
      fmt::format("{}{}", work.count > 1 ? fmt::format("{} x ", work.count) : "", work.row->operation);
  const std::string together = timed ? fmt::format(", {} ms together", plain_number(work.ms)) : "";
  return {.x = work.intensity,
          .y = gflops,
          .label = label,
          .words = fmt::format("{} ({}): {} FLOP/B, {} GFLOP/s{}", label, work.row->role, plain_number(work.intensity),
                               plain_number(gflops), together)};
}

/// The ridge is always in sight, with the roof on both sides of the operations.
Figure::Series line_of(const Roof& roof, const std::vector<Work>& works, const std::string& peak_kind) {
  double low = roof.ridge();
  double high = low;
  for (const Work& work : works) {
    low = std::min(low, work.intensity);
    high = std::max(high, work.intensity);
  }
  return {.name = fmt::format("roof: {:.1f} GB/s measured from memory, {:.0f} GFLOP/s: {}", roof.bytes_per_s / 1e9,
                              roof.gflops, peak_kind),
          .points = {{.x = low / 2, .y = roof.bound(low / 2)},
                     {.x = roof.ridge(), .y = roof.gflops},
                     {.x = high * 2, .y = roof.gflops}}};
}

std::string cell_words(const Setting& setting) {
  const std::string shape = fmt::format("{} x {}", setting.batch, setting.seq);
  if (!is_of_generation(setting.mode)) return shape;
  return fmt::format("{}, {}, depth {}, prompt {}, {} new", shape, name(setting.mode), setting.depth.value_or(0),
                     setting.prompt_tokens.value_or(0), setting.new_tokens.value_or(0));
}

std::string why_no_roofline(const std::vector<Work>& works, const Roof& roof) {
  if (roof.gflops <= 0 || roof.bytes_per_s <= 0) return "this machine's peak and bandwidth were not measured";
  return works.empty() ? "the ledger holds no FLOPs and bytes of single operations" : "";
}

}  // namespace

Figure roofline_figure(const Record& record) {
  const std::vector<Work> works = works_of(record);
  const Roof roof = {record.evidence.matmul_peak_gflops.value_or(record.evidence.peak_gflops.value_or(0)),
                     record.evidence.bandwidth_bytes_per_s.value_or(0)};
  Figure figure{.kind = FigureKind::scatter,
                .key = "roofline",
                .caption = fmt::format("Roofline: {}, {}", record.setting.precision, cell_words(record.setting)),
                .reason = why_no_roofline(works, roof),
                .x = {.title = "arithmetic intensity", .unit = "FLOP/B", .scale = Figure::Scale::logarithmic},
                .y = {.title = "GFLOP/s", .scale = Figure::Scale::logarithmic}};
  if (!figure.reason.empty()) return figure;
  const bool timed = std::all_of(works.begin(), works.end(), [](const Work& work) { return work.ms > 0; });
  figure.legend = timed ? "marks: operations, each timed in a traced run; the largest consumers of time are named"
                        : "marks: operations by their arithmetic intensity, placed at their bound: they were not timed "
                          "one by one";
  figure.series = {{.name = "matrix products"}, {.name = "other operations"}};
  constexpr std::size_t most_names = 8;
  for (std::size_t i = 0; i < works.size(); ++i) {
    Figure::Point point = point_of(works[i], roof, timed);
    if (i >= most_names) point.label.clear();
    figure.series[multiplies(*works[i].row) ? 0 : 1].points.push_back(std::move(point));
  }
  figure.references = {line_of(roof, works, record.evidence.peak_kind.value_or("peak"))};
  return figure;
}

}  // namespace assay
