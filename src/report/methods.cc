#include "report/methods.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/units.h"
#include "report/machine_words.h"
#include "report/mode_words.h"
#include "report/phrases.h"
#include "report/text.h"
#include "results/identity.h"

namespace assay {
namespace {

std::string model_words(const Record& r) {
  std::string text = r.setting.model;
  if (r.setting.parameters > 0) text += fmt::format(" ({} parameters", format_count(r.setting.parameters));
  if (r.setting.parameters > 0 && r.setting.weights != "random") text += ", stored as " + r.setting.stored_dtype;
  if (r.setting.parameters > 0) text += ")";
  if (r.setting.weights == "random") return text + " with random weights, whose quality means nothing";
  return r.setting.weights.empty() ? text : text + ", checkpoint " + r.setting.weights;
}

/// As usual or not: whoever repeats it needs to know.
std::string every_condition(const Record& record) {
  std::string text;
  for (const SettingField& field : setting_fields()) {
    if (field.level != Level::title || std::string_view(field.name) == "model" ||
        std::string_view(field.name) == "weights")
      continue;
    const std::string words = words_of(field, record);
    if (!words.empty()) text += (text.empty() ? "" : ", ") + words;
  }
  return text;
}

/// What another program was told; empty for this one's rows.
std::string engine_words_of(const Record& record) {
  if (!record.setting.engine) return "";
  return fmt::format("{} ({})", row_name(record.setting), record.setting.engine_settings.value_or(""));
}

std::string subject_paragraph(const Records& all, const std::map<std::string, std::string>& paths) {
  Paragraph p;
  p.say(fmt::format("Program: {}.", joined(distinct(all, [](const Record& r) { return r.setting.build; }))));
  p.say(fmt::format("Models: {}.", joined(distinct(all, model_words))));
  std::vector<std::string> places;
  places.reserve(paths.size());
  for (const auto& [name, path] : paths) places.push_back(fmt::format("{} at {}", name, path));
  if (!places.empty()) p.say(fmt::format("Read: {}.", joined(places)));
  p.say(fmt::format("Precisions asked for: {}.",
                    joined(distinct(all, [](const Record& r) { return r.setting.precision; }))));
  p.say(fmt::format("Shapes: {}.", joined(distinct(all, [](const Record& r) {
                      return fmt::format("batch {} x {} tokens", r.setting.batch, r.setting.seq);
                    }))));
  p.say(fmt::format("Settings: {}.", joined(distinct(all, [](const Record& r) { return every_condition(r); }))));
  const std::vector<std::string> engines = distinct(all, engine_words_of);
  if (!engines.empty()) p.say(fmt::format("Other programs: {}.", fmt::join(engines, "; ")));
  p.say(
      fmt::format("Seed: {}.", joined(distinct(all, [](const Record& r) { return std::to_string(r.setting.seed); }))));
  return p.text();
}

std::string interleaving(const Records& measured) {
  std::map<std::string, int> groups;
  for (const Record* r : measured) {
    if (r->outcome.group)
      ++groups[fmt::format("{} {} {} {}", r->setting.model, r->setting.batch, r->setting.seq, *r->outcome.group)];
  }
  const bool any = std::any_of(groups.begin(), groups.end(), [](const auto& group) { return group.second > 1; });
  return any ? "Precisions of one group were timed interleaved: in each round one window of each, in random order."
             : "";
}

std::string warm_up(const Records& measured) {
  const std::string runs = spread(measured, [](const Record& r) -> std::optional<double> {
    if (r.latency->warm_up_ms.empty()) return std::nullopt;
    return static_cast<double>(r.latency->warm_up_ms.size());
  });
  std::string text = runs.empty() ? "" : fmt::format("Warm-up: {} runs before the samples.", runs);
  const std::string steps = spread(measured, [](const Record& r) -> std::optional<double> {
    return r.setting.warmup_steps ? std::optional<double>(static_cast<double>(*r.setting.warmup_steps)) : std::nullopt;
  });
  if (!steps.empty())
    text += fmt::format("{}Training steps before those that count: {}.", text.empty() ? "" : " ", steps);
  const std::string unsteady = precisions_where(measured, [](const Record& r) { return r.latency->steady == false; });
  if (!unsteady.empty()) text += fmt::format(" It ended by time and not by steadiness for {}.", unsteady);
  return text;
}

std::string stopping(const Records& measured) {
  std::map<std::string, std::size_t> causes;
  for (const Record* r : measured) {
    if (r->latency->stopped_by) ++causes[name(*r->latency->stopped_by)];
  }
  std::vector<std::string> words;
  words.reserve(causes.size());
  for (const auto& [cause, count] : causes) words.push_back(fmt::format("{} of {}", cause, counted(count, "row")));
  return words.empty() ? "" : fmt::format("Sampling was ended by {}.", joined(words));
}

/// Of very many times through a phase only the first are kept.
bool keeps_every_sample(const Record* r) {
  const std::int64_t timed = r->latency->timed_runs.value_or(r->latency->samples * r->latency->repetitions.value_or(1));
  return r->latency->samples == std::ssize(r->latency->raw_ms) &&
         timed <= r->latency->samples * r->latency->repetitions.value_or(1);
}

std::string sampling_paragraph(const Records& measured) {
  Paragraph p;
  p.say(warm_up(measured));
  const std::string samples =
      spread(measured, [](const Record& r) { return std::optional<double>(static_cast<double>(r.latency->samples)); });
  p.say(fmt::format("Samples: {} a row; latency is their median.", samples));
  const std::string processes = spread(measured, [](const Record& r) {
    const std::size_t count = r.latency->process_samples.size();
    return count > 1 ? std::optional(static_cast<double>(count)) : std::nullopt;
  });
  if (!processes.empty())
    p.say(
        fmt::format("They are of {} processes, started one after the other; intervals are by Student's t over the "
                    "processes' medians on a log scale, and so hold what differs between processes.",
                    processes));
  if (std::all_of(measured.begin(), measured.end(), keeps_every_sample))
    p.say("Every sample is kept with its row; none was removed.");
  const std::string width = spread(measured, [](const Record& r) -> std::optional<double> {
    if (!r.latency->ci_low_ms || !r.latency->ci_high_ms || !r.latency->median_ms) return std::nullopt;
    return 100 * (*r.latency->ci_high_ms - *r.latency->ci_low_ms) / *r.latency->median_ms;
  });
  if (!width.empty())
    p.say(fmt::format("Intervals of the median are of 95 %{}, {} % of it wide.",
                      processes.empty() ? " and distribution-free" : "", width));
  const std::string between = spread(measured, [](const Record& r) {
    return r.latency->run_spread ? std::optional(100 * *r.latency->run_spread) : std::nullopt;
  });
  p.say(between.empty()
            ? "What differs between runs at other times is not in the intervals."
            : fmt::format(
                  "Earlier runs on this machine differed by {} % (standard deviation of the median's logarithm), which "
                  "is in the intervals.",
                  between));
  const std::string asked = spread(measured, [](const Record& r) {
    return r.latency->asked_width ? std::optional<double>(100 * *r.latency->asked_width) : std::nullopt;
  });
  if (!asked.empty()) p.say(fmt::format("Asked for: {} %.", asked));
  p.say(stopping(measured));
  p.say(interleaving(measured));
  const auto against = distinct(measured, [](const Record& r) { return r.speedup->speedup ? r.setting.baseline : ""; });
  if (!against.empty()) {
    p.say(fmt::format("Speed-ups refer to {} and are medians over the rounds, with {}intervals of 95 % where given.",
                      joined(against), processes.empty() ? "bootstrap " : ""));
  }
  return p.text();
}

std::string conditions_paragraph(const Records& measured) {
  Paragraph p;
  const auto percent = [&](const char* sentence, std::optional<double> Circumstances::*figure) {
    const std::string range = spread(measured, [&](const Record& r) {
      const std::optional<double> share = (*r.circumstances).*figure;
      return share ? std::optional<double>(100 * *share) : std::nullopt;
    });
    if (!range.empty()) p.say(fmt::format(fmt::runtime(sentence), range));
  };
  percent("Conditions: others used {} % of the processors during the windows.", &Circumstances::foreign_load);
  percent("The hypervisor withheld {} % of the time.", &Circumstances::stolen_share);
  const std::string clock = spread(measured, [](const Record& r) { return r.circumstances->frequency_after_mhz; });
  if (!clock.empty()) p.say(fmt::format("Processor clock: {} MHz.", clock));
  const std::string heat = spread(measured, [](const Record& r) { return r.circumstances->temperature_after_c; });
  if (!heat.empty()) p.say(fmt::format("Temperature: {} degrees Celsius.", heat));
  return p.text();
}

/// What was read, how often it is renewed, and how far its joules may be off.
std::string meter_sentence(const Records& measured) {
  const auto sources = distinct(measured, [](const Record& r) {
    if (!r.energy->energy_source) return std::string();
    return r.energy->energy_unit ? fmt::format("{} ({})", *r.energy->energy_source, *r.energy->energy_unit)
                                 : *r.energy->energy_source;
  });
  const std::string update_ms = spread(measured, [](const Record& r) {
    return r.energy->energy_update_s ? std::optional(1e3 * *r.energy->energy_update_s) : std::nullopt;
  });
  const std::string bound = spread(measured, [](const Record& r) {
    const bool known = r.energy->energy_uncertainty_j && r.energy->energy_j.value_or(0) > 0;
    return known ? std::optional(100 * *r.energy->energy_uncertainty_j / *r.energy->energy_j) : std::nullopt;
  });
  if (sources.empty() || update_ms.empty() || bound.empty()) return "";
  return fmt::format(
      "The meter reads {}, renewed every {} ms; gross joules are within {} % of what it counted, a bound that leaves "
      "out "
      "its own calibration.",
      joined(sources), update_ms, bound);
}

std::string energy_paragraph(const Records& measured) {
  Paragraph p;
  p.say(fmt::format("Energy: {}.",
                    joined(distinct(measured, [](const Record& r) { return to_text(r.energy->energy_status); }))));
  if (precisions_where(measured, [](const Record& r) { return r.energy->energy_j.has_value(); }).empty()) {
    p.say("No energy is given, and none was estimated.");
    return p.text();
  }
  const auto each = distinct(measured, [](const Record& r) { return mode_words(r).each; });
  p.say(fmt::format("Energy is that of one {} over all windows, gross; net where the idle power is subtracted.",
                    joined(each)));
  p.say(meter_sentence(measured));
  const std::string idle = spread(measured, [](const Record& r) { return r.energy->idle_power_w; });
  if (!idle.empty()) p.say(fmt::format("Idle power: {} W.", idle));
  const std::string brief =
      precisions_where(measured, [](const Record& r) { return r.energy->energy_short_share > 0; });
  if (!brief.empty()) p.say(fmt::format("Windows were short for the meter's resolution for {}.", brief));
  return p.text();
}

std::string precision_paragraph(const Records& measured) {
  std::vector<std::string> words = distinct(measured, [](const Record& r) {
    const std::string ran = what_ran(r);
    return ran.empty() ? "" : fmt::format("{} in {}", row_name(r.setting), ran);
  });
  if (words.empty()) return "";
  Paragraph p;
  p.say(
      fmt::format("What ran (operands and accumulator of most matrix products, and the verdict): {}.", joined(words)));
  const auto other = [](const Record& r) {
    const LedgerRow* row = dominant_row(r.evidence.ledger);
    return row != nullptr && row->verdict != Verdict::native;
  };
  const std::string odd = precisions_where(measured, other);
  if (!odd.empty()) p.say(fmt::format("Not natively computed: {}.", odd));
  return p.text();
}

/// What an interrupt left unscored.
std::string part_words(const Record& r) {
  const std::optional<ScoredPart> part = scored_part(r.quality->quality_status);
  return part ? fmt::format(", from {}: scoring was interrupted", to_text(*part)) : "";
}

std::string quality_paragraph(const Records& measured) {
  Paragraph p;
  const auto scored = distinct(measured, [](const Record& r) -> std::string {
    const std::string kind = quality_kind(r);
    if (kind.empty()) return "";
    return fmt::format("{} of {} on {} ({}; {} {} scored{})", kind, r.setting.model,
                       r.quality->quality_data.value_or("unnamed data"),
                       r.quality->protocol.value_or("protocol not named"), format_count(r.quality->scored.value_or(0)),
                       kind == "perplexity" ? "tokens" : "rows", part_words(r));
  });
  if (!scored.empty()) p.say(fmt::format("Quality: {}, from the instances that were timed.", joined(scored)));
  const auto why = distinct(measured, [](const Record& r) {
    return *quality_kind(r) != '\0' ? "" : fmt::format("{}: {}", r.setting.model, to_text(r.quality->quality_status));
  });
  if (!why.empty()) p.say(fmt::format("Quality not given: {}.", joined(why)));
  return p.text();
}

constexpr char shape_goes_here = '\x01';

/// Of a row without figures.
std::string why_left_out(const Record& r) {
  return fmt::format("{} of {} at ", row_name(r.setting), r.setting.model) + shape_goes_here +
         fmt::format(" ({}: {})", name(r.outcome.status), r.outcome.reason.value_or("no reason was given"));
}

std::string left_out_paragraph(const Records& all) {
  std::vector<std::string> rows;
  const auto without =
      distinct(all, [](const Record& r) { return r.outcome.status == Status::ok ? "" : why_left_out(r); });
  for (const std::string& why : without) {
    const auto shapes = distinct(all, [&](const Record& r) {
      return r.outcome.status != Status::ok && why_left_out(r) == why
                 ? fmt::format("{} x {}", r.setting.batch, r.setting.seq)
                 : "";
    });
    rows.push_back(std::string(why).replace(why.find(shape_goes_here), 1, joined(shapes)));
  }
  return rows.empty() ? "Left out: nothing." : fmt::format("Left out: {}.", joined(rows));
}

std::string trust_paragraph(const Records& measured) {
  std::map<Trust, std::size_t> grades;
  for (const Record* r : measured) {
    if (r->grade.trust) ++grades[*r->grade.trust];
  }
  std::vector<std::string> words;
  words.reserve(grades.size());
  for (const auto& [grade, count] : grades)
    words.push_back(fmt::format("{} for {}", name(grade), counted(count, "row")));
  return words.empty() ? "" : fmt::format("Trust, from A to D by published rules: {}.", joined(words));
}

std::string seal_words(const Seal& seal) {
  if (!seal.seal) return "it has no seal";
  if (seal.state == Seal::State::broken)
    return fmt::format("its seal {} is of another content: something was changed after it was written", *seal.seal);
  return "its seal is " + *seal.seal;
}

/// Whence the figures come, and how to tell that they are still the same: `assay verify`.
std::string origin_paragraph(const Document& document) {
  if (!document.origin)
    return document.records.empty() ? "" : "Origin: not known; it was written before files said it.";
  const RunOrigin& origin = *document.origin;
  return fmt::format("Origin: `{}`, begun {}, by assay at commit {}; {} (SHA-256 over all of it).", origin.command,
                     origin.date, origin.commit.empty() ? "unknown" : origin.commit, seal_words(origin.seal));
}

std::vector<std::string> paragraphs_of(const ReportSource& source) {
  Records all;
  Records measured;
  for (const Record& record : source.document.records) {
    all.push_back(&record);
    if (record.outcome.status == Status::ok) measured.push_back(&record);
  }
  std::vector<std::string> paragraphs = {machine_paragraph(source.document.machine)};
  if (!all.empty()) paragraphs.push_back(subject_paragraph(all, source.model_paths));
  if (!measured.empty()) {
    for (const auto& make : {sampling_paragraph, conditions_paragraph, energy_paragraph, precision_paragraph,
                             quality_paragraph, trust_paragraph}) {
      paragraphs.push_back(make(measured));
    }
  }
  if (!all.empty()) paragraphs.push_back(left_out_paragraph(all));
  paragraphs.push_back(origin_paragraph(source.document));
  std::erase(paragraphs, "");
  return paragraphs;
}

}  // namespace

std::vector<std::string> methods_paragraphs(std::span<const ReportSource> sources) {
  std::vector<std::string> all;
  for (const ReportSource& source : sources) {
    if (sources.size() > 1) all.push_back(source.label + ":");
    for (std::string& paragraph : paragraphs_of(source)) all.push_back(std::move(paragraph));
  }
  return all;
}

std::string methods_text(std::span<const ReportSource> sources) {
  std::string text;
  for (const std::string& paragraph : methods_paragraphs(sources))
    text += (text.empty() ? "" : "\n") + wrap(terminal_text(paragraph), 100, 0) + "\n";
  return text;
}

}  // namespace assay
