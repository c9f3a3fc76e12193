#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/json_fwd.h"
#include "hardware/machine.h"
#include "results/document.h"
#include "studies/shared/matmul_peaks.h"

namespace assay {

enum class ProbeCache : std::uint8_t {
  use,    ///< Take what was measured before on such a machine under such a cap, where it is; else measure and keep.
  renew,  ///< Measure, and keep.
  none    ///< Measure; neither read nor write.
};

struct ProbeOptions {
  FactsOptions machine;
  ProbeCache cache = ProbeCache::use;
  MatmulShape shape;
  double seconds_each = 0.3;  ///< For each kernel of each operand dtype.
};

/// read_machine_facts with the measured part filled: read bandwidth, instruction and matmul peaks for f32, f16, bf16
/// and s8, the verdict on each with its evidence. Measuring takes a few seconds; from the cache, milliseconds, and a
/// third of a second for one more reading of the bandwidth where it holds few. A cache that cannot be read or written
/// is as good as none.
MachineFacts probe(const ProbeOptions& options = {});

/// Fills the measured part of these facts.
void measure_facts(MachineFacts& facts, const MatmulShape& shape, double seconds_each);
/// Of that part the peaks and their verdicts, without the bandwidth.
void measure_peaks(MachineFacts& facts, const MatmulShape& shape, double seconds_each);

/// find_cache_folder()/probe-<hash of the processor, its caches, threads and this build's
/// kernels>-<cap>-<version>.json; absent where there is no cache.
std::optional<std::filesystem::path> probe_cache_file(const MachineFacts& facts);

Document machine_document(const MachineFacts& facts);
/// Of that document what stands at the top of its JSON: the fields of MachineFacts under their names; null where
/// something is not known.
OrderedJson machine_json(const MachineFacts& facts);

}  // namespace assay
