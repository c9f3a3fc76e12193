#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "studies/shared/training_step.h"

namespace assay {

/// One row of a grid, to be run once in a process of its own.
struct ResidentRequest {
  std::string model;
  std::string precision;
  Extent extent{1, 128};
  EngineOptions engine;
  ModelOptions model_options = {};
  RunMode mode = RunMode::infer;
  Recompute recompute = Recompute::none;  ///< Training.
  TrainingStorage storage = {};           ///< Training.
  Emulated emulated = Emulated::included;
};

struct ResidentBytes {
  std::int64_t peak = 0;     ///< Since the process started: program, libraries, weights, arena.
  std::int64_t program = 0;  ///< Before the model was opened: program and libraries.
};

/// Makes the instance and its plan, runs it once on random ids (in training a whole step), and gives this process's
/// resident bytes. Throws what its parts throw; Error(lacking) where the system does not tell, or where operations are
/// emulated and those are left out.
ResidentBytes measure_resident(const ResidentRequest& request, const MachineFacts& facts);

/// How the process of a row ended.
enum class Ending : std::uint8_t {
  answered,       ///< With its resident bytes.
  declined,       ///< It could not start, or said in words what is lacking or mistaken.
  out_of_memory,  ///< The system refused an allocation.
  crashed,        ///< Of a signal, a defect, or with a code that is none of ours.
  hung            ///< No answer in time; it was killed.
};

struct ResidentAnswer {
  std::optional<std::int64_t> bytes;  ///< The peak.
  std::int64_t program_bytes = 0;
  Ending ending = Ending::answered;
  std::string fault;  ///< A sentence where `bytes` is absent.
};

/// What runs a row, and for how long at most.
struct ResidentProgram {
  std::filesystem::path file = "/proc/self/exe";
  double most_s = 0;  ///< It is killed after so long; 0: never.
};

/// measure_resident in a child: `program` with the hidden subcommand `resident`, told the facts of this process so that
/// both choose the same kernels. What happens to the child is in the answer; an interrupt ends it and is raised again
/// here.
ResidentAnswer resident_in_child(const ResidentRequest& request, const MachineFacts& facts,
                                 const ResidentProgram& program = {});

/// The arguments that make `resident` run that request.
std::vector<std::string> resident_arguments(const ResidentRequest& request);

}  // namespace assay
