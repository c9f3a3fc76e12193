#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "model/model.h"
#include "program/passes.h"
#include "runtime/instance.h"
#include "runtime/plan.h"
#include "tensor/recipe.h"
#include "text/corpus.h"

namespace assay {

/// How a model is made ready, besides its precision.
struct EngineOptions {
  std::string device = "cpu";
  std::string overrides;             ///< `--with norm=f16,head=f32,layers.0.*=int8`
  std::vector<Recipe> recipes = {};  ///< Which precisions named "recipe:NAME" mean.
  Fusion fusion = Fusion::on;
  Casts casts = Casts::once;                      ///< mixed-*
  Graphs graphs = Graphs::on;                     ///< cuda
  std::optional<CacheSize> cache = std::nullopt;  ///< Keys and values are kept between runs (with_cache).
  ProgramOptions program;
};

/// Whether a precision runs that this machine has no instruction for.
enum class Emulated : std::uint8_t { left_out, included };

/// The backend of that name; throws Error(lacking) where this build or machine has none, a user error for an unknown
/// name.
const Backend& find_backend(const std::string& device);

/// The 16-bit type whose matmul is native here: bf16 before f16; none where neither is. Measured verdicts count where
/// they exist, else the instruction set.
std::optional<DType> native_16bit(const MachineFacts& facts);

/// What the row, or the recipe of the options, is called that `asked` means; throws a user error for any other word.
std::string precision_name(const std::string& asked, const EngineOptions& options);

/// The recipe of that name among the options'; null where the word names a row. Throws a user error where none has it.
const Recipe* find_recipe(const std::string& precision, const EngineOptions& options);
/// Throws a user error, with the line, where the word names a recipe whose layers this model has not.
void check_recipe(const Model& model, const std::string& precision, const EngineOptions& options);
/// What tables call it: a recipe by its name, a row with its overrides.
std::string precision_title(const std::string& precision, const PrecisionChoice& choice);

/// The row of that name with the options' overrides and casts, or the recipe, settled for this machine. What a recipe
/// says of keys and values counts where the options keep them.
PrecisionChoice precision_choice(const std::string& precision, const EngineOptions& options,
                                 std::optional<DType> native16);
PrecisionChoice precision_choice(const std::string& precision, const EngineOptions& options, const MachineFacts& facts);

/// For a precision whose activations follow the machine (int8): what they became and how that is known, "int8:
/// activations are bf16, by the instruction set: this machine was not probed". Empty for any other.
std::string settled_words(const Instance& instance, const MachineFacts& facts);

/// The row of the choice that calibrated weights are for, if any: of two, that whose scales are static.
const Precision* calibrated_row(const PrecisionChoice& precision);
/// What the model was calibrated to for it; null where it was not.
const CalibratedWeights* calibrated_for(const Model& model, const PrecisionChoice& precision);
/// Those that the precision is made from: the model's, or calibrated ones.
const Weights& weights_for(const Model& model, const PrecisionChoice& precision);
/// The configuration that these are of.
const ModelConfig& config_for(const Model& model, const PrecisionChoice& precision);

/// The model's Program through all passes, in that precision. Throws Error(lacking) for a precision that this device
/// cannot have.
Program prepared_program(const Model& model, const PrecisionChoice& precision, const EngineOptions& options);

/// What one pass made of the program.
struct Pass {
  std::string name;  ///< "build", "assign_dtypes", "fuse"
  Program program;
};
/// All of them, in their order.
std::vector<Pass> passes_of(const Model& model, const std::string& precision, const EngineOptions& options,
                            const MachineFacts& facts);

/// The model in one precision, without plans yet. `model` and `facts` must outlive it.
std::unique_ptr<Instance> make_instance(const Model& model, const std::string& precision, const EngineOptions& options,
                                        const MachineFacts& facts);

/// Throws a user error where the sequence is longer than the model's context or an extent is not positive.
void check_extent(const Model& model, Extent extent);
/// Throws a user error naming the file (`batch.ids_name`, else `file`) and the place of an id outside the vocabulary,
/// or where rows are longer than the model's context. Rows and positions count from 0.
void check_tokens(const Model& model, const TokenBatch& batch, const std::string& file);
/// Throws a user error naming the data, labelled sentences, where the model is no classifier.
void check_classifies(const Model& model, const std::string& data);
/// The same of labels, where there are any: each is -100 or one of the model's classes (of a language model, its ids).
void check_labels(const Model& model, const TokenBatch& batch, const std::string& file);
/// Throws a user error naming `file` where there are labels and not one a row, or one a token where tokens have them.
void check_label_count(const Model& model, const TokenBatch& batch, const std::string& file);
/// Throws a user error naming `file` for a token type that the model does not have.
void check_token_types(const Model& model, std::span<const std::int32_t> types, const std::string& file);
/// Throws a user error naming `file` where its tokenizer gives ids that the model does not have.
void check_vocabulary(const Model& model, std::span<const std::int32_t> ids, const std::string& file);

}  // namespace assay
