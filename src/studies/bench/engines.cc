#include "studies/bench/engines.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/printable.h"
#include "measure/child.h"
#include "results/identity.h"
#include "studies/peers/beside.h"
#include "studies/peers/environment.h"

namespace assay {
namespace {

const BesideCommand* find_beside(const BenchRequest& request, const std::string& name) {
  const auto found = std::ranges::find(request.beside, name, &BesideCommand::name);
  return found == request.beside.end() ? nullptr : &*found;
}

bool has_engines(const BenchRequest& request) {
  return !request.peers.empty() || !request.beside.empty();
}

/// What other programs cannot be asked for.
void check_alone(const BenchRequest& request) {
  if (request.processes > 1)
    fail_user("--processes {} with --peers: they are timed in one process each; drop it", request.processes);
  if (!request.against.empty()) fail_user("--baseline with --peers: it compares models; drop one of them");
  if (request.engine.device != "cpu")
    fail_user("--device {} with --peers: they run on the processor", printable(request.engine.device));
}

}  // namespace

void check_engines(const BenchRequest& request) {
  for (const std::string& name : request.peers) find_peer(name, request.peer_use);
  if (has_engines(request)) check_alone(request);
  std::set<std::string> names;
  for (const Peer& peer : peers()) names.insert(peer.name);
  for (const BesideCommand& one : request.beside) {
    if (!names.insert(one.name).second)
      fail_user("--beside {}: the name stands for a peer, or twice", printable(one.name));
    parse_command({one.command});
  }
}

void install_peers(const BenchRequest& request, const StudyCallbacks& callbacks) {
  for (const std::string& name : request.peers)
    install_environment(environment_of(find_peer(name)), request.peers_root, callbacks);
}

void set_engine(const Contender& contender, const BenchRequest& request, PeerHost* host, Record& blank) {
  blank.setting.engine = contender.engine;
  if (const BesideCommand* beside = find_beside(request, contender.engine); beside != nullptr) {
    blank.setting.engine_settings = beside->command;
    return;
  }
  const Peer& peer = find_peer(contender.engine);
  blank.setting.engine_settings = peer_settings(peer, contender.precision, request.peer_use);
  if (const PeerPrecision* asked = peer_precision(peer, contender.precision, request.peer_use); asked != nullptr) {
    if (asked->calibrated != nullptr)
      blank.setting.calibration = fmt::format("{}; {}", asked->calibrated, calibration_words(host->calibration()));
    return;
  }
  blank.outcome.status = Status::unsupported;
  blank.outcome.reason = fmt::format("{} cannot be asked for {}; it can for {}", peer.name, contender.precision,
                                     peer_precision_names(peer, request.peer_use));
}

std::unique_ptr<TimedEngine> timed_engine(const BenchGroup& group, const Contender& contender,
                                          const std::vector<QualityBatch>& batches) {
  const BenchRequest& request = group.request();
  if (const BesideCommand* beside = find_beside(request, contender.engine); beside != nullptr) {
    const Extent extent = batches.front().extent;
    return timed_beside(beside->command, {group.model().name, extent.batch, extent.seq, group.facts().threads},
                        group.callbacks().interrupted);
  }
  return timed_peer(*group.peers(),
                    {.peer = find_peer(contender.engine),
                     .precision = contender.precision,
                     .batches = batches,
                     .logits = request.engine.program.logits,
                     .most_s = request.peer_seconds},
                    {request.engine.program, request.emulated});
}

ReadCounters counters_with(const std::vector<std::unique_ptr<TimedEngine>>& engines,
                           const std::filesystem::path& root) {
  if (engines.empty()) return {};
  return [&engines, root] {
    Counters counters = read_counters(root);
    for (const auto& engine : engines) counters.own_s += engine->processor_s();
    return counters;
  };
}

}  // namespace assay
