#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "quality/compare.h"
#include "statistics/bootstrap.h"
#include "studies/sensitivity/words.h"

namespace assay {
namespace {

using Figure1 = std::optional<double> (*)(const UnitRow&);

std::optional<double> kl_alone(const UnitRow& row) {
  return row.only->kl.value;
}

std::optional<double> loss_alone(const UnitRow& row) {
  return row.only->delta_nll ? std::optional(row.only->delta_nll->value) : std::nullopt;
}

/// What sensitivity is held against.
struct Explanation {
  const char* key;
  const char* words;
  const char* of;
  Figure1 explains;
  Figure1 sensitivity;
};

template <auto part, auto member>
std::optional<double> figure_of(const UnitRow& row) {
  const auto& value = row.*part;
  return value ? std::optional<double>((*value).*member) : std::nullopt;
}

constexpr Explanation explanations[] = {
    {"fisher", "estimate by the empirical Fisher", "KL", figure_of<&UnitRow::estimate, &GradientEstimate::fisher>,
     kl_alone},
    {"first_order", "estimate by gradient times error", "loss",
     figure_of<&UnitRow::estimate, &GradientEstimate::first_order>, loss_alone},
    {"noise", "noise of its output (-dB)", "KL",
     [](const UnitRow& row) -> std::optional<double> {
       if (!row.error || !row.error->snr_db) return std::nullopt;
       return -*row.error->snr_db;
     },
     kl_alone},
    {"bytes", "bytes of its weight", "KL", figure_of<&UnitRow::cost, &UnitCost::fp32_bytes>, kl_alone},
    {"time", "time in fp32", "KL", figure_of<&UnitRow::cost, &UnitCost::fp32_ms>, kl_alone},
    {"depth", "depth", "KL", [](const UnitRow& row) -> std::optional<double> { return row.unit.depth; }, kl_alone},
    {"kurtosis", "kurtosis of its input", "KL", figure_of<&UnitRow::error, &LayerError::kurtosis>, kl_alone},
    {"largest_over_rms", "largest input over rms", "KL", figure_of<&UnitRow::error, &LayerError::largest_over_rms>,
     kl_alone},
    {"energy", "energy", "KL", figure_of<&UnitRow::energy, &Joules::value>, kl_alone},
};

struct Relation {
  std::string model;
  std::string precision;
  const Explanation* explanation = nullptr;
  std::size_t layers = 0;
  std::optional<Correlation> correlation = {};
};

Relation relation_of(const ModelSensitivity& study, const std::string& precision, const Explanation& explanation) {
  std::vector<double> x;
  std::vector<double> y;
  for (const UnitRow* row : ranked(study, precision)) {
    if (!row->unit.is_linear()) continue;
    const std::optional<double> explains = explanation.explains(*row);
    const std::optional<double> sensitivity = explanation.sensitivity(*row);
    if (!explains || !sensitivity) continue;
    x.push_back(*explains);
    y.push_back(*sensitivity);
  }
  return {study.model, precision, &explanation, x.size(), rank_correlation(x, y)};
}

const char* relation_verdict(const Relation& relation) {
  if (!relation.correlation) return "not known";
  if (!relation.correlation->interval) return "too few layers to say";
  if (relation.correlation->interval->low > 0) return "rises with it";
  return relation.correlation->interval->high < 0 ? "falls with it" : "none shown";
}

std::vector<Relation> all_relations(const std::vector<ModelSensitivity>& studies) {
  std::vector<Relation> relations;
  for (const ModelSensitivity& study : studies) {
    for (const std::string& precision : precisions_of(study)) {
      for (const Explanation& explanation : explanations) {
        Relation relation = relation_of(study, precision, explanation);
        if (relation.layers > 1) relations.push_back(std::move(relation));
      }
    }
  }
  return relations;
}

/// "0.55 [0.24, 0.77]"
std::string correlation_words(const Relation& relation) {
  const Correlation& found = *relation.correlation;
  if (!found.interval) return fmt::format("{:.2f}", found.value);
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", found.value, found.interval->low, found.interval->high);
}

/// "rises with kurtosis of its input (0.55 [0.24, 0.77]), ...; none is shown with ...", of one model and precision.
std::string relations_sentence(const std::vector<Relation>& relations) {
  struct Verdicts {
    const char* verdict;
    const char* words;
  };
  constexpr Verdicts kinds[] = {{"rises with it", "rises with"},
                                {"falls with it", "falls with"},
                                {"none shown", "shows no relation to"},
                                {"too few layers to say", "has too few layers to say of"}};
  std::vector<std::string> parts;
  for (const Verdicts& kind : kinds) {
    std::vector<std::string> found;
    for (const Relation& relation : relations) {
      const bool is_told = relation.explanation->of == std::string("KL") && relation_verdict(relation) == kind.verdict;
      if (is_told) found.push_back(fmt::format("{} ({})", relation.explanation->words, correlation_words(relation)));
    }
    if (!found.empty()) parts.push_back(fmt::format("{} {}", kind.words, fmt::join(found, ", ")));
  }
  if (parts.empty()) return "";
  const Relation& first = relations.front();
  return fmt::format("{}, {}: over its layers KL {}.", first.model, first.precision, fmt::join(parts, "; "));
}

/// "kurtosis of its input: rises with it in A, none shown in B": how models differ in a precision.
std::string difference_words(const std::vector<Relation>& relations, const std::string& precision,
                             const Explanation& explanation) {
  std::vector<std::string> verdicts;
  bool differ = false;
  for (const Relation& relation : relations) {
    if (relation.precision != precision || relation.explanation != &explanation || !relation.correlation) continue;
    const std::string verdict = relation_verdict(relation);
    verdicts.push_back(fmt::format("{} in {}", verdict, relation.model));
    differ = differ || !verdicts.front().starts_with(verdict);
  }
  return differ ? fmt::format("{}: {}", explanation.words, fmt::join(verdicts, ", ")) : "";
}

Table::Cell correlation_cell(const Relation& relation) {
  if (!relation.correlation) return Absent{relation.layers < 2 ? "no figures" : "all are equal"};
  if (!relation.correlation->interval) return relation.correlation->value;
  return Estimate{relation.correlation->value, relation.correlation->interval->low,
                  relation.correlation->interval->high};
}

}  // namespace

/// A resample in which a series is constant has no correlation; 0 stands for it, which widens the interval.
std::optional<Correlation> rank_correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const std::optional<double> value = pearson(ranks(x), ranks(y));
  if (!value) return std::nullopt;
  Correlation correlation{x.size(), *value, {}};
  if (x.size() < fewest_for_interval) return correlation;
  correlation.interval = bootstrap_interval(1, [&](Random& random) {
    std::vector<double> drawn_x;
    std::vector<double> drawn_y;
    drawn_x.reserve(x.size());
    drawn_y.reserve(x.size());
    for (const std::size_t i : draw(x.size(), random)) {
      drawn_x.push_back(x[i]);
      drawn_y.push_back(y[i]);
    }
    return pearson(ranks(drawn_x), ranks(drawn_y)).value_or(0);
  });
  return correlation;
}

Table correlations_table(const std::vector<ModelSensitivity>& studies) {
  constexpr auto label = Table::Role::label;
  const std::vector<Relation> relations = all_relations(studies);
  const std::vector<ColumnOf<Relation>> columns = {
      {{.key = "model", .role = label}, [](const Relation& r) -> Table::Cell { return r.model; }},
      {{.key = "precision", .role = label}, [](const Relation& r) -> Table::Cell { return r.precision; }},
      {{.key = "of", .title = "sensitivity", .role = label},
       [](const Relation& r) -> Table::Cell { return r.explanation->of; }},
      {{.key = "against", .role = label}, [](const Relation& r) -> Table::Cell { return r.explanation->words; }},
      {{.key = "layers"}, [](const Relation& r) -> Table::Cell { return static_cast<std::int64_t>(r.layers); }},
      {{.key = "spearman", .notation = Notation::fixed, .digits = 2, .more_keys = {"spearman_low", "spearman_high"}},
       correlation_cell},
      {{.key = "verdict"}, [](const Relation& r) -> Table::Cell { return relation_verdict(r); }}};
  return filled({.key = "correlations",
                 .caption = "Rank correlations over linear layers (95 % by bootstrap over layers)",
                 .legend = "The estimates know a weight's error alone, not that of activations; a tied head has none."},
                columns, relations);
}

std::vector<std::string> relation_sentences(const std::vector<ModelSensitivity>& studies) {
  std::vector<std::string> sentences;
  for (const ModelSensitivity& study : studies) {
    for (const std::string& precision : precisions_of(study)) {
      std::vector<Relation> relations = all_relations({study});
      std::erase_if(relations, [&](const Relation& relation) { return relation.precision != precision; });
      if (!relations.empty()) sentences.push_back(relations_sentence(relations));
    }
  }
  std::erase(sentences, "");
  return sentences;
}

std::vector<std::string> relation_differences(const std::vector<ModelSensitivity>& studies,
                                              const std::string& precision) {
  const std::vector<Relation> relations = all_relations(studies);
  std::vector<std::string> differences;
  for (const Explanation& explanation : explanations) {
    std::string words = difference_words(relations, precision, explanation);
    if (!words.empty()) differences.push_back(std::move(words));
  }
  return differences;
}

}  // namespace assay
