#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/units.h"
#include "studies/profile.h"

namespace assay {
namespace {

struct OperationOnGpu {
  std::int64_t launches = 0;
  double gpu_ms = 0;
  double clock_ms = 0;
};

/// The most time on the GPU first.
std::vector<std::pair<std::string, OperationOnGpu>> by_operation(const Profile& profile) {
  std::map<std::string, OperationOnGpu> rows;
  for (std::size_t i = 0; i < profile.steps.size(); ++i) {
    OperationOnGpu& row = rows[profile.steps[i].operation];
    row.launches += profile.gpu->launches(i);
    row.gpu_ms += profile.gpu->step_ms(i);
    row.clock_ms += profile.steps[i].ms;
  }
  std::vector<std::pair<std::string, OperationOnGpu>> sorted(rows.begin(), rows.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.gpu_ms > b.second.gpu_ms; });
  return sorted;
}

double total_ms(const GpuKernels& kernels) {
  double total = 0;
  for (std::size_t i = 0; i < kernels.steps.size(); ++i) total += kernels.step_ms(i);
  return total;
}

double percent(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

std::string operations_text(const Profile& profile, double total) {
  std::string text = fmt::format("\n{:<34}{:>10}{:>9}{:>6}{:>10}\n", "on the GPU, by operation", "launches", "GPU ms",
                                 "%", "clock ms");
  for (const auto& [operation, row] : by_operation(profile)) {
    text += fmt::format("{:<34.34}{:>10}{:>9}{:>6.1f}{:>10}\n", operation, row.launches, format_significant(row.gpu_ms),
                        percent(row.gpu_ms, total), format_significant(row.clock_ms));
  }
  return text;
}

std::string kernels_text(const GpuKernels& kernels, double total) {
  constexpr std::size_t most = 30;
  const std::vector<GpuKernel> rows = kernels_by_name(kernels);
  std::string text = fmt::format("\n{:<95}{:>10}{:>9}{:>6}\n", "by kernel of the GPU", "launches", "GPU ms", "%");
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    text += fmt::format("{:<94.94} {:>10}{:>9}{:>6.1f}\n", rows[i].name, rows[i].count, format_significant(rows[i].ms),
                        percent(rows[i].ms, total));
  }
  if (rows.size() > most) text += fmt::format("... and {} more\n", rows.size() - most);
  return text;
}

}  // namespace

std::string gpu_text(const Profile& profile) {
  if (!profile.gpu) return "";
  const GpuKernels& kernels = *profile.gpu;
  if (!kernels.present()) return fmt::format("\nno kernels of the GPU by name: {}\n", kernels.absent);
  const double total = total_ms(kernels);
  std::string text = operations_text(profile, total) + kernels_text(kernels, total);
  text += fmt::format(
      "by CUPTI, medians of {} runs of their own: GPU ms is the device's time in kernels alone, clock ms the host's "
      "around\nlaunch and wait.\n",
      kernels.runs);
  if (kernels.last.unmarked > 0) text += fmt::format("Kernels of no operation: {}.\n", kernels.last.unmarked);
  if (kernels.last.dropped > 0) text += fmt::format("Records that CUPTI dropped: {}.\n", kernels.last.dropped);
  return text;
}

OrderedJson gpu_kernel_json(const GpuKernel& kernel) {
  return {{"name", kernel.name}, {"count", kernel.count}, {"ms", kernel.ms}};
}

OrderedJson gpu_json(const GpuKernels& kernels) {
  if (!kernels.present()) return {{"absent", kernels.absent}};
  OrderedJson json = {{"runs", kernels.runs},
                      {"ms", total_ms(kernels)},
                      {"unmarked", kernels.last.unmarked},
                      {"dropped", kernels.last.dropped},
                      {"kernels", OrderedJson::array()}};
  for (const GpuKernel& kernel : kernels_by_name(kernels)) json["kernels"].push_back(gpu_kernel_json(kernel));
  return json;
}

}  // namespace assay
