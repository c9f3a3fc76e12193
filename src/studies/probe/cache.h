#pragma once

#include <filesystem>

#include "hardware/facts.h"

namespace assay {

/// Fills the measured part of the facts from their cache file; false where there is none, or it does not fit.
bool load_measurements(MachineFacts& facts);
/// The same from a file that holds the facts' machine_json.
bool load_measurements(MachineFacts& facts, const std::filesystem::path& file);
/// Writes the measured part to the cache file, whole or not at all; a folder that cannot be written is passed over.
void store_measurements(const MachineFacts& facts);

}  // namespace assay
