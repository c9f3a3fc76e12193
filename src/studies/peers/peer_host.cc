#include "studies/peers/peer_host.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/system_error.h"
#include "model/counterpart.h"
#include "quantization/folder.h"
#include "quantization/gguf_file.h"
#include "results/model_name.h"
#include "studies/peers/environment.h"
#include "studies/peers/workers.h"
#include "studies/shared/engine.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// For scales of which only the time is looked at.
constexpr std::int64_t rows_of_random_ids = 16;

fs::path made_folder(const fs::path& path) {
  std::error_code fault;
  fs::create_directories(path, fault);
  if (fault) fail_call(path.string(), fault.value());
  return path;
}

/// What transformers reads as it is.
bool is_checkpoint_folder(const Model& model) {
  if (model.config.family->counterpart != nullptr) return false;
  if (!model.files || !is_folder(*model.files) || model.config.whole != nullptr) return false;
  for (const auto& [name, weight] : model.weights.by_name) {
    if (weight.is_coded || weight.blocks != nullptr) return false;  // Quantised: in f32, as we run it.
  }
  return true;
}

/// Its constants are what is written.
std::unique_ptr<Instance> instance_to_write(const Model& model, const std::string& precision,
                                            const MachineFacts& facts) {
  EngineOptions engine;
  engine.fusion = Fusion::off;
  return make_instance(model, precision, engine, facts);
}

void write_in_f32(const Model& model, const MachineFacts& facts, const fs::path& folder, InterruptFlag interrupted) {
  const auto instance = instance_to_write(model, "fp32", facts);
  write_model_folder({model, *instance, "fp32", "", interrupted}, folder);
}

std::size_t bytes_of(const QualityBatch& batch) {
  return sizeof(std::int32_t) * (batch.ids.size() + batch.token_types.size()) + batch.mask.size();
}

}  // namespace

PeerHost::PeerHost(const Model& model, const Surroundings& surroundings)
    : model_(model), surroundings_(surroundings), scratch_(make_folder("assay-peers")) {}

const fs::path& PeerHost::model_folder() {
  if (!model_folder_.empty()) return model_folder_;
  if (is_checkpoint_folder(model_)) return model_folder_ = fs::absolute(*model_.files);
  const fs::path folder = made_folder(*scratch_.get() / "model");
  write_in_f32(known_model(), facts(), folder, interrupted());
  return model_folder_ = folder;
}

fs::path PeerHost::model_file(const std::string& precision) {
  const fs::path file = made_folder(*scratch_.get() / "files") / (precision + ".gguf");
  if (is_there(file)) return file;
  const Model& model = known_model();
  const auto instance = instance_to_write(model, precision, facts());
  const QuantizationSource source = {model, *instance, precision, "", interrupted()};
  check_gguf(source);
  write_model_gguf(source, file);
  return file;
}

const Model& PeerHost::known_model() {
  if (model_.config.family->counterpart == nullptr) return model_;
  if (!counterpart_) counterpart_.emplace(as_counterpart(model_));
  return *counterpart_;
}

const QualitySet& PeerHost::calibration() {
  if (calibration_) return *calibration_;
  if (!surroundings_.calibration.data.empty())
    return calibration_.emplace(calibration_rows(model_, surroundings_.calibration));
  if (surroundings_.callbacks.say && !model_.random_weights())
    surroundings_.callbacks.say(
        fmt::format("{}: peers are calibrated on random ids, which their speed does not see and their quality does; "
                    "--calibrate FILE is data for it",
                    shown_model_name(model_.name)));
  return calibration_.emplace(random_calibration_rows(model_, rows_of_random_ids, surroundings_.seed));
}

fs::path PeerHost::new_folder() {
  return made_folder(*scratch_.get() / std::to_string(++folders_));
}

fs::path PeerHost::kept_folder(const std::string& name) {
  return made_folder(*scratch_.get() / "kept" / name);
}

CompanionStart PeerHost::worker_of(const Peer& peer, const fs::path& folder) {
  const fs::path workers = *scratch_.get() / "workers";
  if (!has_workers_) {
    made_folder(workers);
    for (const WorkerFile& file : worker_files) write_file_atomically(workers / file.name, file.text());
    has_workers_ = true;
  }
  const std::string threads = std::to_string(facts().threads);
  return {.words = {environment_python(environment_of(peer), surroundings_.root).string(), "-E", "-s",
                    (workers / "worker.py").string(), peer.worker},
          .environment = {"OMP_NUM_THREADS=" + threads, "MKL_NUM_THREADS=" + threads, "HF_HUB_OFFLINE=1",
                          "TRANSFORMERS_OFFLINE=1", "TOKENIZERS_PARALLELISM=false", "CUDA_VISIBLE_DEVICES=",
                          "TMPDIR=" + folder.string(), "TORCHINDUCTOR_CACHE_DIR=" + (folder / "inductor").string()},
          // What somebody chose for this process: passive makes llama.cpp's tokens five times slower.
          .without = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"},
          .folder = folder,
          .interrupted = interrupted()};
}

void write_batches(std::span<const QualityBatch> batches, const fs::path& file) {
  std::string bytes;
  const auto append = [&](const auto& values) {
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
  };
  for (const QualityBatch& batch : batches) {
    append(batch.ids);
    append(batch.mask);
    append(batch.token_types);
  }
  write_file_atomically(file, bytes);
}

OrderedJson shapes_json(std::span<const QualityBatch> batches) {
  OrderedJson shapes = OrderedJson::array();
  std::size_t offset = 0;
  for (const QualityBatch& batch : batches) {
    shapes.push_back({{"rows", batch.extent.batch},
                      {"length", batch.extent.seq},
                      {"offset", offset},
                      {"mask", !batch.mask.empty()},
                      {"types", !batch.token_types.empty()}});
    offset += bytes_of(batch);
  }
  return shapes;
}

}  // namespace assay
