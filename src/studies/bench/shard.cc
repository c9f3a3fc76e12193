#include "studies/bench/shard.h"

#include "base/error.h"
#include "studies/bench/contenders.h"

namespace assay {

ShardPart keep_part(BenchRequest& request, std::int64_t cells) {
  if (request.division.part && !request.against.empty())
    fail_user("--shard with --baseline: models are compared with one another in one process; drop one of them");
  const std::vector<Contender> contenders = asked_contenders(request);
  const std::size_t baselines = request.baseline == Baseline::added && contenders.size() > 1 ? 1 : 0;
  const bool has_engines = !request.peers.empty() || !request.beside.empty();
  // Other programs' rows stand beside ours: a cell with them stays whole.
  const auto rows = has_engines ? std::int64_t{1} : static_cast<std::int64_t>(contenders.size() - baselines);
  const ShardPart part = take_part(request.division, {cells, rows});
  if (part.is_empty() || part.rows.end - part.rows.first == rows) return part;
  request.precisions.clear();
  for (std::int64_t row = part.rows.first; row < part.rows.end; ++row)
    request.precisions.push_back(contenders[baselines + static_cast<std::size_t>(row)].precision);
  if (baselines > 0 && !part.owns_baselines()) request.baseline_rows = BaselineRows::of_another_shard;
  return part;
}

}  // namespace assay
