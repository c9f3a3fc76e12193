#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "quality/protocols.h"
#include "results/document.h"
#include "studies/peers/peer_table.h"
#include "studies/shared/energy_record.h"
#include "studies/shared/engine.h"
#include "studies/shared/surroundings.h"

namespace assay {

enum class QualityMode : std::uint8_t { automatic, none };
/// Whether each cell is run once in a process of its own before it is timed in this one.
enum class Isolate : std::uint8_t { no, yes };
/// Whether fp32 runs beside what was asked for, so that speed-up and divergence have something to compare with.
enum class Baseline : std::uint8_t { added, as_asked };

/// What a run finds in the caches: what the one before it left there, or nothing.
enum class Caches : std::uint8_t { warm, cold };

/// Whether positions that are padding in every row of a batch are left out. Those behind the last real id change no
/// result, as what is masked has no weight.
enum class SkipPadding : std::uint8_t { on, off };

/// A program that is timed beside the model, as `NAME=COMMAND` has it. In the command {model}, {batch}, {seq} and
/// {threads} stand for what the cell has.
struct BesideCommand {
  std::string name;
  std::string command;
};

struct BenchRequest {
  std::vector<std::string> models;  ///< Empty: the default model.
  /// A model that the others are compared with on the same text, each in the precisions that are asked for. Empty: each
  /// model with its own fp32.
  std::string against;
  std::vector<std::string> peers = {};  ///< Programs that run the same beside this one (studies/peers/peer_table.h).
  PeerUse peer_use = PeerUse::passes;
  std::vector<BesideCommand> beside = {};  ///< And others, of which nothing is known.
  std::vector<std::string> precisions;     ///< Empty or "all": every row that is listed on the device.
  std::vector<std::int64_t> batches = {1};
  std::vector<std::int64_t> seqs;  ///< Most ids a row. Empty: 128; of data that comes in rows, these as they are.
  std::filesystem::path data;      ///< A text, .tsv, .jsonl or a folder of .npy; empty: the bundled text.
  std::optional<InputsOf> inputs;  ///< What is timed; absent: `data` where it is given.
  RowOrder row_order = RowOrder::given;
  SkipPadding skip_padding = SkipPadding::on;
  ProtocolOptions protocol;
  std::filesystem::path calibration;       ///< Data that int8 is calibrated on; empty: it is not.
  std::int64_t calibration_samples = 128;  ///< Rows of it.
  double seconds = 5;                      ///< Budget a cell.
  int rounds = 0;                          ///< Exactly so many rounds; 0: by the stopping rule.
  int processes = 1;     ///< Fresh ones in which a cell is timed; 0: as fits its budget, see docs/measuring.md.
  int process = 1;       ///< Which of them this one is: each draws the data's batches in an order of its own.
  int least_rounds = 1;  ///< Whatever the budget.
  double width = 0.02;   ///< Asked width of the median's interval; 0: none is asked.
  QualityMode quality = QualityMode::automatic;
  Emulated emulated = Emulated::left_out;
  Isolate isolate = Isolate::no;
  double trial_seconds = 0;  ///< What a cell's own process may take; 0: see trial_limit_s.
  Baseline baseline = Baseline::added;
  Caches caches = Caches::warm;
  EngineOptions engine;
  ModelOptions model_options;  ///< Its seed is the one seed: weights, inputs, order of the rounds, bootstrap.
  EnergyRequest energy;
  std::filesystem::path root = "/";       ///< Where meters and conditions are read; a recorded tree in tests.
  std::filesystem::path peers_root = {};  ///< Of the peers' environments; empty: below the cache folder.
  double peer_seconds = 600;              ///< That a peer may take to be ready, or for one answer.
  std::filesystem::path trial_program = "/proc/self/exe";  ///< Runs a cell for itself, too; a stand-in in tests.
};

/// The main job: every model in every precision at every shape, timed interleaved, scored on the same instances,
/// judged. A cell that cannot run is a row with its reason. After an interrupt the document holds what was measured so
/// far.
///
/// Models, data, shapes and precisions are looked at before anything is measured; throws their user errors.
Document bench(const BenchRequest& request, const FactsSource& facts, const StudyCallbacks& callbacks);

}  // namespace assay
