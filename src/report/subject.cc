#include "report/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "report/mode_words.h"
#include "report/record_titles.h"

namespace assay {
namespace {

constexpr std::size_t traits = 13;
/// What tells subjects apart, in words; the model and the shape first.
using Traits = std::array<std::string, traits>;

Traits traits_of(const Record& r) {
  return {r.model,
          fmt::format("{} x {}", r.batch, r.seq),
          r.device,
          fmt::format("{} thread{}", r.threads, r.threads == 1 ? "" : "s"),
          r.machine,
          r.phase ? "phase " + *r.phase : r.mode,
          "logits " + r.logits,
          "fusion " + r.fusion,
          "casts " + r.casts,
          r.recompute == "none" ? "nothing recomputed" : "recompute " + r.recompute,
          r.warmup_steps ? fmt::format("{} warm-up steps", *r.warmup_steps) : "",
          "caches " + r.caches,
          r.graphs ? "graphs " + *r.graphs : ""};
}

/// What makes two records rows of one comparison: everything that their names say, and the weights and the source.
struct Key {
  const ReportSource* source;
  Traits traits;
  std::string weights;
  friend bool operator==(const Key&, const Key&) = default;
};

struct Keyed {
  Key key;
  ReportSubject subject;
};

bool differs(const std::vector<Keyed>& all, std::size_t trait) {
  return std::any_of(all.begin(), all.end(),
                     [&](const Keyed& one) { return one.key.traits[trait] != all.front().key.traits[trait]; });
}

/// The traits in which subjects differ; of a lone subject model and shape. The source's label where nothing else does.
std::string name_of(const Keyed& one, const std::vector<Keyed>& all) {
  std::string name;
  for (std::size_t trait = 0; trait < traits; ++trait) {
    const bool is_wanted = all.size() == 1 ? trait < 2 : differs(all, trait);
    if (is_wanted && !one.key.traits[trait].empty()) name += (name.empty() ? "" : ", ") + one.key.traits[trait];
  }
  const auto sources = [&](const Keyed& other) { return other.key.source != one.key.source; };
  const bool from_several = std::any_of(all.begin(), all.end(), sources);
  if (name.empty() || (from_several && all.size() > 1 && !differs(all, 0) && !differs(all, 2) && !differs(all, 4))) {
    name = one.subject.source->label + (name.empty() ? "" : ", " + name);
  }
  return name;
}

std::string words_of(const Record& r) {
  std::string title =
      fmt::format("{}, {}, {}, {} thread{}", r.model, cell_title(r), r.device, r.threads, r.threads == 1 ? "" : "s");
  const std::string mode = mode_title(r);
  if (!mode.empty() && !r.phase) title += ", " + mode;
  if (r.warmup_steps) title += fmt::format(", {} warm-up steps", *r.warmup_steps);
  return r.machine.empty() ? title : title + ", " + r.machine;
}

/// What a figure holds fixed where several models, machines or devices are compared: the shape and the settings.
std::string setting_of(const ReportSubject& subject) {
  const Record& r = *subject.records.front();
  return fmt::format("{} {} {} {} {} {} {} {}", r.batch, r.seq, r.mode, r.phase.value_or(""), r.recompute, r.logits,
                     r.fusion, r.warmup_steps.value_or(0));
}

std::string place_of(const ReportSubject& subject) {
  const Record& r = *subject.records.front();
  return fmt::format("{}\n{}\n{}\n{}", r.model, r.device, r.machine, r.threads);
}

}  // namespace

const Record* ReportSubject::find(const std::string& precision) const {
  const auto found = std::find_if(records.begin(), records.end(),
                                  [&](const Record* record) { return record->precision == precision; });
  return found == records.end() ? nullptr : *found;
}

std::vector<ReportSubject> subjects(std::span<const ReportSource> sources) {
  std::vector<Keyed> all;
  for (const ReportSource& source : sources) {
    for (const Record& record : source.document.records) {
      const Key key{&source, traits_of(record), record.weights};
      auto known = std::find_if(all.begin(), all.end(), [&](const Keyed& one) { return one.key == key; });
      if (known == all.end()) known = all.insert(all.end(), {key, {&source, "", words_of(record), {}, 0}});
      known->subject.records.push_back(&record);
    }
  }
  std::vector<ReportSubject> result;
  for (Keyed& one : all) {
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
    const std::string shared = one_place || subjects.size() <= most ? "" : setting_of(subject);
    const auto known = newest.find(shared);
    if (known == newest.end() || groups[known->second].size() >= most) {
      newest[shared] = groups.size();
      groups.emplace_back();
    }
    std::vector<ReportSubject>& group = groups[newest[shared]];
    group.push_back(subject);
    group.back().series = group.size() - 1;
  }
  return groups;
}

std::vector<std::string> precisions_of(std::span<const ReportSubject> subjects) {
  std::vector<std::string> precisions;
  for (const ReportSubject& subject : subjects) {
    for (const Record* record : subject.records) {
      if (std::find(precisions.begin(), precisions.end(), record->precision) == precisions.end())
        precisions.push_back(record->precision);
    }
  }
  return precisions;
}

}  // namespace assay
