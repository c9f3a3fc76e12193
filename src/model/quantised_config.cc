#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "model/config_reader.h"
#include "model/quantised.h"
#include "model/quantised_layouts.h"

namespace assay {
namespace {

using Method = StoredQuantisation::Method;

void check_bits(const StoredQuantisation& q, std::initializer_list<std::int64_t> known, const std::string& file) {
  if (std::find(known.begin(), known.end(), q.bits) == known.end())
    fail_user("{}: codes of {} bits of this quantisation are not read", file, q.bits);
}

/// -1 and nothing mean: all of a row.
std::int64_t group_size(const ConfigReader& in, const char* key) {
  if (!in.has(key)) return 0;
  const Json& value = in.json().at(key);
  return value.is_number_integer() && value == -1 ? 0 : in.count(key);
}

/// Outputs and inputs that share a scale, where they are said.
void read_block(const ConfigReader& in, const char* key, StoredQuantisation& q) {
  if (!in.has(key)) return;
  const Json& size = in.json().at(key);
  const auto is_size = [](const Json& one) { return one.is_number_integer() && one > 0 && one <= (1 << 30); };
  if (!size.is_array() || size.size() != 2 || !is_size(size[0]) || !is_size(size[1]))
    fail_user("{}: '{}' is no pair of sizes", in.file(), key);
  q.block_rows = size[0].get<std::int64_t>();
  q.block_columns = size[1].get<std::int64_t>();
}

StoredQuantisation read_fp8(const ConfigReader& in) {
  StoredQuantisation q{.method = Method::fp8};
  read_block(in, "weight_block_size", q);
  return q;
}

void check_format(const StoredQuantisation& q, const std::string& file) {
  std::vector<std::string> known;
  for (const StoredLayout& layout : stored_layouts()) {
    if (layout.method == q.method) known.emplace_back(layout.format);
  }
  if (std::find(known.begin(), known.end(), q.format) == known.end())
    fail_user("{}: compressed-tensors of format '{}' are not read; {} are", file, printable(q.format, 60),
              fmt::join(known, ", "));
}

/// One group of 'config_groups'; it may have a format of its own.
StoredQuantisation read_group(const ConfigReader& group, const std::string& format) {
  StoredQuantisation q{.method = Method::compressed_tensors, .format = group.text_or("format", format)};
  check_format(q, group.file());
  if (!group.has("weights")) fail_user("{}: its group of 'config_groups' has no 'weights'", group.file());
  const ConfigReader weights(group.json().at("weights"), group.file());
  q.bits = weights.count_or("num_bits", 8);
  q.group = group_size(weights, "group_size");
  read_block(weights, "block_structure", q);
  if (q.format == "pack-quantized") check_bits(q, {1, 2, 3, 4, 5, 6, 7, 8}, group.file());
  return q;
}

/// Of several groups each names the modules that are in it.
void add_modules(const ConfigReader& group, const StoredQuantisation& q, StoredQuantisation& all) {
  if (!group.has("targets") || !group.json().at("targets").is_array())
    fail_user("{}: a group of 'config_groups' has no list of 'targets'", group.file());
  for (const Json& target : group.json().at("targets")) {
    const std::string module = target.is_string() ? target.get<std::string>() : "";
    if (module.find('.') == std::string::npos || module.starts_with("re:"))
      fail_user("{}: of several 'config_groups', 'targets' that name modules are read, not '{}'", group.file(),
                printable(target.dump(), 60));
    if (!all.by_module.emplace(module, q).second)
      fail_user("{}: module '{}' is in two of the 'config_groups'", group.file(), printable(module, 60));
  }
}

StoredQuantisation read_compressed(const ConfigReader& in) {
  const std::string format = in.text_or("format", "");
  const bool is_mixed = format == "mixed-precision";
  if (!is_mixed) check_format({.method = Method::compressed_tensors, .format = format}, in.file());
  if (!in.has("config_groups") || !in.json().at("config_groups").is_object() || in.json().at("config_groups").empty())
    fail_user("{}: has no 'config_groups'", in.file());
  const Json& groups = in.json().at("config_groups");
  if (groups.size() == 1) return read_group(ConfigReader(groups.begin().value(), in.file()), format);
  StoredQuantisation all{.method = Method::compressed_tensors};
  for (const auto& [name, json] : groups.items()) {
    const ConfigReader group(json, in.file());
    add_modules(group, read_group(group, format), all);
  }
  return all;
}

StoredQuantisation read_gptq(const ConfigReader& in) {
  StoredQuantisation q{.method = Method::gptq, .bits = in.count_or("bits", 4), .group = group_size(in, "group_size")};
  check_bits(q, {2, 4, 8}, in.file());
  const std::string format = in.text_or("checkpoint_format", "gptq");
  if (format != "gptq" && format != "gptq_v2")
    fail_user("{}: GPTQ of 'checkpoint_format' '{}' is not read; gptq and gptq_v2 are", in.file(),
              printable(format, 60));
  q.zeros_less_one = format == "gptq";
  return q;
}

StoredQuantisation read_awq(const ConfigReader& in) {
  StoredQuantisation q{.method = Method::awq, .bits = in.count_or("bits", 4), .group = group_size(in, "group_size")};
  check_bits(q, {4}, in.file());
  const std::string version = in.text_or("version", "gemm");
  if (version != "gemm" && version != "GEMM")
    fail_user("{}: AWQ of version '{}' is not read; gemm is", in.file(), printable(version, 60));
  in.require_flag("zero_point", true);
  return q;
}

/// Of experts that stand in one tensor (model/joined_experts.h).
StoredQuantisation read_mxfp4(const ConfigReader&) {
  return {.method = Method::mxfp4};
}

/// Everything else stands beside the weights.
StoredQuantisation read_bitsandbytes(const ConfigReader&) {
  return {.method = Method::bitsandbytes};
}

struct MethodRow {
  const char* name;
  StoredQuantisation (*read)(const ConfigReader& in);
};
constexpr MethodRow methods[] = {{"fp8", read_fp8}, {"compressed-tensors", read_compressed}, {"gptq", read_gptq},
                                 {"awq", read_awq}, {"bitsandbytes", read_bitsandbytes},     {"mxfp4", read_mxfp4}};

}  // namespace

std::optional<StoredQuantisation> read_quantisation(const Json& config, const std::string& file) {
  if (!config.is_object()) return std::nullopt;
  for (const char* key : {"quantization_config", "compression_config"}) {
    if (!config.contains(key) || config.at(key).is_null()) continue;
    if (!config.at(key).is_object()) fail_user("{}: '{}' is no object", file, key);
    const ConfigReader in(config.at(key), file);
    const std::string method = in.text_or("quant_method", "not named");
    for (const MethodRow& row : methods) {
      if (method == row.name) return row.read(in);
    }
    fail_user("{}: '{}' (quant_method {}) is not read; fp8, compressed-tensors, gptq, awq, bitsandbytes and mxfp4 are",
              file, key, printable(method, 60));
  }
  return std::nullopt;
}

}  // namespace assay
