#include "studies/shared/default_model.h"

#include <fmt/format.h>

#include "base/error.h"
#include "hub/models.h"
#include "hub/pull.h"

namespace assay {

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
    say(fmt::format("{}; gpt2 with random weights is measured in its place", e.what()));
    return "gpt2";
  }
}

}  // namespace assay
