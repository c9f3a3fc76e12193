#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "measure/conditions.h"
#include "measure/energy.h"
#include "studies/bench/group.h"
#include "studies/peers/timed_engine.h"

namespace assay {

// Other programs that are timed beside this one: peers, and commands of which nothing is known.

/// Throws a user error for peers that do not exist, for names that stand twice and for what they are not timed with;
/// Error(lacking) for a peer that cannot be had.
void check_engines(const BenchRequest& request);
/// Makes the environments of the peers, where they are not there.
void install_peers(const BenchRequest& request, const StudyCallbacks& callbacks);

/// What of a record says which program it is of, and why it cannot be asked for that precision. `host`: where it is a
/// peer.
void set_engine(const Contender& contender, const BenchRequest& request, PeerHost* host, Record& blank);

/// That contender on those batches, not yet prepared.
std::unique_ptr<TimedEngine> timed_engine(const BenchGroup& group, const Contender& contender,
                                          const std::vector<QualityBatch>& batches);

/// The counters of conditions with the processor time of those programs as our own; empty without any.
ReadCounters counters_with(const std::vector<std::unique_ptr<TimedEngine>>& engines, const std::filesystem::path& root);

}  // namespace assay
