#pragma once

#include <cstdint>
#include <string>

#include "hardware/facts.h"
#include "results/parts.h"
#include "studies/shared/engine.h"

namespace assay {

/// Version of assay and how it was built.
std::string build_words();
/// What every record of a device and a seed shares.
Setting setting_on(const std::string& device, std::uint64_t seed, const MachineFacts& facts);
/// The same of a model's name, size and weights as stored.
void set_model(const Model& model, Setting& setting);
/// The same of what it runs in.
void set_precision(const std::string& asked, const PrecisionChoice& choice, const EngineOptions& engine,
                   Setting& setting);
/// What every record of one model shares.
Setting setting_of(const Model& model, const EngineOptions& engine, std::uint64_t seed, const MachineFacts& facts);

}  // namespace assay
