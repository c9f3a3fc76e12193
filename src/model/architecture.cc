#include "model/architecture.h"

#include <cmath>

#include "model/blocks.h"

namespace assay {

Program build_program(const ModelConfig& config, const ProgramOptions& options) {
  Blocks b(config, options);
  switch (config.family) {
    case Family::gpt2:
      emit_gpt2(b);
      break;
    case Family::bert:
      emit_bert(b);
      break;
    case Family::distilbert:
      emit_distilbert(b);
      break;
    case Family::llama:
      emit_llama(b);
      break;
    case Family::cs336:
      emit_cs336(b);
      break;
  }
  return b.take();
}

}  // namespace assay
