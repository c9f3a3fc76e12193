#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/units.h"
#include "results/model_name.h"
#include "studies/explain_perplexity/run.h"

namespace assay {
namespace {

/// Differences below this are rounding of the arithmetic, not of the protocol.
constexpr double rounding_nats = 1e-4;

std::string perplexity(double nll) {
  const double value = std::exp(nll);
  return value < 1e5 ? fmt::format("{:.2f}", value) : fmt::format("{:.3g}", value);
}

const char* padding_words(PaddingScored padding) {
  return padding == PaddingScored::yes ? "scored" : "left out";
}

AverageOptions honest_options(const PerplexityStudy& study) {
  return study.honest().options;
}

bool was_run(const PerplexityStudy& study, MaskUse mask) {
  return std::any_of(study.figures.begin(), study.figures.end(),
                     [&](const RowsFigure& figure) { return figure.mask == mask; });
}

/// Loss and perplexity of a figure, and its distance from the honest one.
std::string against_honest(const PerplexityStudy& study, const RowsFigure& figure) {
  return fmt::format("{:+.4f} nats, perplexity {} instead of {}", figure.average.nll - study.honest().average.nll,
                     perplexity(figure.average.nll), perplexity(study.honest().average.nll));
}

std::string honest_sentence(const PerplexityStudy& study) {
  const Average& a = study.honest().average;
  return fmt::format(
      "Honest: padding left out, mask passed, mean over tokens: loss {:.4f} nats, perplexity {} on {} scored ids of {} "
      "rows.",
      a.nll, perplexity(a.nll), format_count(a.scored), format_count(study.rows));
}

std::string padding_sentence(const PerplexityStudy& study) {
  AverageOptions options = honest_options(study);
  options.padding = PaddingScored::yes;
  const RowsFigure& figure = study.at(MaskUse::passed, options);
  const Average& a = figure.average;
  if (a.padding == 0) return "Padding scored: no difference, no row has padding.";
  const Average& honest = study.honest().average;
  const double padding_nll = (a.nll * static_cast<double>(a.scored) - honest.nll * static_cast<double>(honest.scored)) /
                             static_cast<double>(a.padding);
  return fmt::format(
      "Padding scored: {}. {:.0f} % of the scored ids are then padding, with a mean loss of {:.4f} nats.",
      against_honest(study, figure), 100.0 * static_cast<double>(a.padding) / static_cast<double>(a.scored),
      padding_nll);
}

std::string mask_sentence(const PerplexityStudy& study) {
  const RowsFigure& figure = study.at(MaskUse::withheld, honest_options(study));
  const std::string change = against_honest(study, figure);
  if (std::abs(figure.average.nll - study.honest().average.nll) > rounding_nats)
    return fmt::format("Mask withheld: {}.", change);
  return fmt::format("Mask withheld: {}: no difference{}.", change,
                     study.padding == 0   ? ", no row has padding"
                     : study.padded_right ? ", since a causal model never looks right, where all padding is"
                                          : "");
}

std::string masks_and_padding_sentence(const PerplexityStudy& study) {
  AverageOptions options = honest_options(study);
  options.padding = PaddingScored::yes;
  return fmt::format("Padding scored and mask withheld: {}.",
                     against_honest(study, study.at(MaskUse::withheld, options)));
}

std::string averaging_sentence(const PerplexityStudy& study, Averaging averaging, std::int64_t batch) {
  AverageOptions options = honest_options(study);
  options.averaging = averaging;
  options.batch = batch;
  const char* what = averaging == Averaging::batch_losses ? "Mean over batches" : "Mean of the perplexities of batches";
  return fmt::format("{} of {}: {}.", what, batch, against_honest(study, study.at(MaskUse::passed, options)));
}

std::string length_sentence(const PerplexityStudy& study, std::int64_t length) {
  AverageOptions options = honest_options(study);
  options.length = length;
  return fmt::format("Rows cut at {} ids: {}.", length, against_honest(study, study.at(MaskUse::passed, options)));
}

std::string window_sentence(const PerplexityStudy& study) {
  const WindowFigure& shortest = study.windows.front();
  const WindowFigure& longest = study.windows.back();
  return fmt::format(
      "Context: the same text without lines gives {} in windows of {} and {} in windows of {} ({:+.4f} nats; {:+.4f} "
      "against the honest rows).",
      perplexity(shortest.nll), format_count(shortest.window), perplexity(longest.nll), format_count(longest.window),
      longest.nll - shortest.nll, longest.nll - study.honest().average.nll);
}

/// How the highest figure of all comes about, one choice after another: the steps add up to the whole distance.
std::string highest_sentence(const PerplexityStudy& study) {
  const RowsFigure& highest =
      *std::max_element(study.figures.begin(), study.figures.end(),
                        [](const RowsFigure& a, const RowsFigure& b) { return a.average.nll < b.average.nll; });
  std::string steps;
  RowsFigure now = study.honest();
  const auto step = [&](const char* what, MaskUse mask, const AverageOptions& options) {
    const RowsFigure& next = study.at(mask, options);
    const double change = next.average.nll - now.average.nll;
    if (change != 0) steps += fmt::format("{}{} {:+.4f}", steps.empty() ? "" : ", ", what, change);
    now = next;
  };
  AverageOptions options = now.options;
  options.length = highest.options.length;
  step("length", MaskUse::passed, options);
  options.padding = highest.options.padding;
  step("padding", MaskUse::passed, options);
  step("mask", highest.mask, options);
  step("averaging", highest.mask, highest.options);
  return fmt::format("Highest of all: perplexity {} ({}, rows of {}, mask {}), {:+.4f} nats{}{}.",
                     perplexity(highest.average.nll), name(highest.options), highest.options.length, name(highest.mask),
                     highest.average.nll - study.honest().average.nll, steps.empty() ? "" : ": ", steps);
}

using PerplexityColumns = std::vector<ColumnOf<RowsFigure>>;

Table::Column perplexity_column(std::string key, std::string title, std::string meaning) {
  return {.key = std::move(key),
          .title = std::move(title),
          .meaning = std::move(meaning),
          .notation = Notation::fixed,
          .digits = 2};
}

/// The same rows averaged in another way.
void add_averaging(PerplexityColumns& columns, const PerplexityStudy& study, Averaging averaging, std::int64_t batch) {
  const bool is_of_losses = averaging == Averaging::batch_losses;
  const char* what = is_of_losses ? "loss" : "ppl";
  const std::string meaning = is_of_losses ? fmt::format("exp of the mean over batches of {} rows", batch)
                                           : fmt::format("mean of the perplexities of batches of {} rows", batch);
  columns.push_back({perplexity_column(fmt::format("{}_{}", what, batch), fmt::format("{}/{}", what, batch), meaning),
                     [&study, averaging, batch](const RowsFigure& figure) -> Table::Cell {
                       const AverageOptions way = {figure.options.padding, averaging, batch, figure.options.length};
                       return std::exp(study.at(figure.mask, way).average.nll);
                     }});
}

Table rows_table(const PerplexityStudy& study) {
  using Cell = Table::Cell;
  constexpr auto label = Table::Role::label;
  PerplexityColumns columns = {
      {{.key = "padding", .role = label}, [](const RowsFigure& f) -> Cell { return padding_words(f.options.padding); }},
      {{.key = "mask", .role = label}, [](const RowsFigure& f) -> Cell { return name(f.mask); }},
      {{.key = "length", .role = label}, [](const RowsFigure& f) -> Cell { return f.options.length; }},
      {{.key = "scored", .meaning = "ids", .notation = Notation::count},
       [](const RowsFigure& f) -> Cell { return f.average.scored; }},
      {perplexity_column("tokens", "tokens", "exp of the mean over tokens"),
       [](const RowsFigure& f) -> Cell { return std::exp(f.average.nll); }}};
  for (const Averaging averaging : {Averaging::batch_losses, Averaging::batch_perplexities}) {
    for (const std::int64_t batch : study.batches) add_averaging(columns, study, averaging, batch);
  }
  std::vector<RowsFigure> rows = study.figures;
  std::erase_if(rows, [](const RowsFigure& figure) { return figure.options.averaging != Averaging::tokens; });
  return filled(
      {.key = "perplexities",
       .caption = "Perplexity of the rows",
       .legend = "perplexity = exp(mean loss): over tokens; loss/N mean over batches of N rows; ppl/N mean of "
                 "the batches' perplexities"},
      columns, rows);
}

Table windows_table(const PerplexityStudy& study) {
  using Cell = Table::Cell;
  const std::vector<ColumnOf<WindowFigure>> columns = {
      {{.key = "window", .notation = Notation::count, .role = Table::Role::label},
       [](const WindowFigure& w) -> Cell { return w.window; }},
      {{.key = "scored", .notation = Notation::count}, [](const WindowFigure& w) -> Cell { return w.scored; }},
      {{.key = "loss", .unit = "nats", .notation = Notation::fixed, .digits = 4},
       [](const WindowFigure& w) -> Cell { return w.nll; }},
      {perplexity_column("perplexity", "", ""), [](const WindowFigure& w) -> Cell { return std::exp(w.nll); }}};
  return filled({.key = "windows", .caption = "The same text without lines, in windows"}, columns, study.windows);
}

Table perplexity_facts(const PerplexityStudy& study) {
  Table facts = Document{}.subject.facts;
  add_fact(facts, {.key = "data"}, study.data);
  add_fact(facts, {.key = "cut"}, study.cut);
  add_fact(facts, {.key = "rows", .notation = Notation::count}, study.rows);
  add_fact(facts, {.key = "length", .unit = "ids"}, study.seq);
  add_fact(facts, {.key = "padding", .notation = Notation::percent, .digits = 1},
           static_cast<double>(study.padding) / static_cast<double>(study.rows * study.seq));
  return facts;
}

}  // namespace

std::vector<std::string> perplexity_sentences(const PerplexityStudy& study) {
  std::vector<std::string> sentences = {honest_sentence(study), padding_sentence(study)};
  if (study.part)
    sentences.insert(sentences.begin(),
                     fmt::format("Interrupted: every figure is of a part of the data, {}.", to_text(*study.part)));
  if (was_run(study, MaskUse::withheld)) {
    sentences.push_back(mask_sentence(study));
    if (study.padding > 0) sentences.push_back(masks_and_padding_sentence(study));
  }
  for (const Averaging averaging : {Averaging::batch_losses, Averaging::batch_perplexities}) {
    for (const std::int64_t batch : study.batches) sentences.push_back(averaging_sentence(study, averaging, batch));
  }
  for (const std::int64_t length : study.lengths) {
    if (length != study.seq) sentences.push_back(length_sentence(study, length));
  }
  if (study.windows.size() > 1) sentences.push_back(window_sentence(study));
  sentences.push_back(highest_sentence(study));
  if (study.quality_status.state == QualityState::random_weights)
    sentences.push_back("The weights are random: these figures show the mechanism and no model's quality.");
  return sentences;
}

Document to_document(const PerplexityStudy& study) {
  Document document;
  const auto add = [&](std::string protocol, std::int64_t batch, std::int64_t seq, std::int64_t scored, double nll) {
    Record& record = document.records.emplace_back();
    record.setting = study.setting;
    record.setting.batch = batch;
    record.setting.seq = seq;
    record.quality = Quality{.quality_status = study.quality_status,
                             .quality_data = study.data,
                             .protocol = std::move(protocol),
                             .perplexity = std::exp(nll),
                             .log_perplexity = nll,
                             .scored = scored};
  };
  for (const RowsFigure& f : study.figures) {
    const std::string cut =
        f.options.length == study.seq ? study.cut : fmt::format("{}, first {}", study.cut, f.options.length);
    add(fmt::format("{}, mask {}, {}", cut, name(f.mask), name(f.options)), f.options.batch, f.options.length,
        f.average.scored, f.average.nll);
  }
  for (const WindowFigure& w : study.windows)
    add(fmt::format("window {}, mean over tokens", w.window), 1, w.window, w.scored, w.nll);
  document.subject.title = fmt::format("{}, {}: what its perplexity is made of", shown_model_name(study.setting.model),
                                       study.setting.precision);
  document.subject.schema = "assay-perplexity-1";
  document.subject.facts = perplexity_facts(study);
  document.machine = study.machine;
  document.tables.push_back(rows_table(study));
  if (!study.windows.empty()) document.tables.push_back(windows_table(study));
  document.sentences.push_back({.texts = perplexity_sentences(study)});
  for (const std::string& sentence : document.sentences.front().texts) {
    Finding finding;
    finding.rule = "explain_perplexity";
    finding.model = study.setting.model;
    finding.precision = study.setting.precision;
    finding.text = sentence;
    document.findings.push_back(std::move(finding));
  }
  return document;
}

}  // namespace assay
