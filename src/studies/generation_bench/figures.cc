#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "results/figure.h"
#include "results/identity.h"
#include "results/model_name.h"
#include "results/parts.h"
#include "results/record.h"
#include "results/states.h"
#include "studies/generation_bench/document.h"

namespace assay {
namespace {

using Measured = std::vector<const Record*>;

/// The rest of a cell: what differs between lines and boxes of one model, precision, batch and depth.
std::string tokens_words(const Setting& setting) {
  return fmt::format("prompt {}, {} new", setting.prompt_tokens.value_or(0), setting.new_tokens.value_or(0));
}

/// A line for each model, phase, precision and the other shape; what lies on x is told by `x`.
Figure rate_figure(const Measured& rows, const char* key, const char* over, double (*x)(const Setting& setting),
                   std::string (*rest)(const Setting& setting)) {
  Figure figure{.kind = FigureKind::lines,
                .key = key,
                .caption = fmt::format("Tokens a second over {}", over),
                .legend = "of all rows together",
                .x = {.title = over},
                .y = {.title = "tokens", .unit = "1/s", .scale = Figure::Scale::logarithmic}};
  for (const Record* row : rows) {
    const Setting& setting = row->setting;
    if (!row->rates.tokens_per_s) continue;
    const std::string line = fmt::format("{} {}, {}, {}, {}", shown_model_name(setting.model), name(setting.mode),
                                         row_name(setting), rest(setting), tokens_words(setting));
    auto series = std::find_if(figure.series.begin(), figure.series.end(),
                               [&](const Figure::Series& known) { return known.name == line; });
    if (series == figure.series.end()) series = figure.series.insert(series, {.name = line});
    series->points.push_back({.x = x(setting), .y = *row->rates.tokens_per_s});
  }
  for (Figure::Series& series : figure.series)
    std::stable_sort(series.points.begin(), series.points.end(),
                     [](const Figure::Point& a, const Figure::Point& b) { return a.x < b.x; });
  return figure;
}

Figure token_figure(const Measured& rows) {
  Figure figure{.kind = FigureKind::boxes,
                .key = "token_times",
                .caption = "Time a token, one by one",
                .legend = "median, quartiles and extremes of all tokens behind the first ones of a round",
                .y = {.title = "time", .unit = "ms", .scale = Figure::Scale::logarithmic}};
  for (const Record* row : rows) {
    const GenerationCosts& generation = *row->generation;
    const std::int64_t a_round = row->setting.new_tokens.value_or(0);
    if (generation.raw_token_ms.empty() || a_round < 1) continue;
    const auto category = static_cast<double>(figure.x.categories.size());
    figure.x.categories.push_back(fmt::format("{} {}, batch {}, depth {}, {}", shown_model_name(row->setting.model),
                                              row_name(row->setting), row->setting.batch,
                                              row->setting.depth.value_or(0), tokens_words(row->setting)));
    Figure::Series& series = figure.series.emplace_back(Figure::Series{.name = figure.x.categories.back()});
    for (std::size_t i = 0; i < generation.raw_token_ms.size(); ++i) {
      if (static_cast<std::int64_t>(i) % a_round >= generation.first_tokens.value_or(0))
        series.points.push_back({.x = category, .y = generation.raw_token_ms[i]});
    }
  }
  return figure;
}

bool varies(const Measured& rows, double (*value)(const Setting& setting)) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const Record* row) { return value(row->setting) != value(rows.front()->setting); });
}

double depth_on_axis(const Setting& setting) {
  return static_cast<double>(setting.depth.value_or(0));
}
double batch_on_axis(const Setting& setting) {
  return static_cast<double>(setting.batch);
}

/// What a phase can reach at most: at few operations a byte what memory gives, else the best product of its operands.
struct PhaseRoof {
  double gflops = 0;
  double bytes_per_s = 0;

  double at(double intensity) const { return std::min(gflops, intensity * bytes_per_s * 1e-9); }
  double ridge() const { return gflops * 1e9 / bytes_per_s; }
};

PhaseRoof roof_of(const Record& record) {
  return {record.evidence.matmul_peak_gflops.value_or(0), record.evidence.bandwidth_bytes_per_s.value_or(0)};
}

/// Operations for each byte that has to be read.
double intensity_of(const Record& record) {
  const double bytes = bytes_a_run(record).value_or(0);
  return bytes > 0 ? record.evidence.flops.value_or(0) / bytes : 0;
}

Figure::Series roof_line(const std::string& name, const PhaseRoof& roof, double low, double high) {
  low = std::min(low, roof.ridge()) / 2;
  high = std::max(high, roof.ridge()) * 2;
  return {
      .name = name,
      .points = {{.x = low, .y = roof.at(low)}, {.x = roof.ridge(), .y = roof.gflops}, {.x = high, .y = roof.gflops}}};
}

Figure::Point roofline_point(const Record& record) {
  const Setting& setting = record.setting;
  return {.x = intensity_of(record),
          .y = *record.rates.gflops,
          .label = row_name(setting),
          .words = fmt::format("{} {}, {}, batch {}, depth {}: {} FLOP/B, {} GFLOP/s", shown_model_name(setting.model),
                               name(setting.mode), row_name(setting), setting.batch, setting.depth.value_or(0),
                               format_significant(intensity_of(record)), format_significant(*record.rates.gflops))};
}

/// Both phases under the roofs of their operands.
Figure roofline_of_phases(const Measured& rows) {
  Figure figure{.kind = FigureKind::scatter,
                .key = "roofline",
                .caption = "Roofline of both phases",
                .legend =
                    "intensity: operations of matrix products for each byte of weights, keys and values that is "
                    "read; the slope is the measured read bandwidth, each level the best matmul of an operand",
                .x = {.title = "arithmetic intensity", .unit = "FLOP/B", .scale = Figure::Scale::logarithmic},
                .y = {.title = "GFLOP/s", .scale = Figure::Scale::logarithmic},
                .series = {{.name = name(Mode::prefill)}, {.name = name(Mode::decode)}}};
  std::map<std::string, PhaseRoof> roofs;
  double low = 1;
  double high = 1;
  for (const Record* row : rows) {
    const PhaseRoof roof = roof_of(*row);
    if (!row->rates.gflops || intensity_of(*row) <= 0 || roof.gflops <= 0 || roof.bytes_per_s <= 0) continue;
    figure.series[row->setting.mode == Mode::prefill ? 0 : 1].points.push_back(roofline_point(*row));
    roofs[row->evidence.peak_kind.value_or("best matmul")] = roof;
    low = std::min(low, intensity_of(*row));
    high = std::max(high, intensity_of(*row));
  }
  for (const auto& [kind, roof] : roofs) figure.references.push_back(roof_line(kind, roof, low, high));
  return figure;
}

}  // namespace

std::vector<Figure> generation_figures(const std::vector<const Record*>& measured) {
  std::vector<Figure> figures;
  if (varies(measured, depth_on_axis))
    figures.push_back(rate_figure(measured, "rate_over_depth", "depth", depth_on_axis,
                                  [](const Setting& setting) { return fmt::format("batch {}", setting.batch); }));
  if (varies(measured, batch_on_axis))
    figures.push_back(rate_figure(measured, "rate_over_batch", "batch", batch_on_axis, [](const Setting& setting) {
      return fmt::format("depth {}", setting.depth.value_or(0));
    }));
  figures.push_back(token_figure(measured));
  if (Figure roofline = roofline_of_phases(measured); !roofline.references.empty())
    figures.push_back(std::move(roofline));
  return figures;
}

}  // namespace assay
