#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "results/document.h"
#include "results/parts.h"

namespace assay {

/// Why a row of a grid has no figures, though its neighbours may.
struct Hindrance {
  Status status = Status::ok;  ///< oom or unsupported.
  std::string reason;
  std::optional<std::int64_t> available_bytes = {};  ///< Of memory that did not suffice, where it is known.
};

/// Runs `work`. What memory or this machine lacks for it is the answer; every other error passes.
std::optional<Hindrance> hindrance_of(const std::function<void()>& work);

/// Whether every row of the document's table "cells" is one that this machine cannot run. That memory does not suffice
/// is an answer.
bool answers_nothing(const Document& document);

/// Writes it into a row.
void set_outcome(const Hindrance& hindrance, CellOutcome& outcome);

}  // namespace assay
