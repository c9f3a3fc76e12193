#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "studies/probe/run.h"
#include "studies/profile/tables.h"

namespace assay {
namespace {

using GridColumns = std::vector<ColumnOf<ProfileStudy>>;
using FigureOfStudy = std::function<Table::Cell(const ProfileStudy&)>;

bool is_measured(const ProfileStudy& study) {
  return study.lacking.empty();
}

/// Of the time of all steps.
double share_of(const Profile& profile, const std::function<bool(const ProfiledStep&)>& counts) {
  double part = 0;
  for (const ProfiledStep& step : profile.steps) part += counts(step) ? step.ms : 0;
  return profile.steps_ms() > 0 ? part / profile.steps_ms() : 0;
}

double share_of(const ProfileStudy& study, ProductShare products) {
  return share_of(study.profile, [products](const ProfiledStep& step) { return step.products == products; });
}

double share_of_attention(const ProfileStudy& study) {
  return share_of(study.profile, [](const ProfiledStep& step) { return step.kind == OperationKind::attention; });
}

void add_figure(GridColumns& columns, Table::Column column, FigureOfStudy figure) {
  columns.push_back({std::move(column), [figure = std::move(figure)](const ProfileStudy& study) -> Table::Cell {
                       return is_measured(study) ? figure(study) : Table::Cell(Absent{study.lacking});
                     }});
}

void add_labels(GridColumns& columns, bool has_steps) {
  constexpr auto label = Table::Role::label;
  columns.push_back({{.key = "model", .role = label}, [](const ProfileStudy& s) -> Table::Cell { return s.model; }});
  columns.push_back({{.key = "parameters", .notation = Notation::count, .role = label, .detail = Detail::data},
                     [](const ProfileStudy& s) -> Table::Cell { return s.parameters; }});
  columns.push_back({{.key = "batch", .title = "B", .role = label},
                     [](const ProfileStudy& s) -> Table::Cell { return s.extent.batch; }});
  columns.push_back(
      {{.key = "seq", .title = "T", .role = label}, [](const ProfileStudy& s) -> Table::Cell { return s.extent.seq; }});
  if (!has_steps) return;
  columns.push_back({{.key = "recompute", .role = label},
                     [](const ProfileStudy& s) -> Table::Cell { return name(s.step.recompute); }});
  columns.push_back(
      {{.key = "step", .role = label}, [](const ProfileStudy& s) -> Table::Cell { return words(s.step); }});
}

void add_times(GridColumns& columns, bool trains) {
  for (const Phase phase : {Phase::forward, Phase::backward, Phase::optimizer}) {
    const bool is_shown = trains || phase == Phase::forward;
    add_figure(columns,
               {.key = std::string(name(phase)) + "_ms",
                .title = name(phase),
                .unit = "ms",
                .meaning = "untraced",
                .detail = is_shown ? Detail::brief : Detail::data},
               [phase](const ProfileStudy& s) -> Table::Cell {
                 return s.profile.untraced_ms[static_cast<std::size_t>(phase)];
               });
  }
  add_figure(columns,
             {.key = "total_ms", .title = "all", .unit = "ms", .detail = trains ? Detail::brief : Detail::data},
             [](const ProfileStudy& s) -> Table::Cell { return s.profile.total_untraced_ms(); });
}

void add_shares(GridColumns& columns, bool has_against) {
  const auto share = [&](const char* key, const char* title, double (*of)(const ProfileStudy&)) {
    add_figure(columns, {.key = key, .title = title, .notation = Notation::percent, .digits = 1},
               [of](const ProfileStudy& s) -> Table::Cell { return of(s); });
  };
  share("share_of_products", "products", [](const ProfileStudy& s) { return share_of(s, ProductShare::all); });
  share("share_of_attention", "attention", share_of_attention);
  share("share_of_optimizer", "optimizer", [](const ProfileStudy& s) {
    return share_of(s.profile, [](const ProfiledStep& step) { return step.phase == Phase::optimizer; });
  });
  if (!has_against) return;
  add_figure(columns, {.key = "speedup", .title = "speed-up"}, [](const ProfileStudy& s) -> Table::Cell {
    return s.against->total_untraced_ms() / s.profile.total_untraced_ms();
  });
}

Table cells_table(const std::vector<ProfileStudy>& studies) {
  const bool all_measured = std::all_of(studies.begin(), studies.end(), is_measured);
  const ProfileStudy* first = &studies.front();
  for (const ProfileStudy& study : studies) {
    if (is_measured(study)) first = &study;
  }
  GridColumns columns;
  const bool has_steps = std::any_of(studies.begin(), studies.end(),
                                     [](const ProfileStudy& study) { return study.step != StepVariant{}; });
  add_labels(columns, has_steps);
  add_times(columns, first->profile.mode == RunMode::train);
  add_shares(columns, first->against.has_value());
  add_figure(columns,
             {.key = "profile_memory", .title = "memory", .meaning = "peak, predicted", .notation = Notation::bytes},
             [](const ProfileStudy& s) -> Table::Cell { return s.profile.peak_bytes; });
  add_figure(columns, {.key = "trust", .role = Table::Role::grade},
             [](const ProfileStudy& s) { return named_or_absent(s.profile.grade.trust); });
  columns.push_back({{.key = "status", .detail = all_measured ? Detail::data : Detail::brief},
                     [](const ProfileStudy& s) -> Table::Cell { return name(s.status); }});
  columns.push_back(
      {{.key = "lacking", .detail = Detail::data}, [](const ProfileStudy& s) { return text_or_absent(s.lacking); }});
  return filled({.key = "cells",
                 .legend = "Products: matrix products, attention's own where it runs in parts; attention: all of its "
                           "operations. Shares are of the traced steps."},
                columns, studies);
}

/// "from 128 to 512 tokens, 342 to 1400 ms, as tokens^1.02; products 85.3 % to 80.1 %, attention 10.1 % to 14.0 %"
std::string change_words(const ProfileStudy& less, const ProfileStudy& more, double size_ratio, const char* size) {
  const double ratio = more.profile.total_untraced_ms() / less.profile.total_untraced_ms();
  return fmt::format(
      "{} to {} ms, as {}^{:.2f}; products {:.1f} % to {:.1f} % of the time, attention {:.1f} % to {:.1f} %",
      format_significant(less.profile.total_untraced_ms()), format_significant(more.profile.total_untraced_ms()), size,
      std::log(ratio) / std::log(size_ratio), 100 * share_of(less, ProductShare::all),
      100 * share_of(more, ProductShare::all), 100 * share_of_attention(less), 100 * share_of_attention(more));
}

/// The measured ones that are like it: in their order.
std::vector<const ProfileStudy*> line_of(const std::vector<ProfileStudy>& studies,
                                         const std::function<bool(const ProfileStudy&)>& is_alike) {
  std::vector<const ProfileStudy*> line;
  for (const ProfileStudy& study : studies) {
    if (is_measured(study) && is_alike(study)) line.push_back(&study);
  }
  return line;
}

/// How time and its parts change over lengths of one model, and over models at one length.
std::vector<std::string> sentences_on_sizes(const std::vector<ProfileStudy>& studies) {
  std::vector<std::string> texts;
  for (const ProfileStudy& study : studies) {
    const auto lengths = line_of(
        studies, [&](const ProfileStudy& other) { return other.model == study.model && other.step == study.step; });
    if (!lengths.empty() && lengths.front() == &study && lengths.back()->extent.seq > study.extent.seq) {
      const auto& more = *lengths.back();
      const double ratio = static_cast<double>(more.extent.seq) / static_cast<double>(study.extent.seq);
      texts.push_back(fmt::format("{} from {} to {} tokens: {}.", study.model, study.extent.seq, more.extent.seq,
                                  change_words(study, more, ratio, "tokens")));
    }
    const auto models = line_of(studies, [&](const ProfileStudy& other) {
      return other.extent.seq == study.extent.seq && other.step == study.step;
    });
    if (!models.empty() && models.front() == &study && models.back()->parameters > study.parameters) {
      const auto& more = *models.back();
      const double ratio = static_cast<double>(more.parameters) / static_cast<double>(study.parameters);
      texts.push_back(fmt::format("{} tokens, from {} to {}, {}x the parameters: {}.", study.extent.seq, study.model,
                                  more.model, format_significant(ratio),
                                  change_words(study, more, ratio, "parameters")));
    }
  }
  return texts;
}

std::string grid_title(const std::vector<ProfileStudy>& studies) {
  const ProfileStudy& first = studies.front();
  std::string models;
  for (const ProfileStudy& study : studies) {
    if (models.find(study.model) == std::string::npos) models += (models.empty() ? "" : ", ") + study.model;
  }
  return fmt::format("profiles of {}, batch {}, fusion {}", models, first.extent.batch,
                     first.fusion == Fusion::on ? "on" : "off");
}

/// What each would show alone, a detail here.
void add_grid_cells(const std::vector<ProfileStudy>& studies, Document& document) {
  for (std::size_t i = 0; i < studies.size(); ++i) {
    const ProfileStudy& study = studies[i];
    if (!is_measured(study)) continue;
    const std::string prefix = fmt::format("cells.{}.", i);
    const std::string title = fmt::format("{}, {} x {}", study.model, study.extent.batch, study.extent.seq);
    for (Table& table : profile_tables(study, prefix)) {
      if (!table.caption.empty()) table.caption = title + ": " + table.caption;
      if (table.detail == Detail::brief) table.detail = Detail::details;
      document.tables.push_back(std::move(table));
    }
    document.sentences.push_back(
        {.key = prefix + "paragraphs", .texts = profile_sentences(study), .title = title, .detail = Detail::details});
    document.figures.push_back(flame_of(study, fmt::format("flame_{}", i)));
  }
}

}  // namespace

Document to_document(const std::vector<ProfileStudy>& studies) {
  if (studies.size() == 1 && is_measured(studies.front())) return to_document(studies.front());
  Document document{.subject = {.schema = "assay-profile-1", .title = grid_title(studies)},
                    .machine = machine_json(studies.front().facts),
                    .tables = {cells_table(studies)},
                    .sentences = {{.key = "growth", .texts = sentences_on_sizes(studies), .title = "Over sizes"}},
                    .methods = profile_methods(studies.front())};
  add_grid_cells(studies, document);
  return document;
}

}  // namespace assay
