#include "report/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "report/mode_words.h"
#include "report/record_titles.h"
#include "results/fields.h"
#include "results/identity.h"

namespace assay {
namespace {

constexpr std::size_t traits = 13;
/// What tells subjects apart, in words; the model and the shape first.
using Traits = std::array<std::string, traits>;

Traits traits_of(const Record& r) {
  return {r.setting.model,
          fmt::format("{} x {}", r.setting.batch, r.setting.seq),
          r.setting.device,
          fmt::format("{} thread{}", r.setting.threads, r.setting.threads == 1 ? "" : "s"),
          r.setting.machine,
          r.setting.phase ? "phase " + *r.setting.phase : name(r.setting.mode),
          "logits " + r.setting.logits,
          "fusion " + r.setting.fusion,
          "casts " + r.setting.casts,
          r.setting.recompute == "none" ? "nothing recomputed" : "recompute " + r.setting.recompute,
          r.setting.warmup_steps ? fmt::format("{} warm-up steps", *r.setting.warmup_steps) : "",
          "caches " + r.setting.caches,
          r.setting.graphs ? "graphs " + *r.setting.graphs : ""};
}

struct Named {
  Traits traits;
  ReportSubject subject;

  /// Whether it is a row of the same comparison, in the same source.
  bool holds(const ReportSource& source, const Record& record) const {
    const Record& own = *subject.records.front();
    return subject.source == &source && own.setting.machine == record.setting.machine &&
           stand_together(own.setting, record.setting, Level::cell);
  }
};

bool differs(const std::vector<Named>& all, std::size_t trait) {
  return std::any_of(all.begin(), all.end(),
                     [&](const Named& one) { return one.traits[trait] != all.front().traits[trait]; });
}

/// The traits in which subjects differ; of a lone subject model and shape. The source's label where nothing else does.
std::string name_of(const Named& one, const std::vector<Named>& all) {
  std::string name;
  for (std::size_t trait = 0; trait < traits; ++trait) {
    const bool is_wanted = all.size() == 1 ? trait < 2 : differs(all, trait);
    if (is_wanted && !one.traits[trait].empty()) name += (name.empty() ? "" : ", ") + one.traits[trait];
  }
  const auto sources = [&](const Named& other) { return other.subject.source != one.subject.source; };
  const bool from_several = std::any_of(all.begin(), all.end(), sources);
  if (name.empty() || (from_several && all.size() > 1 && !differs(all, 0) && !differs(all, 2) && !differs(all, 4))) {
    name = one.subject.source->label + (name.empty() ? "" : ", " + name);
  }
  return name;
}

std::string setting_words(const Record& r) {
  std::string title = fmt::format("{}, {}, {}, {} thread{}", r.setting.model, cell_title(r), r.setting.device,
                                  r.setting.threads, r.setting.threads == 1 ? "" : "s");
  const std::string mode = mode_title(r);
  if (!mode.empty() && !r.setting.phase) title += ", " + mode;
  if (r.setting.warmup_steps) title += fmt::format(", {} warm-up steps", *r.setting.warmup_steps);
  return r.setting.machine.empty() ? title : title + ", " + r.setting.machine;
}

bool is_of_place(std::string_view field) {
  return field == "model" || field == "weights" || field == "device" || field == "threads";
}

/// What a figure holds fixed where several models, machines or devices are compared: the shape and the settings.
std::string shape_and_setting(const ReportSubject& subject) {
  const Record& record = *subject.records.front();
  std::string text;
  for (const SettingField& field : setting_fields()) {
    if (field.level == Level::row || is_of_place(field.name)) continue;
    text += to_text(record_field(field.name), record) + "\n";
  }
  return text;
}

std::string place_of(const ReportSubject& subject) {
  const Record& r = *subject.records.front();
  return fmt::format("{}\n{}\n{}\n{}", r.setting.model, r.setting.device, r.setting.machine, r.setting.threads);
}

}  // namespace

const Record* ReportSubject::find(const std::string& precision) const {
  const auto found = std::find_if(records.begin(), records.end(),
                                  [&](const Record* record) { return record->setting.precision == precision; });
  return found == records.end() ? nullptr : *found;
}

std::vector<ReportSubject> subjects(std::span<const ReportSource> sources) {
  std::vector<Named> all;
  for (const ReportSource& source : sources) {
    for (const Record& record : source.document.records) {
      auto known = std::find_if(all.begin(), all.end(), [&](const Named& one) { return one.holds(source, record); });
      if (known == all.end())
        known = all.insert(all.end(), {traits_of(record), {&source, "", setting_words(record), {}}});
      known->subject.records.push_back(&record);
    }
  }
  std::vector<ReportSubject> result;
  for (Named& one : all) {
    one.subject.name = name_of(one, all);
    result.push_back(one.subject);
  }
  return result;
}

std::vector<std::vector<ReportSubject>> figure_groups(std::span<const ReportSubject> subjects, std::size_t most) {
  std::vector<std::vector<ReportSubject>> groups;
  std::map<std::string, std::size_t> newest;  // The group that is being filled, by what its subjects share.
  const bool one_place = std::all_of(subjects.begin(), subjects.end(), [&](const ReportSubject& one) {
    return place_of(one) == place_of(subjects.front());
  });
  for (const ReportSubject& subject : subjects) {
    const std::string shared = one_place || subjects.size() <= most ? "" : shape_and_setting(subject);
    const auto known = newest.find(shared);
    if (known == newest.end() || groups[known->second].size() >= most) {
      newest[shared] = groups.size();
      groups.emplace_back();
    }
    groups[newest[shared]].push_back(subject);
  }
  return groups;
}

std::vector<std::string> precisions_of(std::span<const ReportSubject> subjects) {
  std::vector<std::string> precisions;
  for (const ReportSubject& subject : subjects) {
    for (const Record* record : subject.records) {
      if (std::find(precisions.begin(), precisions.end(), record->setting.precision) == precisions.end())
        precisions.push_back(record->setting.precision);
    }
  }
  return precisions;
}

}  // namespace assay
