#include "model/architecture.h"

#include "model/blocks.h"
#include "model/families.h"

namespace assay {

Program build_program(const ModelConfig& config, const ProgramOptions& options) {
  Blocks b(config, options);
  config.family->emit(b);
  if (config.adapters.empty()) return b.take();
  return with_adapters(b.take(), config.adapters, options.adapter_dropout);
}

}  // namespace assay
