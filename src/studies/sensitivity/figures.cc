#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "studies/sensitivity/words.h"

namespace assay {
namespace {

/// A KL below this is rounding; a logarithm needs some least value.
constexpr double least_kl = 1e-12;

std::size_t place_in(std::vector<std::string>& categories, const std::string& name) {
  const auto found = std::find(categories.begin(), categories.end(), name);
  if (found == categories.end()) categories.push_back(name);
  return static_cast<std::size_t>(std::find(categories.begin(), categories.end(), name) - categories.begin());
}

/// "attn.q" of "layers.0.attn.q_proj".
std::string name_within_block(const ModelUnit& unit) {
  if (!unit.block) return "itself";
  const std::string name = unit.name.substr(unit.name.find('.', unit.name.find('.') + 1) + 1);
  return name.ends_with("_proj") ? name.substr(0, name.size() - 5) : name;
}

std::string block_name(const ModelUnit& unit) {
  return unit.block ? fmt::format("layers.{}", *unit.block) : unit.name;
}

/// "layers.0 int8", "layers.0 bf16", ...: the precisions of a block below each other.
std::vector<std::string> heat_rows(const ModelSensitivity& study) {
  std::vector<std::string> rows;
  for (const UnitRow& row : study.rows_by_unit) {
    if (row.unit.kind != UnitKind::layer) continue;
    for (const std::string& precision : precisions_of(study))
      place_in(rows, fmt::format("{} {}", block_name(row.unit), precision));
  }
  return rows;
}

/// Blocks and layers outside of them from top to bottom, in each precision; their layers from left to right.
Figure heat_map_of(const ModelSensitivity& study, std::size_t number) {
  Figure figure{.kind = FigureKind::heat_map,
                .key = fmt::format("sensitivity_{}", number),
                .caption = fmt::format("{}: KL of each layer alone in a lower precision", study.model),
                .legend = "log10 of KL(fp32 || this) in nats: -3 is 0.001.",
                .reason = "no layer was reached"};
  figure.series.emplace_back();
  figure.y.categories = heat_rows(study);
  for (const UnitRow& row : study.rows_by_unit) {
    if (row.unit.kind != UnitKind::layer || !row.only || !row.only->failure.empty()) continue;
    const auto x = static_cast<double>(place_in(figure.x.categories, name_within_block(row.unit)));
    const std::string line = fmt::format("{} {}", block_name(row.unit), row.precision);
    const auto y = static_cast<double>(place_in(figure.y.categories, line));
    const double exponent = std::log10(std::max(row.only->kl.value, least_kl));
    figure.series[0].points.push_back(
        {.x = x,
         .y = y,
         .value = std::round(10 * exponent) / 10,
         .words = fmt::format("{} in {}: KL {:.2g} nats", row.unit.name, row.precision, row.only->kl.value)});
  }
  if (!figure.series[0].points.empty()) figure.reason.clear();
  return figure;
}

Figure::Point measured_point(double x, const UnitRow& row) {
  const Change& kl = row.only->kl;
  Figure::Point point{.x = x, .y = std::max(kl.value, least_kl)};
  if (kl.interval) {
    point.low = std::max(kl.interval->low, least_kl);
    point.high = std::max(kl.interval->high, least_kl);
  }
  return point;
}

using PointOf = std::function<std::optional<Figure::Point>(const UnitRow&)>;

/// Models and precisions side by side: a series each, of the units of one kind.
void add_series(const std::vector<ModelSensitivity>& studies, UnitKind kind, const PointOf& point_of, Figure& figure) {
  for (const ModelSensitivity& study : studies) {
    for (const std::string& precision : precisions_of(study)) {
      Figure::Series series{.name = fmt::format("{} {}", study.model, precision)};
      for (const UnitRow& row : study.rows_by_unit) {
        const bool shown = row.unit.kind == kind && row.precision == precision && row.only && row.only->failure.empty();
        if (!shown) continue;
        if (const auto point = point_of(row)) series.points.push_back(*point);
      }
      if (!series.points.empty()) figure.series.push_back(std::move(series));
    }
  }
  if (figure.series.empty()) figure.reason = "no such unit was reached";
}

Figure::Axis kl_axis() {
  return {.title = "KL(fp32 || this)", .unit = "nats", .scale = Figure::Scale::logarithmic};
}

Figure depth_figure(const std::vector<ModelSensitivity>& studies) {
  Figure figure{.kind = FigureKind::lines,
                .key = "by_depth",
                .caption = "One block in the lower precision, by its depth",
                .x = {.title = "depth, 0: first operation, 1: last"},
                .y = kl_axis()};
  add_series(studies, UnitKind::block, [](const UnitRow& row) { return measured_point(row.unit.depth, row); }, figure);
  return figure;
}

Figure roles_figure(const std::vector<ModelSensitivity>& studies) {
  Figure figure{.kind = FigureKind::dots,
                .key = "by_role",
                .caption = "One role in the lower precision",
                .x = {.title = "role"},
                .y = kl_axis()};
  std::vector<std::string> roles;
  add_series(
      studies, UnitKind::role,
      [&](const UnitRow& row) { return measured_point(static_cast<double>(place_in(roles, row.unit.name)), row); },
      figure);
  figure.x.categories = std::move(roles);
  return figure;
}

/// Shares of the whole run or model that each role has: fp32's time, stored bytes.
Figure shares_figure(const std::vector<ModelSensitivity>& studies) {
  struct Share {
    const char* words;
    double UnitCost::*part;
  };
  constexpr Share shares[] = {{"time", &UnitCost::fp32_ms}, {"bytes of weights", &UnitCost::fp32_bytes}};
  Figure figure{.kind = FigureKind::bars,
                .key = "shares_by_role",
                .caption = "What each role takes of a run and of the model, in fp32",
                .x = {.title = "role"},
                .y = {.title = "share", .unit = "%"}};
  for (const ModelSensitivity& study : studies) {
    const std::vector<std::string> precisions = precisions_of(study);
    const UnitRow* whole = precisions.empty() ? nullptr : study.find("everything", precisions.front());
    if (whole == nullptr || !whole->cost) continue;
    for (const Share& share : shares) {
      Figure::Series series{.name = fmt::format("{} {}", study.model, share.words)};
      for (const UnitRow& row : study.rows_by_unit) {
        if (row.unit.kind != UnitKind::role || row.precision != precisions.front() || !row.cost) continue;
        series.points.push_back({.x = static_cast<double>(place_in(figure.x.categories, row.unit.name)),
                                 .y = 100 * (*row.cost).*share.part / (*whole->cost).*share.part});
      }
      if (!series.points.empty()) figure.series.push_back(std::move(series));
    }
  }
  if (figure.series.empty()) figure.reason = "no role was timed";
  return figure;
}

Figure outliers_figure(const std::vector<ModelSensitivity>& studies) {
  Figure figure{.kind = FigureKind::scatter,
                .key = "outliers",
                .caption = "Outliers in what reaches each linear layer, by its depth",
                .legend = "Kurtosis of its input in fp32; 3 for normal numbers.",
                .reason = "no layer was reached",
                .x = {.title = "depth, 0: first operation, 1: last"},
                .y = {.title = "kurtosis", .scale = Figure::Scale::logarithmic}};
  for (const ModelSensitivity& study : studies) {
    const std::vector<std::string> precisions = precisions_of(study);
    Figure::Series series{.name = study.model};
    for (const UnitRow& row : study.rows_by_unit) {
      const bool is_shown = row.precision == precisions.front() && row.error && row.error->kurtosis > 0;
      if (is_shown)
        series.points.push_back({.x = row.unit.depth,
                                 .y = row.error->kurtosis,
                                 .words = fmt::format("{}: kurtosis {:.3g}, largest over rms {:.3g}", row.unit.name,
                                                      row.error->kurtosis, row.error->largest_over_rms)});
    }
    if (!series.points.empty()) figure.series.push_back(std::move(series));
  }
  if (!figure.series.empty()) figure.reason.clear();
  return figure;
}

Figure estimates_figure(const std::vector<ModelSensitivity>& studies) {
  Figure figure{.kind = FigureKind::scatter,
                .key = "estimates",
                .caption = "KL of each layer as the empirical Fisher estimates it, against what was measured",
                .x = {.title = "estimate", .unit = "nats", .scale = Figure::Scale::logarithmic},
                .y = kl_axis(),
                .detail = Detail::details};
  add_series(
      studies, UnitKind::layer,
      [](const UnitRow& row) -> std::optional<Figure::Point> {
        if (!row.estimate || row.estimate->fisher <= 0 || row.only->kl.value <= 0) return std::nullopt;
        return Figure::Point{.x = row.estimate->fisher, .y = row.only->kl.value, .words = row.unit.name};
      },
      figure);
  return figure;
}

}  // namespace

std::vector<Figure> figures_of(const std::vector<ModelSensitivity>& studies) {
  std::vector<Figure> figures;
  figures.reserve(studies.size() + 5);
  for (std::size_t i = 0; i < studies.size(); ++i) figures.push_back(heat_map_of(studies[i], i));
  figures.push_back(depth_figure(studies));
  figures.push_back(roles_figure(studies));
  figures.push_back(shares_figure(studies));
  figures.push_back(outliers_figure(studies));
  figures.push_back(estimates_figure(studies));
  return figures;
}

}  // namespace assay
