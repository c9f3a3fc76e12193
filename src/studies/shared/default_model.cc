#include "studies/shared/default_model.h"

#include <fmt/format.h>

#include "base/error.h"
#include "hub/models.h"
#include "hub/pull.h"

namespace assay {

namespace {

/// The same model before it was cut to four bits; else what needs no network.
std::string from_hub(const std::function<void(const std::string&)>& say) {
  const std::string name = "hf:HuggingFaceTB/SmolLM2-135M-Instruct";
  try {
    if (find_local(name)) return name;
  } catch (const Error& e) {
    if (e.code() == ExitCode::interrupted) throw;
    say(fmt::format("{}; gpt2 with random weights is measured in its place", e.what()));
  }
  return "gpt2";
}

}  // namespace

std::string default_model(const std::function<void(const std::string&)>& say) {
  const std::string name = "smollm2-135m";
  if (find_local(name)) return name;
  try {
    PullOptions options;
    options.say = [&](std::string_view sentence) { say(std::string(sentence)); };
    pull(find_pullable(name), options);
    return name;
  } catch (const Error& e) {
    if (e.code() != ExitCode::lacking) throw;
    say(fmt::format("{}; the hub is asked for it", e.what()));
    return from_hub(say);
  }
}

}  // namespace assay
