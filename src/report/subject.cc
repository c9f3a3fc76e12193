#include "report/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "report/record_titles.h"
#include "results/fields.h"
#include "results/identity.h"
#include "results/model_name.h"

namespace assay {
namespace {

/// What tells subjects apart, in words, by fields of the setting in their order.
struct Trait {
  std::string_view field;
  std::string words;
};
using Traits = std::vector<Trait>;

Traits traits_of(const Record& record) {
  Traits traits;
  for (const SettingField& field : setting_fields()) {
    const std::string_view name = field.name;
    const bool is_trait = name == "machine" || (field.level != Level::row && name != "weights");
    if (is_trait) traits.push_back({name, words_of(field, record)});
  }
  return traits;
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

bool differ_in(const std::vector<Named>& all, std::string_view field) {
  const auto words = [&](const Named& one) {
    return std::find_if(one.traits.begin(), one.traits.end(), [&](const Trait& t) { return t.field == field; })->words;
  };
  return std::any_of(all.begin(), all.end(), [&](const Named& one) { return words(one) != words(all.front()); });
}

/// The traits in which subjects differ; of a lone subject model and shape. The source's label where nothing else does.
std::string name_of(const Named& one, const std::vector<Named>& all) {
  std::string name;
  for (const Trait& trait : one.traits) {
    const bool is_wanted =
        all.size() == 1 ? trait.field == "model" || trait.field == "batch" : differ_in(all, trait.field);
    if (is_wanted && !trait.words.empty()) name += (name.empty() ? "" : ", ") + trait.words;
  }
  const auto sources = [&](const Named& other) { return other.subject.source != one.subject.source; };
  const bool from_several = std::any_of(all.begin(), all.end(), sources);
  const bool told_by_place = differ_in(all, "model") || differ_in(all, "device") || differ_in(all, "machine");
  if (name.empty() || (from_several && !told_by_place)) {
    name = one.subject.source->label + (name.empty() ? "" : ", " + name);
  }
  return name;
}

std::string setting_words(const Record& r) {
  const std::string title = fmt::format("{}, {}", r.setting.model, conditions_words(r, Level::cell));
  return r.setting.machine.empty() ? title : title + ", " + r.setting.machine;
}

/// Of what figures compare: where it ran, or what they hold fixed then, its shape and how it ran.
enum class Half : std::uint8_t { place, shape_and_conditions };

bool is_of_place(std::string_view field) {
  return field == "model" || field == "weights" || field == "device" || field == "threads" || field == "machine";
}

/// The fields of a setting that all rows of a cell share, of the place or but for it.
std::string shared_values(const ReportSubject& subject, Half half) {
  std::string text;
  for (const SettingField& field : setting_fields()) {
    const bool is_shared = field.level != Level::row || std::string_view(field.name) == "machine";
    if (is_shared && is_of_place(field.name) == (half == Half::place))
      text += to_text(record_field(field.name), *subject.records.front()) + "\n";
  }
  return text;
}

}  // namespace

const Record* ReportSubject::find(const std::string& precision) const {
  const auto found = std::find_if(records.begin(), records.end(),
                                  [&](const Record* record) { return row_name(record->setting) == precision; });
  return found == records.end() ? nullptr : *found;
}

std::vector<ReportSource> with_shown_models(std::span<const ReportSource> sources) {
  std::vector<ReportSource> shown(sources.begin(), sources.end());
  std::vector<std::string> asked;
  for (const ReportSource& source : sources) {
    for (const Record& record : source.document.records) {
      if (!is_of_program(record.setting.mode)) asked.push_back(record.setting.model);
    }
  }
  const std::map<std::string, std::string> names = distinct_model_names(asked);
  for (ReportSource& source : shown) {
    const auto show = [&](std::string& model) {
      const auto found = names.find(model);
      if (found == names.end() || found->second == model) return;
      source.model_paths.emplace(found->second, model);
      model = found->second;
    };
    for (Record& record : source.document.records) show(record.setting.model);
    for (Finding& finding : source.document.findings) show(finding.model);
  }
  return shown;
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
    return shared_values(one, Half::place) == shared_values(subjects.front(), Half::place);
  });
  for (const ReportSubject& subject : subjects) {
    const std::string shared =
        one_place || subjects.size() <= most ? "" : shared_values(subject, Half::shape_and_conditions);
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
      if (const std::string name = row_name(record->setting);
          std::find(precisions.begin(), precisions.end(), name) == precisions.end())
        precisions.push_back(name);
    }
  }
  return precisions;
}

}  // namespace assay
