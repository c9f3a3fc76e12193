#include "studies/shared/setting.h"

#include <fmt/format.h>

#include <span>

#include "base/hash.h"

namespace assay {

std::string build_words() {
  return "assay " ASSAY_VERSION ", " ASSAY_COMPILER;
}

Setting setting_on(const std::string& device, std::uint64_t seed, const MachineFacts& facts) {
  Setting setting;
  setting.baseline = "fp32";
  setting.device = device;
  setting.threads = facts.threads;
  setting.seed = static_cast<std::int64_t>(seed);
  setting.machine =
      fmt::format("{}, {} cores{}", facts.processor, facts.cores, facts.cap.empty() ? "" : ", capped at " + facts.cap);
  if (facts.gpu) setting.machine += ", " + facts.gpu->name;
  if (device == "cuda") setting.graphs = Switch::on;
  setting.build = build_words();
  return setting;
}

void set_model(const Model& model, Setting& setting) {
  setting.model = model.name;
  setting.parameters = model.weights.parameters();
  setting.stored_dtype = model.weights.stored_dtypes();
}

void set_precision(const std::string& asked, const PrecisionChoice& choice, const EngineOptions& engine,
                   Setting& setting) {
  setting.precision = precision_title(asked, choice);
  const Recipe* recipe = find_recipe(asked, engine);
  if (recipe == nullptr) return;
  setting.recipe = recipe_text(*recipe);
  setting.recipe_hash = sha256_hex(std::as_bytes(std::span(*setting.recipe)));
}

Setting setting_of(const Model& model, const EngineOptions& engine, std::uint64_t seed, const MachineFacts& facts) {
  Setting setting = setting_on(engine.device, seed, facts);
  set_model(model, setting);
  setting.logits = engine.program.logits == LogitRows::last ? LogitsOf::last : LogitsOf::all;
  setting.fusion = switched(engine.fusion == Fusion::on);
  setting.casts = engine.casts == Casts::once ? CastsMade::once : CastsMade::every_call;
  if (setting.graphs && engine.graphs == Graphs::off) setting.graphs = Switch::off;
  return setting;
}

}  // namespace assay
