#pragma once

#include <map>
#include <set>
#include <string>

namespace assay {

/// Which rooms of src/ each room may include, besides itself and `base`: the table of levels of docs/design.md.
/// An arrow that is missing here is a question of design before it is a word in this table.
inline const std::map<std::string, std::set<std::string>> allowed_rooms = {
    {"base", {}},
    {"tensor", {}},
    {"hub", {}},
    {"program", {"tensor"}},
    {"formats", {"tensor"}},
    {"hardware", {"tensor"}},
    {"processes", {"tensor"}},
    {"text", {"formats", "hub"}},
    {"model", {"program", "formats", "hub", "tensor"}},
    {"kernels", {"program", "hardware", "tensor"}},
    {"runtime", {"kernels", "model", "program", "hardware", "tensor"}},
    {"statistics", {}},
    {"measure", {"statistics", "hardware"}},
    {"results", {"statistics", "tensor"}},
    {"rules", {"results", "statistics", "tensor"}},
    {"generation", {"runtime", "text", "model", "program", "tensor"}},
    {"quality", {"generation", "statistics", "runtime", "text", "model", "program", "tensor"}},
    {"training", {"processes", "runtime", "text", "model", "program", "formats", "tensor"}},
    {"quantization", {"runtime", "text", "model", "program", "formats", "tensor"}},
    {"report", {"results", "rules", "statistics", "tensor"}},
    {"published", {"results", "rules", "statistics", "formats", "tensor"}},
    {"studies",
     {"quality", "generation", "quantization", "training", "results", "rules", "measure", "statistics", "runtime",
      "kernels", "model", "text", "program", "formats", "hardware", "hub", "processes", "tensor"}},
    {"cli", {"studies", "report",  "published", "quality",    "generation", "quantization", "training",
             "results", "rules",   "measure",   "statistics", "runtime",    "kernels",      "model",
             "text",    "program", "formats",   "hardware",   "hub",        "processes",    "tensor"}},
};

}  // namespace assay
