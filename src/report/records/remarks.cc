#include "report/records/remarks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/units.h"
#include "report/mode_words.h"
#include "report/record_titles.h"
#include "report/records/energy_cells.h"
#include "report/records/ledger_brief.h"
#include "results/identity.h"
#include "results/model_name.h"

namespace assay {
namespace {

constexpr std::size_t most_findings = 5;  ///< That a brief report names.

/// Names for which one thing is said, in the order in which they first came.
class SaidOf {
 public:
  void say(const std::string& text, const std::string& name) {
    auto known = std::find_if(texts_.begin(), texts_.end(), [&](const auto& one) { return one.first == text; });
    if (known == texts_.end()) known = texts_.insert(texts_.end(), {text, {}});
    auto& names = known->second;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::vector<std::string> sentences() const {
    std::vector<std::string> sentences;
    sentences.reserve(texts_.size());
    for (const auto& [text, names] : texts_) sentences.push_back(joined(names) + ": " + text);
    return sentences;
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> texts_;
};

/// "bf16", and where a document has several shapes, "bf16 (batch 1 x 128 tokens)".
class RowNames {
 public:
  explicit RowNames(std::span<const Record> records) {
    for (const Record& record : records) {
      models_.insert(record.setting.model);
      shapes_.insert(cell_title(record));
    }
  }
  std::string name_of(const Record& record) const {
    std::string where = shapes_.size() > 1 ? cell_title(record) : "";
    if (models_.size() > 1) where = record.setting.model + (where.empty() ? "" : ", " + where);
    return shown_precision(record) + (where.empty() ? "" : " (" + where + ")");
  }

 private:
  std::set<std::string> models_;
  std::set<std::string> shapes_;
};

/// The reason without the precision's own name in front, which the sentence has already.
std::string reason_of(const Record& record) {
  const std::string reason = record.outcome.reason.value_or("no reason was given");
  const std::string own = row_name(record.setting) + ": ";
  return reason.starts_with(own) ? reason.substr(own.size()) : reason;
}

std::vector<const Record*> measured(std::span<const Record> records) {
  std::vector<const Record*> rows;
  for (const Record& record : records) {
    if (record.outcome.status == Status::ok) rows.push_back(&record);
  }
  return rows;
}

std::string quality_note(const Record& record) {
  const std::string kind = quality_kind(record);
  if (record.quality->quality_status.state == QualityState::not_asked) return "";
  if (kind.empty()) return to_text(record.quality->quality_status);
  std::string on = fmt::format("on {} ({})", record.quality->quality_data.value_or("unnamed data"),
                               record.quality->protocol.value_or("protocol not named"));
  if (const auto part = scored_part(record.quality->quality_status))
    on += fmt::format(": of a part alone, {} were scored before an interrupt", to_text(*part));
  if (kind != "scores") return kind + " " + on;
  return fmt::format("largest difference from the baseline's scores and correlations with them, {}; {}", on,
                     to_text(record.quality->quality_status));
}

std::string peak_note(const Record& record) {
  return record.evidence.peak_kind
             ? fmt::format("{} {:.0f} GFLOP/s", *record.evidence.peak_kind, record.evidence.peak_gflops.value_or(0))
             : "";
}

std::string energy_note(const Record& record) {
  if (!record.energy->energy_j) return to_text(record.energy->energy_status);
  const std::string text =
      fmt::format("J for one {}, {}", mode_words(record).each, to_text(record.energy->energy_status));
  if (record.energy->energy_short_share.value_or(0) <= 0) return text;
  return fmt::format("{}; {:.0f} % of the windows of {} are too short for it", text,
                     100 * *record.energy->energy_short_share, shown_precision(record));
}

std::string latency_note(const Record& record) {
  const std::size_t processes = record.latency->process_samples.size();
  return fmt::format("median of {}, ± half its 95 % interval{} (its ends where they lie unevenly)",
                     mode_words(record).sample, processes > 1 ? fmt::format(" over {} processes", processes) : "");
}

std::string samples_note(const Record& record) {
  const Latency& latency = *record.latency;
  if (latency.samples == 0) return "";
  std::string text = fmt::format("{} of {}", latency.samples, shown_precision(record));
  if (latency.first_ms) text += fmt::format(" after a first run of {} ms", format_significant(*latency.first_ms));
  return latency.stopped_by ? text + "; ended by " + name(*latency.stopped_by) : text;
}

/// What the meter stands on, and what its energy is worth.
std::vector<std::string> energy_details(const Record& record) {
  std::vector<std::string> texts = record.energy->other_energy;
  const std::string of = fmt::format("energy of {}", shown_precision(record));
  const auto add = [&](const std::optional<double>& figure, const char* text) {
    if (figure) texts.push_back(fmt::format(fmt::runtime(text), of, format_significant(*figure)));
  };
  add(record.energy->idle_before_w, "{} is read after {} W when nothing ran");
  add(record.energy->idle_after_w, "{} is read before {} W when nothing ran");
  add(record.energy->energy_update_s, "{}: the meter is renewed every {} s");
  if (!tells_energy(record)) return texts;
  add(record.rates.energy_delay_js, "{} times its latency: {} J s");
  add(record.rates.cost_per_million_tokens, "{}, a million tokens or runs: costs {}");
  add(record.rates.carbon_g_per_million_tokens, "{}, a million tokens or runs: {} g of CO2");
  return texts;
}

std::string restored_note(const Record& record) {
  return record.outcome.restored ? record.outcome.restored->substr(0, 16) + " UTC" : "";
}

/// What an instruction set is called in the evidence: "avx512_bf16; matmul measured at ..." begins with it.
std::string instruction_of(const LedgerRow& row) {
  return row.evidence.substr(0, row.evidence.find_first_of(";:,( "));
}

/// Operations that ran in one arithmetic: "native bf16 (avx512_bf16)", "f32 from 16-bit storage".
std::string arithmetic_of(const LedgerRow& row) {
  if (row.verdict == Verdict::widened && row.stored != row.operand)
    return fmt::format("{} from {}-bit storage", name(row.operand), 8 * size_of(row.stored));
  const std::string instruction = instruction_of(row);
  std::string text = fmt::format("{} {}", name(row.verdict), name(row.operand));
  if (!instruction.empty()) text += " (" + instruction + ")";
  return row.device == "cpu" ? text : text + " on " + row.device;
}

std::string brief_ledger(const Record& record) {
  std::map<std::string, int> counts;
  for (const LedgerRow& row : record.evidence.ledger) ++counts[arithmetic_of(row)];
  const std::string main = arithmetic_of(*dominant_row(record.evidence.ledger));
  std::string text = fmt::format("{} of {} operations {}", counts[main], record.evidence.ledger.size(), main);
  for (const auto& [arithmetic, count] : counts) {
    if (arithmetic != main) text += fmt::format(", {} {}", count, arithmetic);
  }
  return text;
}

/// Only the reasons that hold its grade down: "B at best: ..." of a B.
std::vector<std::string> binding_reasons(const Record& record) {
  std::vector<std::string> reasons;
  const std::string start = fmt::format("{} at best: ", name(*record.grade.trust));
  for (const std::string& reason : record.grade.trust_reasons) {
    if (reason.starts_with(start)) reasons.push_back(reason.substr(start.size()));
  }
  return reasons;
}

std::optional<Trust> commonest_grade(const std::vector<const Record*>& rows) {
  std::map<Trust, int> counts;
  for (const Record* row : rows) {
    if (row->grade.trust) ++counts[*row->grade.trust];
  }
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? std::nullopt : std::optional(most->first);
}

std::vector<std::string> brief_trust(std::span<const Record> records) {
  const std::vector<const Record*> rows = measured(records);
  const std::optional<Trust> common = commonest_grade(rows);
  const RowNames names(records);
  std::vector<std::string> texts;
  const auto of_common =
      std::find_if(rows.begin(), rows.end(), [&](const Record* row) { return row->grade.trust == common; });
  if (of_common != rows.end() && common != Trust::a) {
    const std::vector<std::string> reasons = binding_reasons(**of_common);
    if (!reasons.empty())
      texts.push_back(
          fmt::format("{}, as most rows, grade {}: {}", names.name_of(**of_common), name(*common), joined(reasons)));
  }
  for (const Record* row : rows) {
    if (!row->grade.trust || row->grade.trust == common || row->grade.trust == Trust::a) continue;
    texts.push_back(
        fmt::format("{}, grade {}: {}", names.name_of(*row), name(*row->grade.trust), joined(binding_reasons(*row))));
  }
  return texts;
}

std::vector<std::string> every_reason(std::span<const Record> records) {
  const RowNames names(records);
  SaidOf said;
  for (const Record* row : measured(records)) {
    if (!row->grade.trust || row->grade.trust == Trust::a) continue;
    for (const std::string& reason : row->grade.trust_reasons) said.say(reason, names.name_of(*row));
  }
  return said.sentences();
}

/// Findings of one rule about one model at one shape.
struct AlikeFindings {
  const Finding* first = nullptr;
  std::vector<std::string> others;  ///< Precisions.
};

std::vector<AlikeFindings> alike_findings(std::span<const Finding> findings) {
  std::vector<AlikeFindings> all;
  for (const Finding& finding : findings) {
    if (finding.kind == RuleKind::expectation) continue;
    const auto known = std::find_if(all.begin(), all.end(), [&](const AlikeFindings& one) {
      const Finding& first = *one.first;
      return first.rule == finding.rule && first.model == finding.model && first.batch == finding.batch &&
             first.seq == finding.seq && !finding.precision.empty() && first.precision != finding.precision;
    });
    if (known == all.end()) {
      all.push_back({&finding, {}});
    } else {
      known->others.push_back(finding.precision);
    }
  }
  return all;
}

std::vector<std::string> brief_findings(std::span<const Finding> findings) {
  std::vector<AlikeFindings> all = alike_findings(findings);
  // What to take comes first, whatever else there is.
  const auto rank = [](const AlikeFindings& one) {
    return std::tuple(one.first->rule == "advice", one.first->severity);
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const AlikeFindings& a, const AlikeFindings& b) { return rank(a) > rank(b); });
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(all.size(), most_findings); ++i) {
    const std::string also =
        all[i].others.empty() ? "" : fmt::format(" Likewise {} (--details).", joined(all[i].others));
    texts.push_back(all[i].first->text + also);
  }
  if (all.size() > most_findings) texts.push_back(fmt::format("{} more: --details", all.size() - most_findings));
  return texts;
}

}  // namespace

Sentences left_out_remarks(std::span<const Record> records, Detail detail) {
  const RowNames names(records);
  SaidOf said;
  for (const Record& record : records) {
    if (record.outcome.status == Status::ok) continue;
    const std::string row = detail == Detail::brief ? shown_precision(record) : names.name_of(record);
    said.say(fmt::format("{}: {}", name(record.outcome.status), reason_of(record)), row);
  }
  return {.key = "left_out", .texts = said.sentences()};
}

Sentences reading_remarks(std::span<const Record> records, Detail detail) {
  Sentences remarks{.key = "reading"};
  const std::vector<const Record*> rows = measured(records);
  const auto note = [&](const std::string& about, std::string (*text_of)(const Record&)) {
    for (const std::string& text : distinct(rows, text_of)) remarks.texts.push_back(about + ": " + text);
  };
  if (rows.empty()) return remarks;
  note("latency", latency_note);
  note("*: taken from the store, where it was kept at", restored_note);
  note("energy", energy_note);
  note("quality", quality_note);
  if (detail == Detail::details) {
    note("samples", samples_note);
    const std::vector<std::string> energy = energy_details(*rows.front());
    remarks.texts.insert(remarks.texts.end(), energy.begin(), energy.end());
    const std::vector<std::string> peaks = distinct(rows, peak_note);
    if (!peaks.empty()) remarks.texts.push_back("of peak: of " + joined(peaks));
    remarks.texts.emplace_back("speed-up: against the baseline, round by round");
    remarks.texts.emplace_back(
        "MB are 10^6 bytes; peak: weights as kept and the plan's buffers; size: parameters as "
        "stored");
  }
  return remarks;
}

Sentences ran_remarks(std::span<const Record> records, Detail detail) {
  SaidOf said;
  const bool has_models = std::any_of(records.begin(), records.end(), [&](const Record& record) {
    return record.setting.model != records.front().setting.model;
  });
  for (const Record& record : records) {
    if (record.evidence.ledger.empty()) continue;
    const std::string row =
        (has_models ? shown_model_name(record.setting.model) + ", " : "") + row_name(record.setting);
    if (detail == Detail::brief)
      said.say(brief_ledger(record), row);
    else
      for (const std::string& line : ledger_brief(record)) said.say(line, row);
  }
  return {.key = "ran", .texts = said.sentences(), .title = "What ran"};
}

Sentences trust_remarks(std::span<const Record> records, Detail detail) {
  return {.key = "trust",
          .texts = detail == Detail::brief ? brief_trust(records) : every_reason(records),
          .title = "Trust below A"};
}

Sentences finding_remarks(std::span<const Finding> findings, Detail detail) {
  Sentences remarks{.key = "findings", .title = "Findings"};
  if (detail == Detail::brief) {
    remarks.texts = brief_findings(findings);
    return remarks;
  }
  for (const Finding& finding : findings) {
    if (finding.kind != RuleKind::expectation) remarks.texts.push_back(finding.text);
  }
  return remarks;
}

Sentences expectation_remarks(std::span<const Finding> findings, Detail detail) {
  const bool is_brief = detail == Detail::brief;
  Sentences remarks{.key = "expectations", .title = is_brief ? "Not as expected" : "Expectations"};
  for (const Finding& finding : findings) {
    const bool is_surprise = finding.met.has_value() && !*finding.met;
    if (finding.kind == RuleKind::expectation && (!is_brief || is_surprise)) remarks.texts.push_back(finding.text);
  }
  return remarks;
}

}  // namespace assay
