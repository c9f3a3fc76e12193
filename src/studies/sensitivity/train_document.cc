#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "studies/probe/run.h"
#include "studies/sensitivity/train.h"

namespace assay {
namespace {

constexpr auto train_label = Table::Role::label;

/// A layer in a precision, as a line of a table.
struct TrainLine {
  const TrainSensitivity* study = nullptr;
  const TrainedLayer* layer = nullptr;
  const TrainedRow* row = nullptr;

  /// The worst that becomes of the layer's numbers.
  double worst() const {
    double share = std::max({row->lost, row->gradients.under, row->gradients.over});
    if (row->output) share = std::max({share, row->output->under, row->output->over});
    return share;
  }
};
using TrainLines = std::vector<TrainLine>;
using TrainColumns = std::vector<ColumnOf<TrainLine>>;
using ShareOfLine = std::function<std::optional<double>(const TrainLine&)>;

TrainLines train_lines(const TrainSensitivity& study, std::size_t precision) {
  TrainLines lines;
  lines.reserve(study.layers.size());
  for (const TrainedLayer& layer : study.layers) lines.push_back({&study, &layer, &layer.rows[precision]});
  return lines;
}

TrainLines every_line(const std::vector<TrainSensitivity>& studies) {
  TrainLines all;
  for (const TrainSensitivity& study : studies) {
    for (std::size_t precision = 0; precision < study.precisions.size(); ++precision) {
      const TrainLines lines = train_lines(study, precision);
      all.insert(all.end(), lines.begin(), lines.end());
    }
  }
  return all;
}

/// Of each precision those that lose most, the worst first; none that loses nothing.
TrainLines worst_lines(const TrainSensitivity& study) {
  constexpr std::size_t most = 6;
  TrainLines all;
  for (std::size_t precision = 0; precision < study.precisions.size(); ++precision) {
    TrainLines lines = train_lines(study, precision);
    std::ranges::stable_sort(lines, std::greater<>(), &TrainLine::worst);
    std::erase_if(lines, [](const TrainLine& line) { return line.worst() == 0; });
    if (lines.size() > most) lines.resize(most);
    all.insert(all.end(), lines.begin(), lines.end());
  }
  return all;
}

struct ShareColumn {
  const char* key;
  const char* title;
  const char* meaning;
  ShareOfLine share;
};

const std::vector<ShareColumn>& share_columns() {
  static const std::vector<ShareColumn> columns = {
      {"lost", "updates lost", "updates that are not zero and leave the stored weight as it is",
       [](const TrainLine& line) { return std::optional(line.row->lost); }},
      {"gradient_under", "gradients to 0", "gradients of parameters that are not zero in f32 and round to zero",
       [](const TrainLine& line) { return std::optional(line.row->gradients.under); }},
      {"gradient_over", "beyond", "gradients of parameters that round to what is not finite",
       [](const TrainLine& line) { return std::optional(line.row->gradients.over); }},
      {"output_under", "of output to 0", "gradients of the layer's output that round to zero",
       [](const TrainLine& line) { return line.row->output ? std::optional(line.row->output->under) : std::nullopt; }},
      {"output_over", "beyond", "gradients of the layer's output that round to what is not finite",
       [](const TrainLine& line) { return line.row->output ? std::optional(line.row->output->over) : std::nullopt; }},
      {"gradient_subnormal", "subnormal", "gradients of parameters that become subnormal numbers",
       [](const TrainLine& line) { return std::optional(line.row->gradients.subnormal); }},
      {"output_subnormal", "of output subnormal", "gradients of the layer's output that become subnormal numbers",
       [](const TrainLine& line) {
         return line.row->output ? std::optional(line.row->output->subnormal) : std::nullopt;
       }}};
  return columns;
}

void add_lost_shares(TrainColumns& columns, Detail of_subnormal) {
  for (const ShareColumn& one : share_columns()) {
    const bool is_brief = !std::string_view(one.key).ends_with("subnormal");
    columns.push_back({{.key = one.key,
                        .title = one.title,
                        .meaning = one.meaning,
                        .notation = Notation::percent,
                        .digits = 2,
                        .detail = is_brief ? Detail::brief : of_subnormal},
                       [share = one.share](const TrainLine& line) { return or_absent(share(line)); }});
  }
}

void add_layer_columns(TrainColumns& columns) {
  columns.push_back({{.key = "precision", .role = train_label},
                     [](const TrainLine& line) -> Table::Cell { return line.row->precision; }});
  columns.push_back(
      {{.key = "layer", .role = train_label}, [](const TrainLine& line) -> Table::Cell { return line.layer->path; }});
}

void add_formats(TrainColumns& columns) {
  columns.push_back({{.key = "weights", .title = "stored"},
                     [](const TrainLine& line) -> Table::Cell { return name(line.row->formats.weights); }});
  columns.push_back(
      {{.key = "gradients"}, [](const TrainLine& line) -> Table::Cell { return name(line.row->formats.gradients); }});
  columns.push_back({{.key = "output", .title = "of output"}, [](const TrainLine& line) -> Table::Cell {
                       if (!line.row->formats.output) return Absent{};
                       return name(*line.row->formats.output);
                     }});
  columns.push_back(
      {{.key = "loss_scale"}, [](const TrainLine& line) -> Table::Cell { return line.row->formats.loss_scale; }});
}

void add_sizes(TrainColumns& columns) {
  const auto add = [&](const char* key, const char* meaning,
                       std::function<std::optional<double>(const TrainedLayer&)> of) {
    columns.push_back({{.key = key, .meaning = meaning, .notation = Notation::general, .digits = 3},
                       [of = std::move(of)](const TrainLine& line) { return or_absent(of(*line.layer)); }});
  };
  columns.push_back({{.key = "parameters", .notation = Notation::count},
                     [](const TrainLine& line) -> Table::Cell { return line.layer->parameters; }});
  add("weight_rms", "root mean square of the weights",
      [](const TrainedLayer& l) { return std::optional(l.weight_rms); });
  add("update_rms", "of what the step adds to them", [](const TrainedLayer& l) { return std::optional(l.update_rms); });
  add("gradient_rms", "of their gradients", [](const TrainedLayer& l) { return std::optional(l.gradient_rms); });
  add("output_gradient_rms", "of the gradient of the layer's output",
      [](const TrainedLayer& l) { return l.output_gradient_rms; });
}

/// Over all layers, by their parameters; of outputs the mean over layers.
std::optional<double> mean_share(const TrainLines& lines, const ShareColumn& column) {
  const bool of_output = std::string_view(column.key).starts_with("output");
  double sum = 0;
  double weight = 0;
  for (const TrainLine& line : lines) {
    const std::optional<double> share = column.share(line);
    if (!share) continue;
    const double own = of_output ? 1 : static_cast<double>(line.layer->parameters);
    sum += *share * own;
    weight += own;
  }
  return weight == 0 ? std::nullopt : std::optional(sum / weight);
}

struct PrecisionLine {
  std::string precision;
  TrainLines lines;
};

Table precision_shares(const TrainSensitivity& study, std::size_t index) {
  std::vector<PrecisionLine> rows;
  rows.reserve(study.precisions.size());
  for (std::size_t i = 0; i < study.precisions.size(); ++i)
    rows.push_back({study.precisions[i], train_lines(study, i)});
  std::vector<ColumnOf<PrecisionLine>> columns = {
      {{.key = "precision", .role = train_label},
       [](const PrecisionLine& row) -> Table::Cell { return row.precision; }}};
  for (const ShareColumn& one : share_columns()) {
    columns.push_back(
        {{.key = one.key, .title = one.title, .meaning = one.meaning, .notation = Notation::percent, .digits = 2},
         [one](const PrecisionLine& row) { return or_absent(mean_share(row.lines, one)); }});
  }
  return filled(
      {.key = fmt::format("precisions_{}", index),
       .caption = fmt::format("{}: step {} on {}, {} tokens, AdamW at rate {:g}, loss {:.3f}", study.model, study.step,
                              study.data, study.tokens, study.learning_rate, study.loss),
       .legend = "shares of numbers that are not zero in fp32; of updates and gradients of all parameters, of "
                 "outputs a mean over layers"},
      columns, rows);
}

Table worst_table(const TrainSensitivity& study, std::size_t index) {
  TrainColumns columns;
  add_layer_columns(columns);
  add_lost_shares(columns, Detail::data);
  return filled({.key = fmt::format("worst_{}", index),
                 .caption = fmt::format("{}: the layers that lose most in each precision", study.model)},
                columns, worst_lines(study));
}

Table layers_table(const std::vector<TrainSensitivity>& studies) {
  TrainColumns columns = {
      {{.key = "model", .role = train_label}, [](const TrainLine& line) -> Table::Cell { return line.study->model; }}};
  add_layer_columns(columns);
  add_lost_shares(columns, Detail::brief);
  add_formats(columns);
  add_sizes(columns);
  return filled({.key = "layers", .caption = "Every layer", .detail = Detail::details}, columns, every_line(studies));
}

/// The layer in which that share is largest.
const TrainLine& largest_of(const TrainLines& lines, const ShareColumn& column) {
  return *std::ranges::max_element(lines, {}, [&](const TrainLine& line) { return column.share(line).value_or(0); });
}

/// Worth saying from a thousandth on; what is not finite always is.
std::optional<std::string> loss_words_of(const TrainLines& lines, const ShareColumn& column, const char* what) {
  constexpr double least = 1e-3;
  const double all = mean_share(lines, column).value_or(0);
  const TrainLine& worst = largest_of(lines, column);
  const double there = column.share(worst).value_or(0);
  const bool is_infinite = std::string_view(column.key).ends_with("over");
  if (there < (is_infinite ? 1e-12 : least)) return std::nullopt;
  return fmt::format("{:.2g} % of {}, most in {} ({:.2g} %)", 100 * all, what, worst.layer->path, 100 * there);
}

}  // namespace

std::vector<std::string> sentences_of(const TrainSensitivity& study) {
  if (study.is_partial) return {fmt::format("{}: ended before step {}.", study.model, study.step)};
  constexpr const char* what[] = {"its updates are lost in rounding", "gradients of parameters round to zero",
                                  "gradients of parameters overflow", "gradients of layers' outputs round to zero",
                                  "gradients of layers' outputs overflow"};
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < study.precisions.size(); ++i) {
    const TrainLines lines = train_lines(study, i);
    if (lines.empty()) continue;
    std::vector<std::string> parts;
    for (std::size_t column = 0; column < std::size(what); ++column) {
      if (auto words = loss_words_of(lines, share_columns()[column], what[column])) parts.push_back(std::move(*words));
    }
    const std::string start = fmt::format("{} in {}: ", study.model, study.precisions[i]);
    if (parts.empty())
      sentences.push_back(start + "no layer loses a thousandth of its updates or gradients.");
    else
      sentences.push_back(fmt::format("{}{}.", start, fmt::join(parts, "; ")));
  }
  return sentences;
}

Document to_document(const std::vector<TrainSensitivity>& studies, const MachineFacts& facts) {
  Document document{.subject = {.schema = "assay-sensitivity-train-1", .title = "What a training step loses"},
                    .machine = machine_json(facts)};
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < studies.size(); ++i) {
    if (!studies[i].is_partial) {
      document.tables.push_back(precision_shares(studies[i], i));
      document.tables.push_back(worst_table(studies[i], i));
    }
    for (std::string& text : sentences_of(studies[i])) texts.push_back(std::move(text));
  }
  document.tables.push_back(layers_table(studies));
  document.sentences.push_back({.texts = std::move(texts)});
  return document;
}

}  // namespace assay
