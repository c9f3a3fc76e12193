#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "measure/companion.h"
#include "program/program.h"
#include "quality/logit_source.h"
#include "results/states.h"
#include "studies/peers/peer_host.h"
#include "tensor/precision.h"

namespace assay {

/// A kind of operation that a peer says it ran.
struct PeerOperation {
  /// Products with weights decide in which precision it ran.
  enum class Kind : std::uint8_t { linear, attention, other };
  Kind kind = Kind::other;
  std::string operation = {};  ///< In the peer's words: "aten::addmm", "FullyConnected".
  std::string kernel = {};     ///< "jit:avx512_core_bf16"; empty: it does not say.
  DType operand = DType::f32;
  std::int64_t count = 0;     ///< Of them in one pass.
  std::string evidence = {};  ///< Where that is known from: "its executed graph".
};

/// Tokens of a cell of generation: as GenerationCell has them.
struct PeerTokens {
  std::int64_t depth = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t new_tokens = 0;
};

/// AdamW of a training's steps.
struct PeerUpdate {
  double learning_rate = 0;
  double weight_decay = 0;
};

/// What a peer is to run.
struct PeerTask {
  const Peer& peer;
  std::string precision;
  std::span<const QualityBatch> batches;  ///< They outlive the process.
  LogitRows logits = LogitRows::all;
  /// Of generation, whose rows of depth and prompt are the one batch; absent: whole passes.
  std::optional<PeerTokens> generation = {};
  /// Of training, on the one batch; absent: nothing is trained.
  std::optional<PeerUpdate> training = {};
  double most_s = 0;  ///< That it may take to be ready, or for one answer.
};

/// Why a peer does not run, or runs no more.
struct PeerFailure {
  Status status = Status::ok;
  std::string reason;
};

/// A peer in one precision in a process of its own, stopped between its turns.
class PeerProcess {
 public:
  PeerProcess(PeerHost& host, PeerTask task);

  /// Starts it and waits until it is ready to run the first of its batches. Absent where it is.
  std::optional<PeerFailure> prepare();
  /// Makes run() take that batch; a shape that comes for the first time is run once by it, untimed.
  void take(std::size_t batch);
  /// One pass.
  void run();
  void stop() { companion_->stop(); }
  /// Of generation: reads the prompt behind the depth, and chooses each row's next id.
  void prefill();
  /// Adds the new tokens one by one behind the prompt.
  void decode();
  /// Of training: forward, backward and update.
  void step();
  /// Of the last step: seconds of each of the three.
  const std::array<double, 3>& phases_s() const { return phases_s_; }
  /// Of the last decode: each token with its choice.
  const std::vector<double>& token_ms() const { return token_ms_; }

  double last_run_s() const { return last_run_s_; }  ///< By the clock around the pass in its process.
  /// The first logit; of generation the first row's last id, of training the loss.
  double last_value() const { return last_value_; }
  bool is_lost() const { return failure_.has_value(); }
  /// Absent as long as it runs.
  const std::optional<PeerFailure>& failure() const { return failure_; }
  /// Whether every logit of the last pass that stands at a real token is a number.
  bool is_finite();
  /// f32 logits of that batch, valid until the next call.
  std::optional<TensorView> logits(std::size_t batch);

  /// Of a pass; of generation of a prompt.
  const std::vector<PeerOperation>& operations() const { return operations_; }
  /// Of generation: of a new token.
  const std::vector<PeerOperation>& decode_operations() const { return decode_operations_; }
  double processor_s() const { return companion_ ? companion_->processor_s() : 0; }
  std::optional<std::int64_t> peak_bytes() const { return companion_ ? companion_->peak_bytes() : std::nullopt; }

 private:
  /// The answer, or null where it failed, which is kept then.
  Json ask(const OrderedJson& question);
  /// What a turn took by its clock, which may say no more than ours.
  void take_time(const Json& answer, double around_s);
  void fail(Status status, const std::string& reason);
  void write_job() const;
  void read_operations(const Json& ready);

  PeerHost& host_;
  PeerTask task_;
  std::filesystem::path folder_;
  std::optional<Companion> companion_;
  std::vector<PeerOperation> operations_;
  std::vector<PeerOperation> decode_operations_;
  std::optional<PeerFailure> failure_;
  std::optional<MappedFile> logits_;
  std::vector<double> token_ms_;
  std::array<double, 3> phases_s_ = {};
  double last_run_s_ = 0;
  double last_value_ = 0;
};

/// What the workers call it.
const char* word_for_workers(Task task);

/// Whether products of that operand are what the precision asks for; where weights alone have fewer bits, they are
/// widened to f32 or to a 16-bit type.
bool multiplies_as_asked(const Precision& asked, DType operand);

/// Why the peer runs another precision than it was asked for, "was asked for bf16 and multiplies in f32 (48
/// aten::addmm)"; empty where every product with weights is in the precision's operand, or it says of none.
std::string other_precision_words(const std::string& precision, std::span<const PeerOperation> operations);

}  // namespace assay
