#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "studies/explain_perplexity.h"

namespace assay {
namespace {

/// Differences below this are rounding of the arithmetic, not of the protocol.
constexpr double rounding_nats = 1e-4;

std::string perplexity(double nll) {
  const double value = std::exp(nll);
  return value < 1e5 ? fmt::format("{:.2f}", value) : fmt::format("{:.3g}", value);
}

const char* words(PaddingScored padding) {
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

std::string row_of_table(const PerplexityStudy& study, MaskUse mask, const AverageOptions& options) {
  std::string line = fmt::format("{:<10}{:<10}{:>6}{:>9}", words(options.padding), name(mask), options.length,
                                 format_count(study.at(mask, options).average.scored));
  line += fmt::format("{:>11}", perplexity(study.at(mask, options).average.nll));
  for (const Averaging averaging : {Averaging::batch_losses, Averaging::batch_perplexities}) {
    for (const std::int64_t batch : study.batches) {
      const AverageOptions way = {options.padding, averaging, batch, options.length};
      line += fmt::format("{:>11}", perplexity(study.at(mask, way).average.nll));
    }
  }
  return line + "\n";
}

std::string heading(const PerplexityStudy& study) {
  std::string line = fmt::format("{:<10}{:<10}{:>6}{:>9}{:>11}", "padding", "mask", "length", "scored", "tokens");
  for (const char* what : {"loss", "ppl"}) {
    for (const std::int64_t batch : study.batches) line += fmt::format("{:>11}", fmt::format("{}/{}", what, batch));
  }
  return line + "\n";
}

std::string window_table(const PerplexityStudy& study) {
  std::string text = fmt::format("\n{:<10}{:>9}{:>11}{:>11}\n", "window", "scored", "loss", "perplexity");
  for (const WindowFigure& w : study.windows)
    text += fmt::format("{:<10}{:>9}{:>11.4f}{:>11}\n", format_count(w.window), format_count(w.scored), w.nll,
                        perplexity(w.nll));
  return text;
}

}  // namespace

std::vector<std::string> explain(const PerplexityStudy& study) {
  std::vector<std::string> sentences = {honest_sentence(study), padding_sentence(study)};
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
  if (study.blank.quality->quality_status == "random weights")
    sentences.push_back("The weights are random: these figures show the mechanism and no model's quality.");
  return sentences;
}

std::string tables(const PerplexityStudy& study) {
  std::string text =
      fmt::format("{}, {}\n{}: {}, {} rows of {}, {:.1f} % padding\n\n", study.blank.setting.model,
                  study.blank.setting.precision, study.data, study.cut, format_count(study.rows), study.seq,
                  100.0 * static_cast<double>(study.padding) / static_cast<double>(study.rows * study.seq));
  text +=
      "perplexity = exp(mean loss): over tokens; loss/N mean over batches of N rows; ppl/N mean of the batches' "
      "perplexities\n" +
      heading(study);
  for (const RowsFigure& figure : study.figures) {
    if (figure.options.averaging == Averaging::tokens) text += row_of_table(study, figure.mask, figure.options);
  }
  return study.windows.empty() ? text : text + window_table(study);
}

Document to_document(const PerplexityStudy& study) {
  Document document;
  const auto add = [&](std::string protocol, std::int64_t batch, std::int64_t seq) -> Record& {
    Record record = study.blank;
    record.quality.made().quality_data = study.data;
    record.quality.made().protocol = std::move(protocol);
    record.setting.batch = batch;
    record.setting.seq = seq;
    document.records.push_back(std::move(record));
    return document.records.back();
  };
  const auto score = [](Record& record, std::int64_t scored, double nll) {
    record.quality.made().scored = scored;
    record.quality.made().log_perplexity = nll;
    record.quality.made().perplexity = std::exp(nll);
  };
  for (const RowsFigure& f : study.figures) {
    const std::string cut =
        f.options.length == study.seq ? study.cut : fmt::format("{}, first {}", study.cut, f.options.length);
    Record& record =
        add(fmt::format("{}, mask {}, {}", cut, name(f.mask), name(f.options)), f.options.batch, f.options.length);
    score(record, f.average.scored, f.average.nll);
  }
  for (const WindowFigure& w : study.windows)
    score(add(fmt::format("window {}, mean over tokens", w.window), 1, w.window), w.scored, w.nll);
  for (const std::string& sentence : explain(study)) {
    Finding finding;
    finding.rule = "explain_perplexity";
    finding.model = study.blank.setting.model;
    finding.precision = study.blank.setting.precision;
    finding.text = sentence;
    document.findings.push_back(std::move(finding));
  }
  return document;
}

}  // namespace assay
