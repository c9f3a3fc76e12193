#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernel_recording.h"
#include "runtime/plan.h"

namespace assay {

/// Kernels of one name within one step of a run, or within all of them.
struct GpuKernel {
  std::string name;        ///< As short_kernel_name gives it.
  std::int64_t count = 0;  ///< Launches in one run.
  double ms = 0;           ///< On the device, all launches together: median over the runs.
};

/// A kernel in one run, in time from that run's first kernel.
struct KernelSpan {
  std::size_t step = 0;
  std::string name;
  double begin_us = 0;
  double end_us = 0;
};

/// One run as the device saw it.
struct KernelRun {
  std::vector<KernelSpan> spans;  ///< In the order in which they began.
  std::int64_t unmarked = 0;      ///< Kernels that belong to no step.
  std::uint64_t dropped = 0;
};

/// What the device ran in each step of a program.
struct GpuKernels {
  std::string absent;  ///< In words why there are none; empty where there are.
  int runs = 0;
  std::vector<std::vector<GpuKernel>> steps;  ///< By step: the kernels that it launches, in their order.
  KernelRun last;                             ///< One of the runs; unmarked and dropped of all of them.

  bool present() const { return runs > 0; }
  double step_ms(std::size_t step) const;
  double total_ms() const;
  std::int64_t launches(std::size_t step) const;
};

/// C++ names without return type, parameters and our own namespaces; names of other languages as they are.
/// "_ZN5assay4cuda12run_elementsI...": "run_elements<Update<AdamRule, (DType)1> >".
std::string short_kernel_name(const std::string& compiled);

/// Kernels by the mark of the call that launched them; marks are 1 + the step's place among `steps`. A kernel whose
/// call carries none, or one beyond the steps, belongs to no step.
KernelRun kernel_run(const RecordedKernels& recorded, std::size_t steps);
/// Medians over runs of the same steps. A kernel that some run lacks counts as 0 ms there.
GpuKernels summarise_kernels(const std::vector<KernelRun>& runs, std::size_t steps);
/// All steps' kernels by name, the most time first.
std::vector<GpuKernel> kernels_by_name(const GpuKernels& kernels);

/// Runs the plans, which follow one another, that many times with every step marked. Times of these runs are no
/// others': recording costs time on the host.
GpuKernels record_plans(const std::vector<Plan*>& plans, KernelRecording& recording, int runs);
/// The same with CUPTI; says why not where there is none. Nothing of plans on the host.
std::optional<GpuKernels> gpu_kernels(const std::vector<Plan*>& plans);

}  // namespace assay
