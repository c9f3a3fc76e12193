#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "results/document.h"

namespace assay {

/// Where a document comes from: a file, a run of the store.
struct ReportSource {
  std::string label;
  Document document;
  /// Of models that are shown under a shorter name, by that: the path as it was asked for.
  std::map<std::string, std::string> model_paths = {};
};

/// The same with models named as people call them, their last folder; what people read is made of these. JSON and CSV
/// keep the names as they were asked for.
std::vector<ReportSource> with_shown_models(std::span<const ReportSource> sources);

/// The records of one model at one shape on one machine, in the order of the document: what a chart compares precisions
/// of. Points into the sources.
struct ReportSubject {
  const ReportSource* source = nullptr;
  std::string name;   ///< What tells it from the other subjects: "gpt2, 1 x 128"; of a lone one the model and shape.
  std::string title;  ///< All of it in words.
  std::vector<const Record*> records;

  /// The row of that precision, or null.
  const Record* find(const std::string& precision) const;
};

/// All subjects, in the order in which they first appear.
std::vector<ReportSubject> subjects(std::span<const ReportSource> sources);

/// Subjects that are drawn together, at most `most` in each: one model's shapes where there is one model, else the
/// models, machines and devices of one shape side by side.
std::vector<std::vector<ReportSubject>> figure_groups(std::span<const ReportSubject> subjects, std::size_t most);

/// Precisions of these subjects in the order in which they first appear.
std::vector<std::string> precisions_of(std::span<const ReportSubject> subjects);

}  // namespace assay
