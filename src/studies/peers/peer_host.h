#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "hardware/facts.h"
#include "measure/companion.h"
#include "model/model.h"
#include "quality/evaluate.h"
#include "studies/calibrate/data.h"
#include "studies/peers/peer_table.h"
#include "studies/shared/child.h"
#include "studies/shared/surroundings.h"

namespace assay {

/// What all peers of one model share in a run: the model as a folder that transformers opens, the workers, a place for
/// their files. What is written goes with this object.
class PeerHost {
 public:
  struct Surroundings {
    const MachineFacts& facts;
    const StudyCallbacks& callbacks;
    std::filesystem::path root = {};   ///< Of environments; empty: below the cache folder.
    CalibrationData calibration = {};  ///< What peers that calibrate do it on; no `data`: random ids.
    std::uint64_t seed = 0;            ///< Of those.
  };
  /// `model` and the surroundings outlive it.
  PeerHost(const Model& model, const Surroundings& surroundings);

  const Model& model() const { return model_; }
  const MachineFacts& facts() const { return surroundings_.facts; }
  InterruptFlag interrupted() const { return surroundings_.callbacks.interrupted; }

  /// The checkpoint's own folder where it holds safetensors, else one that is written in f32 at the first call: of
  /// presets the random weights, of GGUF what its codes stand for, of a family that transformers does not know its
  /// counterpart.
  const std::filesystem::path& model_folder();
  /// The model as a GGUF file in that row of the precision table, written at the first call. Throws a user error where
  /// no type of GGUF is the row, or its family has no names there.
  std::filesystem::path model_file(const std::string& precision);
  /// What a peer that calibrates does it on, cut at the first call.
  const QualitySet& calibration();
  /// A new folder for one worker.
  std::filesystem::path new_folder();
  /// Where workers of one name leave what the next ones need not make again.
  std::filesystem::path kept_folder(const std::string& name);
  /// The worker of a peer, which works in that folder. Its threads are as many as ours; it asks nothing of a network.
  CompanionStart worker_of(const Peer& peer, const std::filesystem::path& folder);

 private:
  /// As other programs know it.
  const Model& known_model();

  const Model& model_;
  std::optional<Model> counterpart_;
  Surroundings surroundings_;
  ScratchFolder scratch_;
  std::filesystem::path model_folder_;
  std::optional<QualitySet> calibration_;
  bool has_workers_ = false;
  int folders_ = 0;
};

/// Batches as one file: of each in turn the ids as s32 (rows, length), where there is a mask its u8 of the same shape,
/// where there are token types theirs as s32. What `shapes_json` says is where each begins, and what it has.
void write_batches(std::span<const QualityBatch> batches, const std::filesystem::path& file);
OrderedJson shapes_json(std::span<const QualityBatch> batches);

}  // namespace assay
