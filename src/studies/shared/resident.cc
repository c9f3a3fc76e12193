#include "studies/shared/resident.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

#include "base/error.h"
#include "base/json.h"
#include "generation/session.h"
#include "hub/command.h"
#include "measure/memory.h"
#include "studies/shared/cached.h"
#include "studies/shared/child.h"
#include "studies/shared/random_ids.h"

namespace assay {
namespace {

ResidentAnswer without_bytes(Ending ending, const std::string& fault) {
  return {std::nullopt, 0, ending, fault};
}

std::string signal_name(int signal) {
  const char* short_name = ::sigabbrev_np(signal);
  return short_name != nullptr ? fmt::format("SIG{}", short_name) : fmt::format("signal {}", signal);
}

ResidentAnswer parse_answer(const std::string& line) {
  try {
    const Json json = parse_json(line, "resident");
    if (json.contains("out_of_memory"))
      return without_bytes(Ending::out_of_memory, json.at("out_of_memory").get<std::string>());
    return {json.at("resident_bytes").get<std::int64_t>(),
            json.at("program_bytes").get<std::int64_t>(),
            Ending::answered,
            {}};
  } catch (const std::exception& e) {
    return without_bytes(Ending::declined, fmt::format("its process said something else: {}", e.what()));
  }
}

ResidentAnswer read_death(int exit_code, const std::string& line) {
  if (exit_code == 128 + SIGKILL)
    return without_bytes(Ending::crashed, "its process was killed (SIGKILL): memory ran out, likely, or somebody did");
  if (exit_code > 128)
    return without_bytes(Ending::crashed, fmt::format("its process died of {}", signal_name(exit_code - 128)));
  const char* kind = exit_code == static_cast<int>(ExitCode::defect) ? "a defect" : "a code that is none of ours";
  return without_bytes(Ending::crashed, fmt::format("its process ended with {} (exit code {}): {}", kind, exit_code,
                                                    line.empty() ? "it said nothing" : line));
}

ResidentAnswer read_answer(const CommandResult& result, double most_s) {
  constexpr int not_started = 127;
  const std::string line = last_line(result.output);
  if (result.overran) {
    return without_bytes(Ending::hung,
                         fmt::format("its process gave no answer within {:g} s: it hung, or is too slow", most_s));
  }
  switch (result.exit_code) {
    case static_cast<int>(ExitCode::ok):
      return parse_answer(line);
    case static_cast<int>(ExitCode::user):
    case static_cast<int>(ExitCode::lacking):
      return without_bytes(Ending::declined, line);
    case not_started:
      return without_bytes(Ending::declined, "its process could not start");
    default:
      return read_death(result.exit_code, line);
  }
}

ResidentMemory resident_memory() {
  const std::optional<ResidentMemory> memory = read_resident_memory();
  if (!memory) fail_lacking("/proc/self/status: does not say the resident memory");
  return *memory;
}

bool emulates(const Plan& plan) {
  const Ledger ledger = plan.ledger();
  return std::any_of(ledger.rows.begin(), ledger.rows.end(),
                     [](const LedgerRow& row) { return row.verdict == Verdict::emulated; });
}

void run_forward(const Model& model, const ResidentRequest& request, const MachineFacts& facts) {
  const auto instance = make_instance(model, request.precision, request.engine, facts);
  Plan plan(*instance, {.extent = request.extent});
  if (request.emulated == Emulated::left_out && emulates(plan)) fail_lacking("{}: emulated here", request.precision);
  plan.set_inputs(random_ids(model, request.extent, {request.model_options.seed, IdsFor::timing}), {});
  plan.run();
}

/// Fills the cache, the last token by itself.
void run_through_cache(const Model& model, const ResidentRequest& request, const MachineFacts& facts) {
  const auto [batch, tokens] = std::pair(request.extent.batch, request.extent.seq);
  const EngineOptions engine = engine_with_cache(request.engine, tokens);
  const auto instance = make_instance(model, request.precision, engine, facts);
  Session session(*instance, {.batch = batch, .capacity = tokens});
  session.plan_for(engine.cache->chunk);
  session.plan_for(1);
  for (std::int64_t first = 0; first < tokens;) {
    const std::int64_t count = std::clamp<std::int64_t>(tokens - 1 - first, 1, engine.cache->chunk);
    NewTokens piece = {.seq = count,
                       .ids = random_ids(model, {batch, count}, {request.model_options.seed, IdsFor::timing}),
                       .mask = {},
                       .positions = {}};
    for (std::int64_t i = 0; i < batch * count; ++i)
      piece.positions.push_back(static_cast<std::int32_t>(first + i % count));
    session.run(piece);
    first += count;
  }
}

void run_one_step(const Model& model, const ResidentRequest& request, const MachineFacts& facts) {
  const PrecisionChoice precision = precision_choice(request.precision, request.engine, facts);
  Trainer trainer(model.config, model.weights, whole_step(precision, request.engine, model, request.step),
                  find_backend(request.engine.device), facts);
  step_in_parts(trainer, random_batch(model, request.extent, request.model_options.seed), request.step, 0);
}

}  // namespace

ResidentBytes measure_resident(const ResidentRequest& request, const MachineFacts& facts) {
  const std::int64_t program_bytes = resident_memory().bytes;
  const Model model = open_model(request.model, request.model_options);
  check_extent(model, request.extent);
  constexpr auto runs = std::array{run_forward, run_one_step, run_through_cache};  // As RunMode has them.
  runs[static_cast<std::size_t>(request.mode)](model, request, facts);
  return {resident_memory().peak_bytes, program_bytes};
}

std::vector<std::string> resident_arguments(const ResidentRequest& request) {
  std::vector<std::string> words = {"--precision",  request.precision,
                                    "--batch",      std::to_string(request.extent.batch),
                                    "--seq",        std::to_string(request.extent.seq),
                                    "--mode",       name(request.mode),
                                    "--recompute",  name(request.step.recompute),
                                    "--optimizer",  name(request.step.optimizer),
                                    "--clip",       fmt::format("{}", request.step.clip),
                                    "--accumulate", std::to_string(request.step.accumulate),
                                    "--states",     request.step.storage.states->name,
                                    "--gradients",  gradient_word(request.step.storage.gradients)};
  if (!request.step.base.empty()) words.insert(words.end(), {"--base", request.step.base});
  const std::vector<std::string> engine = engine_words(request.engine, request.model_options);
  words.insert(words.end(), engine.begin(), engine.end());
  if (request.emulated == Emulated::left_out) words.emplace_back("--leave-emulated");
  words.insert(words.end(), {"--", request.model});  // A model's name may begin with a dash.
  return words;
}

ResidentAnswer resident_in_child(const ResidentRequest& request, const MachineFacts& facts,
                                 const ResidentProgram& program) {
  const ScratchFolder folder = make_folder("assay-resident");
  Command command{{program.file.string(), "resident"}, *folder.get(), program.most_s};
  for (const auto& more :
       {machine_words(facts, *folder.get()), recipe_words(request.engine, *folder.get()), resident_arguments(request)})
    command.words.insert(command.words.end(), more.begin(), more.end());
  return read_answer(run_held(command), program.most_s);
}

}  // namespace assay
