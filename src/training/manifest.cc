#include "training/manifest.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/system_error.h"
#include "formats/safetensors.h"
#include "model/lora.h"
#include "model/published_files.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* manifest_format = "assay manifest 1";

/// All but the manifest.
std::vector<std::string> checkpoint_files() {
  std::vector<std::string> names(std::begin(support_files), std::end(support_files));
  names.insert(names.end(), {adapter_config_file, weights_file, adapter_weights_file, moments_file, progress_file});
  return names;
}

bool is_checkpoint_file(const std::string& name) {
  const std::vector<std::string> names = checkpoint_files();
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_plain_file(const fs::path& file) {
  std::error_code unreadable;
  return fs::is_regular_file(file, unreadable);
}

std::int64_t bytes_of(const fs::path& file) {
  std::error_code error;
  const auto bytes = static_cast<std::int64_t>(fs::file_size(file, error));
  if (error) fail_call(file.string(), error.value());
  return bytes;
}

bool holds_tensors(const fs::path& file) {
  const fs::path name = file.filename();
  return name == weights_file || name == adapter_weights_file || name == moments_file;
}

std::map<std::string, TensorFacts> tensors_of(const fs::path& file) {
  std::map<std::string, TensorFacts> tensors;
  for (const StoredTensor& tensor : open_safetensors(file).tensors)
    tensors[tensor.name] = {tensor.stored, tensor.shape};
  return tensors;
}

FileFacts facts_of(const fs::path& file) {
  FileFacts facts{bytes_of(file), sha256_file(file), {}};
  if (holds_tensors(file)) facts.tensors = tensors_of(file);
  return facts;
}

Json json_of(const FileFacts& facts) {
  Json json = {{"bytes", facts.bytes}, {"sha256", facts.sha256}};
  for (const auto& [name, tensor] : facts.tensors)
    json["tensors"][name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}};
  return json;
}

std::int64_t whole_number(const Json& json, const std::string& file, const char* what) {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  const bool is_one = json.is_number_unsigned() && json.get<std::uint64_t>() <= most;
  if (!is_one) fail_user("{}: '{}' is no number of 0 or more, or beyond 64 bits", file, what);
  return json.get<std::int64_t>();
}

TensorFacts tensor_from(const Json& json, const std::string& file) {
  TensorFacts facts{json.at("dtype").get<std::string>(), {}};
  for (const Json& extent : json.at("shape")) facts.shape.push_back(whole_number(extent, file, "shape"));
  return facts;
}

FileFacts file_from(const Json& json, const std::string& file) {
  FileFacts facts{whole_number(json.at("bytes"), file, "bytes"), json.at("sha256").get<std::string>(), {}};
  const Json tensors = json.value("tensors", Json::object());
  for (const auto& [name, tensor] : tensors.items()) facts.tensors[name] = tensor_from(tensor, file);
  return facts;
}

Manifest manifest_from(const Json& json, const std::string& file) {
  if (json.at("format") != manifest_format) fail_user("{}: is not of the format '{}'", file, manifest_format);
  Manifest manifest{whole_number(json.at("step"), file, "step"), {}};
  for (const auto& [name, facts] : json.at("files").items()) {
    if (!is_checkpoint_file(name)) fail_user("{}: '{}' is no file of a checkpoint", file, printable(name));
    manifest.files[name] = file_from(facts, file);
  }
  const char* values = manifest.files.count(adapter_weights_file) == 0 ? weights_file : adapter_weights_file;
  for (const char* needed : {values, moments_file, progress_file}) {
    if (manifest.files.count(needed) == 0) fail_user("{}: does not say what {} was", file, needed);
  }
  return manifest;
}

std::string words(const TensorFacts& facts) {
  return fmt::format("{} {}", printable(facts.dtype), to_string(facts.shape));
}

void check_tensors(const fs::path& file, const FileFacts& wanted) {
  const std::map<std::string, TensorFacts> there = tensors_of(file);
  for (const auto& [name, facts] : wanted.tensors) {
    const auto found = there.find(name);
    if (found == there.end()) fail_user("{}: tensor '{}' of its manifest is missing", file.string(), printable(name));
    if (found->second != facts)
      fail_user("{}: tensor '{}' is {}, its manifest says {}", file.string(), printable(name), words(found->second),
                words(facts));
  }
  for (const auto& [name, facts] : there) {
    if (wanted.tensors.count(name) == 0)
      fail_user("{}: tensor '{}' is not in its manifest", file.string(), printable(name));
  }
}

void check_file(const fs::path& file, const FileFacts& wanted, std::int64_t step) {
  const std::int64_t bytes = bytes_of(file);
  if (bytes != wanted.bytes)
    fail_user("{}: has {} bytes, its manifest of step {} says {}", file.string(), bytes, step, wanted.bytes);
  const std::string sha256 = sha256_file(file);
  if (sha256 != wanted.sha256)
    fail_user("{}: is not the file that was saved after step {}: its SHA-256 is {:.12}..., the manifest says {}...",
              file.string(), step, sha256, printable(wanted.sha256.substr(0, 12)));
  if (holds_tensors(file)) check_tensors(file, wanted);
}

}  // namespace

void write_manifest(const fs::path& folder, std::int64_t step) {
  Json files = Json::object();
  for (const std::string& name : checkpoint_files()) {
    if (is_plain_file(folder / name)) files[name] = json_of(facts_of(folder / name));
  }
  const Json json = {{"format", manifest_format}, {"step", step}, {"files", files}};
  write_file_atomically(folder / manifest_file, json.dump(1) + "\n");
}

std::optional<Manifest> read_manifest(const fs::path& folder) {
  constexpr std::size_t most_bytes = std::size_t{64} << 20;
  const fs::path file = folder / manifest_file;
  std::error_code unreadable;
  if (fs::symlink_status(file, unreadable).type() == fs::file_type::not_found) return std::nullopt;
  const Json json = parse_json(read_file(file, most_bytes), file.string());
  try {
    return manifest_from(json, file.string());
  } catch (const Json::exception&) {
    fail_user("{}: lacks an entry, or holds one of another kind", file.string());
  }
}

void check_files(const Manifest& manifest, const fs::path& folder, Missing missing) {
  for (const auto& [name, wanted] : manifest.files) {
    const fs::path file = folder / name;
    std::error_code unreadable;
    if (fs::symlink_status(file, unreadable).type() == fs::file_type::not_found) {
      if (missing == Missing::allowed) continue;
      fail_user("{}: is missing, though the manifest beside it names it", file.string());
    }
    check_file(file, wanted, manifest.step);
  }
}

}  // namespace assay
