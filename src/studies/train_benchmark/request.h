#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/document.h"
#include "studies/shared/energy_record.h"
#include "studies/shared/engine.h"
#include "studies/shared/shard.h"
#include "studies/shared/step_variant.h"
#include "studies/shared/surroundings.h"
#include "training/programs.h"

namespace assay {

/// The grid of the end-to-end tables: a row a cell.
struct TrainBenchmarkRequest {
  std::vector<std::string> models;
  std::vector<std::string> precisions = {"fp32"};
  std::vector<Fusion> fusions = {Fusion::on};
  std::vector<std::int64_t> batches = {4};
  std::vector<std::int64_t> seqs = {128};
  std::vector<std::int64_t> warmups = {5};  ///< Several: the warm-up study.
  std::int64_t steps = 10;                  ///< Timed, after the warm-up.
  double seconds = 120;                     ///< Preparation included; a row that would take longer is too slow.
  StepParts parts = StepParts::whole;
  StepAxes step = {};  ///< Every combination is a row.
  std::string device = "cpu";
  Graphs graphs = Graphs::on;
  std::string overrides;
  ModelOptions model_options;
  EnergyRequest energy;
  GridDivision division;                  ///< Among processes and machines, of models, batches and lengths.
  std::vector<std::string> peers = {};    ///< Programs that do the same steps (studies/peers/peer_table.h).
  double peer_seconds = 600;              ///< That one may take to be ready, or for a step.
  std::filesystem::path peers_root = {};  ///< Of their environments; empty: below the cache folder.
  std::filesystem::path root = "/";       ///< Where meters and conditions are read; a recorded tree in tests.
};
/// The longest of its warm-ups.
std::int64_t most_warmup(const TrainBenchmarkRequest& request);

/// Times forward, backward and update of training steps on random tokens, each phase by its own clock readings inside
/// one step. The variants of one (model, batch, sequence) run interleaved, a step each in random order, where memory
/// holds all of them; else one after the other. What does not fit is a row, predicted before anything is allocated.
/// Every record is judged.
Document train_benchmark(const TrainBenchmarkRequest& request, const FactsSource& facts,
                         const StudyCallbacks& callbacks);
/// A document of such records, judged, with the charts of warm-ups.
Document steps_document(Document records);

}  // namespace assay
