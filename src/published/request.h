#pragma once

#include <string>
#include <vector>

namespace assay {

/// What can be asked of tables that somebody published.
struct CheckRequest {
  std::vector<std::string> files;    ///< Markdown with any number of tables, .csv, .tsv.
  std::vector<std::string> columns;  ///< "Zeit=latency:ms": what a column holds, where its words do not say it.
  std::string device;                ///< Of known_devices(); empty: as the page says.
  std::string model;                 ///< Of known_models(); likewise.
};

}  // namespace assay
