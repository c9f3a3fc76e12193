#include "studies/bench/contenders.h"

#include "base/error.h"
#include "studies/shared/engine.h"

namespace assay {

std::vector<std::vector<Contender>> group_precisions(const Model& model, const BenchRequest& request,
                                                     const std::vector<Contender>& contenders,
                                                     const MachineFacts& facts) {
  const auto weights_bytes = [&](const Contender& contender) -> std::int64_t {
    try {
      EngineOptions engine = request.engine;
      engine.overrides = contender.overrides;
      return make_instance(model, contender.precision, engine, facts)->missing_bytes({1, 1});
    } catch (const Error& e) {
      if (e.code() != ExitCode::lacking) throw;
      return 0;
    }
  };
  // Buffers, the page cache of the checkpoint and the system want room beside the weights.
  const auto limit = static_cast<std::int64_t>(0.75 * static_cast<double>(facts.available_bytes));
  const std::int64_t baseline = weights_bytes(contenders.front());
  std::vector<std::vector<Contender>> groups;
  std::int64_t used = 0;
  for (const Contender& contender : contenders) {
    const std::int64_t bytes = weights_bytes(contender);
    if (groups.empty() || used + bytes > limit) {
      const bool repeat = !groups.empty() && baseline + bytes <= limit;
      groups.push_back(repeat ? std::vector<Contender>{contenders.front()} : std::vector<Contender>{});
      used = repeat ? baseline : 0;
    }
    groups.back().push_back(contender);
    used += bytes;
  }
  return groups;
}

}  // namespace assay
