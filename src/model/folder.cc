#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "base/threads.h"
#include "formats/safetensors.h"
#include "model/checkpoint.h"

namespace assay {

const char* family_prefix(Family family) {
  switch (family) {
    case Family::gpt2:
      return "transformer.";
    case Family::bert:
      return "bert.";
    case Family::distilbert:
      return "distilbert.";
    case Family::llama:
      return "model.";
    case Family::cs336:
      return "";
  }
  return "";
}

namespace {

/// Without the family's prefix, and with today's names for LayerNorm's parameters (old files say gamma and beta).
std::string canonical(const std::string& name, Family family) {
  const std::string prefix = family_prefix(family);
  std::string result = !prefix.empty() && name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name;
  if (result.ends_with("LayerNorm.gamma")) result.replace(result.size() - 5, 5, "weight");
  if (result.ends_with("LayerNorm.beta")) result.replace(result.size() - 4, 4, "bias");
  return result;
}

}  // namespace

const char* embedding_name(Family family) {
  switch (family) {
    case Family::gpt2:
      return "wte.weight";
    case Family::bert:
    case Family::distilbert:
      return "embeddings.word_embeddings.weight";
    case Family::llama:
      return "embed_tokens.weight";
    case Family::cs336:
      return "token_embeddings.weight";
  }
  return "";
}

bool is_conv1d(const std::string& name, Family family) {
  if (family != Family::gpt2) return false;
  for (const char* layer : {".attn.c_attn.weight", ".attn.c_proj.weight", ".mlp.c_fc.weight", ".mlp.c_proj.weight"}) {
    if (name.ends_with(layer)) return true;
  }
  return false;
}

Tensor transposed(const TensorView& from) {
  const std::int64_t rows = from.shape[0];
  const std::int64_t columns = from.shape[1];
  Tensor result(DType::f32, {columns, rows});
  const auto* source = from.as<float>();
  auto* target = result.as<float>();
  constexpr std::int64_t square = 32;
  parallel_for((columns + square - 1) / square, 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r0 = 0; r0 < rows; r0 += square) {
      for (std::int64_t c = begin * square; c < std::min(columns, end * square); ++c) {
        for (std::int64_t r = r0; r < std::min(rows, r0 + square); ++r) target[c * rows + r] = source[r * columns + c];
      }
    }
  });
  return result;
}

namespace {

WeightData as_f32(const TensorView& view) {
  if (view.dtype == DType::f32) return {view, {}};
  WeightData data{{}, converted(view, DType::f32)};
  data.view = data.owned.view();
  return data;
}

/// Integers and floats of eight bits are codes: without scales, of which nothing here knows, they mean nothing.
bool is_coded(const StoredTensor& tensor) {
  return !tensor.dtype || !is_float(*tensor.dtype) || size_of(*tensor.dtype) < 2;
}

Weight make_weight(const std::shared_ptr<Safetensors>& file, const StoredTensor& tensor, Family family) {
  Weight weight;
  weight.name = canonical(tensor.name, family);
  weight.checkpoint_name = tensor.name;
  weight.shape = tensor.shape;
  weight.stored = tensor.stored;
  weight.file = file->path_of(tensor).string();
  weight.is_coded = is_coded(tensor);
  weight.bytes = tensor.bytes;
  const bool conv1d = is_conv1d(weight.name, family) && tensor.shape.size() == 2;
  if (conv1d) std::swap(weight.shape[0], weight.shape[1]);
  weight.stored_transposed = conv1d;
  weight.load = [file, &tensor, conv1d] {
    WeightData data = as_f32(tensor.view());
    if (!conv1d) return data;
    data.owned = transposed(data.view);
    data.view = data.owned.view();
    return data;
  };
  weight.release = [file, &tensor] { file->files[tensor.file].release_pages(tensor.bytes); };
  return weight;
}

}  // namespace

Checkpoint open_folder(const std::filesystem::path& folder) {
  Checkpoint result;
  const std::filesystem::path config = folder / "config.json";
  result.config = parse_config(parse_json(read_file(config, 16 << 20), config.string()), config.string());
  const auto file = std::make_shared<Safetensors>(open_safetensors_folder(folder));
  result.name = file->files.size() == 1 ? file->files[0].path().string() : folder.string();
  for (const MappedFile& mapped : file->files) result.files.push_back(mapped.path());
  for (const StoredTensor& tensor : file->tensors) {
    Weight weight = make_weight(file, tensor, result.config.family);
    const std::string name = weight.name;
    if (!result.tensors.emplace(name, std::move(weight)).second) {
      fail_user("{}: tensor '{}' stands twice, with and without its prefix", result.name, tensor.name);
    }
  }
  const bool encoder = result.config.family == Family::bert || result.config.family == Family::distilbert;
  if (encoder && result.tensors.count("classifier.weight") != 0) result.config.task = Task::classification;
  return result;
}

}  // namespace assay
