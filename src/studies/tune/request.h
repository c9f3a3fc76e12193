#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "model/model.h"
#include "results/document.h"
#include "studies/shared/energy_record.h"
#include "studies/shared/engine.h"
#include "studies/shared/surroundings.h"

namespace assay {

/// What a mix may lose against fp32 on the same rows.
enum class LossKind : std::uint8_t {
  kl,         ///< Mean of KL(fp32 || mix), nats.
  drop,       ///< Of the share of labels that are right.
  perplexity  ///< Relative rise.
};
struct LossLimit {
  LossKind kind = LossKind::kl;
  double most = 0.01;
};

/// What is made as small as it goes within the limit.
enum class Aim : std::uint8_t {
  latency,  ///< Time of a run.
  decode,   ///< Time of a token of every row behind a prompt, through a cache.
  energy,   ///< Joules of a run, by a meter.
  bytes     ///< Of the weights as stored.
};
const char* name(Aim aim);

struct TuneRequest {
  std::string model = {};
  LossLimit limit = {};
  Aim aim = Aim::latency;
  std::vector<std::string> precisions = {};  ///< That layers may have; empty: all listed that are native here.
  double timed_seconds = 5;                  ///< Of each precision and mix in the last timing.
  double seconds = 600;                      ///< Budget of all of it: what is scored is cut to fit (budget.h).
  std::filesystem::path data = {};           ///< A text, .tsv, .jsonl or folder of .npy; empty: the bundled text.
  std::int64_t window = 128;                 ///< Tokens a row of a text.
  std::int64_t batch = 1;                    ///< Rows of what is timed.
  std::int64_t seq = 128;                    ///< Tokens a row of what is timed; of decode, of the prompt.
  std::int64_t new_tokens = 64;              ///< Of decode: timed behind a prompt; fewer where the context is short.
  std::int64_t search_rows = 0;              ///< That mixes are tried on; 0: at most 16 windows, 256 sentences.
  std::int64_t gradient_rows = 16;           ///< Of them, behind the estimates.
  std::filesystem::path resume = {};         ///< Kept there each minute, and taken from there.
  std::filesystem::path recipe = {};         ///< Where the mix goes.
  EngineOptions engine = {};
  ModelOptions model_options = {};
  EnergyRequest energy = {};
  std::filesystem::path root = "/";  ///< Where the meters' files are.
};

/// The mix of precisions, layer by layer, that is best for the aim and loses no more than the limit: chosen by measured
/// costs and estimated losses, checked and repaired by measuring it whole, then timed against uniform precisions and
/// scored on rows that the search did not see. After an interrupt or the budget, the best so far; says so where none
/// passed. Throws user errors for what does not exist or has no classes to compare; a lacking error where energy is the
/// aim and there is no meter, or it stops while costs are measured.
Document tune(const TuneRequest& request, const FactsSource& facts, const StudyCallbacks& callbacks);

}  // namespace assay
