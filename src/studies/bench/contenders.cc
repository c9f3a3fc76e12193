#include "studies/bench/contenders.h"

#include <algorithm>

#include "base/error.h"
#include "results/identity.h"
#include "studies/peers/peer_table.h"
#include "studies/shared/engine.h"

namespace assay {

namespace {

bool asks_for_all(const BenchRequest& request) {
  return request.precisions.empty() || request.precisions.front() == "all";
}

/// What each peer is asked for. Recipes are this program's.
std::vector<Contender> peer_contenders(const BenchRequest& request) {
  std::vector<Contender> list;
  for (const std::string& name : request.peers) {
    const Peer& peer = find_peer(name, request.peer_use);
    std::vector<std::string> precisions;
    if (asks_for_all(request)) {
      for (const PeerPrecision& one : precisions_of(peer, request.peer_use)) precisions.emplace_back(one.precision);
    } else {
      for (const std::string& asked : request.precisions) precisions.push_back(precision_name(asked, request.engine));
    }
    for (const std::string& precision : precisions) {
      if (find_recipe(precision, request.engine) == nullptr) list.push_back({precision, "", name});
    }
  }
  for (const BesideCommand& one : request.beside) list.push_back({no_precision, "", one.name});
  return list;
}

}  // namespace

std::vector<Contender> asked_contenders(const BenchRequest& request) {
  std::vector<Contender> list;
  const auto add = [&](const Contender& contender) {
    if (std::find(list.begin(), list.end(), contender) == list.end()) list.push_back(contender);
  };
  if (request.baseline == Baseline::added) add({"fp32", ""});
  const std::vector<std::string> all = {"all"};
  for (const std::string& precision : request.precisions.empty() ? all : request.precisions) {
    if (precision != all.front()) {
      add({precision_name(precision, request.engine), request.engine.overrides});
      continue;
    }
    for (const Precision& row : precision_table()) {
      if (is_listed_on(row, request.engine.device)) add({row.name, request.engine.overrides});
    }
  }
  for (const Contender& one : peer_contenders(request)) add(one);
  return list;
}

bool peers_calibrate(const BenchRequest& request) {
  return std::ranges::any_of(peer_contenders(request), [&](const Contender& contender) {
    if (contender.precision == no_precision) return false;
    const PeerPrecision* const asked =
        peer_precision(find_peer(contender.engine), contender.precision, request.peer_use);
    return asked != nullptr && asked->calibrated != nullptr;
  });
}

bool lacks_scales(const Contender& contender, const BenchRequest& request) {
  if (!contender.engine.empty() || !request.calibration.empty() || !peers_calibrate(request)) return false;
  return find_recipe(contender.precision, request.engine) == nullptr &&
         find_precision(contender.precision).scheme == Scheme::static_int8;
}

void check_precision(const Contender& contender, const EngineOptions& engine) {
  if (contender.engine.empty()) precision_choice(contender.precision, engine_for(contender, engine), std::nullopt);
}

EngineOptions engine_for(const Contender& contender, EngineOptions engine) {
  engine.overrides = contender.overrides;
  return engine;
}

std::vector<std::vector<Contender>> group_precisions(const Model& model, const BenchRequest& request,
                                                     const std::vector<Contender>& contenders,
                                                     const MachineFacts& facts) {
  const auto weights_bytes = [&](const Contender& contender) -> std::int64_t {
    if (contender.precision == no_precision || lacks_scales(contender, request)) return 0;
    try {
      const EngineOptions engine = engine_for(contender, request.engine);
      return make_instance(model, contender.engine.empty() ? contender.precision : "fp32", engine, facts)
          ->missing_bytes({1, 1});
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
