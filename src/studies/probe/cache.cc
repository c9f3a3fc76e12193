#include "studies/probe/cache.h"

#include <array>
#include <chrono>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/folders.h"
#include "base/hash.h"
#include "base/json.h"
#include "hardware/isa_cap.h"
#include "kernels/kernel.h"
#include "studies/probe/run.h"

namespace assay {
namespace {

// Goes up whenever peaks or verdicts are made in another way than before, or a kernel becomes faster under the name
// that it had; new kernels change the hash by themselves.
constexpr int version = 9;

// What a busy machine gave serves the commands of the moment and is then measured again.
constexpr auto busy_lifetime = std::chrono::minutes(10);

bool outlived(const MachineFacts& facts, const std::filesystem::path& file) {
  std::error_code error;
  const auto written = std::filesystem::last_write_time(file, error);
  return facts.was_busy() && (error || std::filesystem::file_time_type::clock::now() - written > busy_lifetime);
}

/// Everything that the measured part depends on, as one text.
std::string identity(const MachineFacts& facts) {
  std::string text =
      fmt::format("{}|{}|{} of {} threads", facts.processor, to_string(facts.isa), facts.threads, facts.cores);
  for (const Cache& cache : facts.caches)
    text += fmt::format("|L{} {} {}", cache.level, cache.bytes, cache.shared_by_cores);
  for (const OperationKernels& kernels : cpu_backend().table) {
    for (const Implementation& one : kernels.implementations) text += fmt::format("|{}", one.name);
  }
  return text;
}

Verdict parse_verdict(const std::string& text) {
  constexpr std::array all = {Verdict::native, Verdict::slow, Verdict::widened, Verdict::emulated,
                              Verdict::unsupported};
  for (const Verdict verdict : all) {
    if (text == name(verdict)) return verdict;
  }
  fail_user("probe cache: '{}' is no verdict", text);
}

MatmulRate parse_rate(DType operand, const Json& json) {
  const std::optional<DType> computed = parse_dtype(json.at("computed").get<std::string>());
  if (!computed) fail_user("probe cache: unknown dtype");
  return {operand,
          *computed,
          {json.at("operation").get<std::string>(), json.at("implementation").get<std::string>()},
          json.at("kernel").get<std::string>(),
          json.at("plain_loops").get<bool>() ? Arithmetic::scalar_loops : Arithmetic::instructions,
          json.at("gflops").get<double>(),
          json.at("streaming_gflops").get<double>()};
}

MatmulPeak parse_peak(const Json& json) {
  MatmulPeak peak;
  const std::optional<DType> operand = parse_dtype(json.at("operand").get<std::string>());
  if (!operand) fail_user("probe cache: unknown operand");
  peak.operand = *operand;
  peak.instruction = json.at("instruction").is_null() ? "" : json.at("instruction").get<std::string>();
  peak.instruction_gflops = json.at("instruction_gflops").get<double>();
  peak.matmul_gflops = json.at("matmul_gflops").get<double>();
  peak.kernel = json.at("kernel").get<std::string>();
  peak.verdict = parse_verdict(json.at("verdict").get<std::string>());
  peak.evidence = json.at("evidence").get<std::string>();
  peak.instruction_readings_gflops = json.at("instruction_readings_gflops").get<std::vector<double>>();
  for (const Json& rate : json.at("rates")) peak.rates.push_back(parse_rate(peak.operand, rate));
  for (const Json& rate : json.at("row_rates")) peak.row_rates.push_back(parse_rate(peak.operand, rate));
  return peak;
}

}  // namespace

std::optional<std::filesystem::path> probe_cache_file(const MachineFacts& facts) {
  const std::optional<std::filesystem::path> cache = find_cache_folder();
  if (!cache) return std::nullopt;
  const std::string text = identity(facts);
  const std::string hash = sha256_hex(std::as_bytes(std::span(text))).substr(0, 16);
  return *cache / fmt::format("probe-{}-{}-{}.json", hash, facts.cap.empty() ? "uncapped" : facts.cap, version);
}

bool load_measurements(MachineFacts& facts) {
  const std::optional<std::filesystem::path> file = probe_cache_file(facts);
  return file && load_measurements(facts, *file);
}

bool load_measurements(MachineFacts& facts, const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return false;
  try {
    const Json json = parse_json(read_file(file, std::size_t{1} << 20), file.string());
    MachineFacts filled = facts;
    filled.bandwidth_one_core_gbs = json.at("bandwidth_one_core_gbs").get<double>();
    filled.measured_share = json.at("measured_share").get<double>();
    filled.bandwidth_gbs = json.at("bandwidth_gbs").get<double>();
    filled.bandwidth_readings_gbs = json.at("bandwidth_readings_gbs").get<std::vector<double>>();
    for (const Json& peak : json.at("peaks")) filled.peaks.push_back(parse_peak(peak));
    if (outlived(filled, file)) return false;
    facts = std::move(filled);
    return true;
  } catch (const Json::exception&) {  // Written by another hand: measure again.
    return false;
  } catch (const Error&) {
    return false;
  }
}

void store_measurements(const MachineFacts& facts) {
  const std::optional<std::filesystem::path> file = probe_cache_file(facts);
  if (!file) return;
  std::error_code error;
  std::filesystem::create_directories(file->parent_path(), error);
  try {
    write_file_atomically(*file, machine_json(facts).dump(2) + "\n");
  } catch (const Error&) {  // Nothing is lost but the time of measuring again.
  }
}

}  // namespace assay
