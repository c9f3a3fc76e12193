#pragma once

#include <functional>
#include <string>

namespace assay {

/// The model that `bench` runs when none is named: smollm2-135m, pulled where it is not in the cache; where that fails,
/// the preset gpt2 with random weights, and `say` is told why.
std::string default_model(const std::function<void(const std::string&)>& say);

}  // namespace assay
