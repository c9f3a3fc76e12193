#include "studies/profile/gpu_kernels.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <unordered_map>

#include "statistics/statistics.h"

namespace assay {
namespace {

constexpr int recorded_runs = 5;

/// Of functions alone: "b" is a C function's name, but the demangler would read a type, bool.
std::string demangled(const std::string& compiled) {
  if (!compiled.starts_with("_Z")) return compiled;
  int status = 0;
  char* text = abi::__cxa_demangle(compiled.c_str(), nullptr, nullptr, &status);
  const std::string result = status == 0 && text != nullptr ? text : compiled;
  std::free(text);
  return result;
}

void erase_all(std::string& text, const std::string& part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) text.erase(at, part.size());
}

/// Of "f<(T)1>(int, g<2>)" the parameters begin at the bracket that stands in no other one.
std::size_t parameters_of(const std::string& name) {
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '(' && depth == 0 && i > 0) return i;
    if (name[i] == '<' || name[i] == '(') ++depth;
    if (name[i] == '>' || name[i] == ')') --depth;
  }
  return name.size();
}

/// Where the function's own name begins: behind a return type, which ends with a blank outside of all brackets.
std::size_t behind_return_type(const std::string& name) {
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<' || name[i] == '(') ++depth;
    if (name[i] == '>' || name[i] == ')') --depth;
    if (name[i] == ' ' && depth == 0) begin = i + 1;
  }
  return begin;
}

using Times = std::map<std::string, double>;  ///< ms by name

/// What of one step's kernels is known: names in their first order, and each run's times.
struct StepTimes {
  std::vector<std::string> names;
  std::map<std::string, std::int64_t> most;  ///< Launches: the most in any run.
  std::vector<Times> runs;
};

void add_run(StepTimes& step, const std::vector<const KernelSpan*>& spans) {
  Times times;
  std::map<std::string, std::int64_t> counts;
  for (const KernelSpan* span : spans) {
    times[span->name] += (span->end_us - span->begin_us) / 1e3;
    ++counts[span->name];
    if (step.most.count(span->name) == 0) step.names.push_back(span->name);
    step.most[span->name] = std::max(step.most[span->name], counts[span->name]);
  }
  step.runs.push_back(std::move(times));
}

std::vector<GpuKernel> median_kernels(const StepTimes& step) {
  std::vector<GpuKernel> kernels;
  for (const std::string& name : step.names) {
    std::vector<double> ms;
    for (const Times& run : step.runs) ms.push_back(run.count(name) == 0 ? 0 : run.at(name));
    kernels.push_back({name, step.most.at(name), median(ms)});
  }
  return kernels;
}

}  // namespace

double GpuKernels::step_ms(std::size_t step) const {
  double ms = 0;
  for (const GpuKernel& kernel : steps[step]) ms += kernel.ms;
  return ms;
}

double GpuKernels::total_ms() const {
  double total = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) total += step_ms(i);
  return total;
}

std::int64_t GpuKernels::launches(std::size_t step) const {
  std::int64_t count = 0;
  for (const GpuKernel& kernel : steps[step]) count += kernel.count;
  return count;
}

std::string short_kernel_name(const std::string& compiled) {
  std::string name = demangled(compiled);
  if (name == compiled) return name;
  for (const char* part : {"(anonymous namespace)::", "assay::cuda::", "assay::"}) erase_all(name, part);
  name.resize(parameters_of(name));
  return name.substr(behind_return_type(name));
}

KernelRun kernel_run(const RecordedKernels& recorded, std::size_t steps) {
  std::unordered_map<std::uint32_t, std::uint64_t> marks;
  for (const MarkRecord& record : recorded.marks) marks[record.correlation] = record.mark;
  KernelRun run;
  run.dropped = recorded.dropped;
  std::uint64_t first_ns = UINT64_MAX;
  for (const KernelRecord& kernel : recorded.kernels) first_ns = std::min(first_ns, kernel.begin_ns);
  for (const KernelRecord& kernel : recorded.kernels) {
    const auto mark = marks.find(kernel.correlation);
    if (mark == marks.end() || mark->second == 0 || mark->second > steps) {
      ++run.unmarked;
      continue;
    }
    run.spans.push_back({static_cast<std::size_t>(mark->second - 1), short_kernel_name(kernel.name),
                         static_cast<double>(kernel.begin_ns - first_ns) / 1e3,
                         static_cast<double>(kernel.end_ns - first_ns) / 1e3});
  }
  std::stable_sort(run.spans.begin(), run.spans.end(),
                   [](const KernelSpan& a, const KernelSpan& b) { return a.begin_us < b.begin_us; });
  return run;
}

GpuKernels summarise_kernels(const std::vector<KernelRun>& runs, std::size_t steps) {
  std::vector<StepTimes> times(steps);
  GpuKernels kernels;
  kernels.runs = static_cast<int>(runs.size());
  for (const KernelRun& run : runs) {
    std::vector<std::vector<const KernelSpan*>> by_step(steps);
    for (const KernelSpan& span : run.spans) by_step[span.step].push_back(&span);
    for (std::size_t step = 0; step < steps; ++step) add_run(times[step], by_step[step]);
    const std::int64_t unmarked = kernels.last.unmarked + run.unmarked;
    const std::uint64_t dropped = kernels.last.dropped + run.dropped;
    kernels.last = {run.spans, unmarked, dropped};
  }
  for (const StepTimes& step : times) kernels.steps.push_back(median_kernels(step));
  return kernels;
}

std::vector<GpuKernel> kernels_by_name(const GpuKernels& kernels) {
  std::map<std::string, GpuKernel> by_name;
  for (const std::vector<GpuKernel>& step : kernels.steps) {
    for (const GpuKernel& kernel : step) {
      GpuKernel& sum = by_name[kernel.name];
      sum = {kernel.name, sum.count + kernel.count, sum.ms + kernel.ms};
    }
  }
  std::vector<GpuKernel> sorted;
  sorted.reserve(by_name.size());
  for (auto& [name, kernel] : by_name) sorted.push_back(std::move(kernel));
  std::stable_sort(sorted.begin(), sorted.end(), [](const GpuKernel& a, const GpuKernel& b) { return a.ms > b.ms; });
  return sorted;
}

GpuKernels record_plans(const std::vector<Plan*>& plans, KernelRecording& recording, int runs) {
  std::vector<KernelRun> recorded;
  std::uint64_t mark = 0;
  recording.take();  // what ran before
  for (int run = 0; run < runs; ++run) {
    mark = 0;
    for (const Plan* plan : plans) {
      for (const Step& step : plan->steps()) {
        recording.begin(++mark);
        step.kernel->run({step.inputs, step.outputs, step.workspace});
        recording.end();
      }
      plan->device().wait();
    }
    recorded.push_back(kernel_run(recording.take(), mark));
  }
  return summarise_kernels(recorded, mark);
}

std::optional<GpuKernels> gpu_kernels(const std::vector<Plan*>& plans) {
  if (plans.front()->device().is_host()) return std::nullopt;
  auto started = record_kernels();
  if (const auto* why = std::get_if<std::string>(&started)) return GpuKernels{*why, 0, {}, {}};
  return record_plans(plans, *std::get<std::unique_ptr<KernelRecording>>(started), recorded_runs);
}

}  // namespace assay
