#include "model/families.h"

#include <algorithm>

#include "model/bert.h"
#include "model/deberta.h"
#include "model/decoders.h"
#include "model/experts.h"
#include "model/gemma.h"
#include "model/gguf_names.h"
#include "model/gpt2.h"
#include "model/gpt_neox.h"
#include "model/llama.h"
#include "model/modernbert.h"
#include "model/opt.h"
#include "model/qwen.h"
#include "model/random_weights.h"

namespace assay {
namespace {

/// Begin the names of what stands beside the bare model.
constexpr const char* names_beside[] = {"lm_head.",
                                        "embed_out.",
                                        "classifier.",
                                        "pre_classifier.",
                                        "cls.",
                                        "vocab_transform.",
                                        "vocab_layer_norm.",
                                        "vocab_projector.",
                                        "generator_predictions.",
                                        "generator_lm_head.",
                                        "head.",
                                        "decoder."};

}  // namespace

// A new family is a row here, and in its file (or in that of the family whose emitter it shares) what the row names:
//   parse, write  its config.json in and out; whatever changes the arithmetic and is not built is refused
//   emit          one of the emitters, where ModelConfig says all that is different
//   initial       how its authors draw new matrices
//   tensors       what its checkpoints call the parameters; GGUF's names likewise
// and a folder of a small random model in tests/fixtures/models (tools/generate_model_fixtures.py), and a file where it
// is read from GGUF. Nothing else knows it; tests of every family go over this table.
std::span<const Family> families() {
  using enum FamilyKind;
  using enum RotaryPairs;
  using enum Dropout;
  constexpr auto learned = std::nullopt;
  // clang-format off
  static constexpr Family table[] = {
      // model_type  kind     rotary       padding             dropout  parse             write             emit             initial         tensors              GGUF
      {"gpt2",       decoder, learned,     Padding::no_effect, present, parse_gpt2,       write_gpt2,       emit_gpt2,       initial_gpt2,   &gpt2_tensors,       nullptr},
      {"bert",       encoder, learned,     Padding::first_id,  present, parse_bert,       write_bert,       emit_bert,       initial_normal, &bert_tensors,       nullptr},
      {"distilbert", encoder, learned,     Padding::first_id,  present, parse_distilbert, write_distilbert, emit_distilbert, initial_normal, &distilbert_tensors, nullptr},
      {"roberta",    encoder, learned,     Padding::none,      present, parse_roberta,    write_roberta,    emit_roberta,    initial_normal, &roberta_tensors,    nullptr},
      {"xlm-roberta",encoder, learned,     Padding::none,      present, parse_roberta,    write_xlm_roberta,emit_roberta,    initial_normal, &roberta_tensors,    nullptr},
      {"electra",    encoder, learned,     Padding::first_id,  present, parse_electra,    write_electra,    emit_electra,    initial_normal, &electra_tensors,    nullptr},
      {"deberta-v2", encoder, learned,     Padding::first_id,  present, parse_deberta,    write_deberta,    emit_deberta,    initial_normal, &deberta_tensors,    nullptr},
      {"modernbert", encoder, halves,      Padding::none,      absent,  parse_modernbert, write_modernbert, emit_modernbert, initial_normal, &modernbert_tensors, nullptr},
      {"opt",        decoder, learned,     Padding::none,      absent,  parse_opt,        write_opt,        emit_opt,        initial_normal, &opt_tensors,        nullptr},
      {"llama",      decoder, halves,      Padding::none,      absent,  parse_llama,      write_llama,      emit_llama,      initial_normal, &llama_tensors,      &llama_gguf},
      {"mistral",    decoder, halves,      Padding::none,      absent,  parse_mistral,    write_mistral,    emit_llama,      initial_normal, &llama_tensors,      nullptr},
      {"ministral",  decoder, halves,      Padding::none,      absent,  parse_ministral,  write_ministral,  emit_llama,      initial_normal, &llama_tensors,      nullptr},
      {"smollm3",    decoder, halves,      Padding::none,      absent,  parse_smollm3,    write_smollm3,    emit_llama,      initial_normal, &llama_tensors,      &smollm3_gguf},
      {"qwen2",      decoder, halves,      Padding::none,      absent,  parse_qwen2,      write_qwen2,      emit_llama,      initial_normal, &llama_tensors,      &qwen2_gguf},
      {"qwen3",      decoder, halves,      Padding::none,      absent,  parse_qwen3,      write_qwen3,      emit_qwen3,      initial_normal, &llama_tensors,      &qwen3_gguf},
      {"qwen3_moe",  decoder, halves,      Padding::none,      absent,  parse_qwen3_moe,  write_qwen3_moe,  emit_qwen3_moe,  initial_normal, &llama_tensors,      &qwen3_moe_gguf},
      {"mixtral",    decoder, halves,      Padding::none,      absent,  parse_mixtral,    write_mixtral,    emit_mixtral,    initial_normal, &llama_tensors,      &mixtral_gguf},
      {"gpt_oss",    decoder, halves,      Padding::none,      absent,  parse_gpt_oss,    write_gpt_oss,    emit_gpt_oss,    initial_normal, &gpt_oss_tensors,    &gpt_oss_gguf},
      {"olmo2",      decoder, halves,      Padding::none,      absent,  parse_olmo2,      write_olmo2,      emit_olmo2,      initial_normal, &llama_tensors,      &olmo2_gguf},
      {"phi3",       decoder, halves,      Padding::none,      absent,  parse_phi3,       write_phi3,       emit_phi3,       initial_normal, &llama_tensors,      &phi3_gguf},
      {"stablelm",   decoder, halves,      Padding::none,      absent,  parse_stablelm,   write_stablelm,   emit_llama,      initial_normal, &llama_tensors,      &stablelm_gguf},
      {"olmo3",      decoder, halves,      Padding::none,      absent,  parse_olmo3,      write_olmo3,      emit_olmo2,      initial_normal, &llama_tensors,      nullptr},
      {"granite",    decoder, halves,      Padding::none,      absent,  parse_granite,    write_granite,    emit_llama,      initial_normal, &llama_tensors,      &granite_gguf},
      {"gpt_neox",   decoder, halves,      Padding::no_effect, absent,  parse_gpt_neox,   write_gpt_neox,   emit_gpt_neox,   initial_normal, &gpt_neox_tensors,   &gpt_neox_gguf},
      {"gptj",       decoder, interleaved, Padding::no_effect, absent,  parse_gptj,       write_gptj,       emit_gptj,       initial_normal, &gptj_tensors,       nullptr},
      {"falcon",     decoder, halves,      Padding::no_effect, absent,  parse_falcon,     write_falcon,     emit_falcon,     initial_normal, &falcon_tensors,     nullptr},
      {"gemma",      decoder, halves,      Padding::first_id,  absent,  parse_gemma,      write_gemma,      emit_llama,      initial_normal, &llama_tensors,      &gemma_gguf},
      {"gemma2",     decoder, halves,      Padding::first_id,  absent,  parse_gemma2,     write_gemma2,     emit_gemma2,     initial_normal, &llama_tensors,      &gemma2_gguf},
      {"gemma3_text",decoder, halves,      Padding::first_id,  absent,  parse_gemma3,     write_gemma3,     emit_gemma3,     initial_normal, &llama_tensors,      &gemma3_gguf},
      {"cs336",      decoder, interleaved, Padding::no_entry,  absent,  parse_cs336,      write_cs336,      emit_cs336,      initial_cs336,  &cs336_tensors,      nullptr, &cs336_counterpart},
  };
  // clang-format on
  return table;
}

const Family* find_family(std::string_view name) {
  for (const Family& family : families()) {
    if (name == family.name) return &family;
  }
  return nullptr;
}

bool begins_with_any(std::string_view text, TensorNames::Words beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](const char* word) { return text.starts_with(word); });
}

bool ends_with_any(std::string_view text, TensorNames::Words endings) {
  return std::any_of(endings.begin(), endings.end(), [&](const char* word) { return text.ends_with(word); });
}

std::string published_name(const std::string& canonical, const Family& family) {
  const bool is_beside = begins_with_any(canonical, names_beside) || begins_with_any(canonical, family.tensors->beside);
  return is_beside ? canonical : family.tensors->prefix + canonical;
}

}  // namespace assay
