#include "studies/peers/peer_process.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "tensor/precision.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_operations = 1000;
/// Its clock and ours read the same: what lies between is what the question takes.
constexpr double clock_slack_s = 1e-3;

const char* word_of(Pooling pooling) {
  return pooling == Pooling::mean ? "mean" : "first";
}

Status status_after_reply(CompanionReply::Kind kind) {
  if (kind == CompanionReply::Kind::interrupted) return Status::interrupted;
  return kind == CompanionReply::Kind::silent ? Status::too_slow : Status::crashed;
}

PeerOperation::Kind kind_named(const std::string& word) {
  return word == "linear"      ? PeerOperation::Kind::linear
         : word == "attention" ? PeerOperation::Kind::attention
                               : PeerOperation::Kind::other;
}

std::string text_in(const Json& json, const char* key) {
  return printable(json.value(key, std::string()), 200);
}

/// Eight bits are eight bits: of u8 by s8 the instruction is that of s8.
DType operand_named(const std::string& word) {
  const auto dtype = parse_dtype(word);
  if (!dtype) fail_user("'{}' is no dtype", printable(word));
  return *dtype == DType::u8 ? DType::s8 : *dtype;
}

PeerOperation operation_in(const Json& json) {
  return {.kind = kind_named(json.value("kind", std::string())),
          .operation = text_in(json, "operation"),
          .kernel = text_in(json, "kernel"),
          .operand = operand_named(json.at("operand").get<std::string>()),
          .count = json.value("count", std::int64_t{1}),
          .evidence = text_in(json, "evidence")};
}

PeerUse use_of(const PeerTask& task) {
  if (task.training) return PeerUse::training;
  return task.generation ? PeerUse::generation : PeerUse::passes;
}

/// Whoever has none has said so before a process is started.
const PeerPrecision& asked_of(const PeerTask& task) {
  const PeerPrecision* const asked = peer_precision(task.peer, task.precision, use_of(task));
  ASSAY_ASSERT(asked != nullptr);
  return *asked;
}

/// Those that are said.
OrderedJson words_json(const PeerWords& words) {
  OrderedJson said = OrderedJson::object();
  const auto say = [&](const char* what, const char* word) {
    if (word != nullptr) said[what] = word;
  };
  say("dtype", words.dtype);
  say("autocast", words.autocast);
  say("quantised", words.quantised);
  say("cache", words.cache);
  return said;
}

std::vector<std::int64_t> shape_in(const Json& json) {
  std::vector<std::int64_t> shape;
  shape.reserve(json.size());
  for (const Json& extent : json) shape.push_back(extent.get<std::int64_t>());
  return shape;
}

/// What an instance of ours gives for that batch.
Shape asked_logits(const ModelConfig& config, const QualityBatch& batch) {
  if (labels_tokens(config.task)) return {batch.extent.batch, batch.extent.seq, class_count(config)};
  return {batch.extent.batch, config.task == Task::embedding ? config.d_model : class_count(config)};
}

}  // namespace

const char* word_for_workers(Task task) {
  switch (task) {
    case Task::language_model:
      return "language-model";
    case Task::classification:
      return "classification";
    case Task::embedding:
      return "embedding";
    case Task::token_classification:
      return "token-classification";
    case Task::masked_language_model:
      return "masked-language-model";
  }
  return "?";
}

PeerProcess::PeerProcess(PeerHost& host, PeerTask task) : host_(host), task_(std::move(task)) {}

void PeerProcess::fail(Status status, const std::string& reason) {
  if (!failure_) failure_ = PeerFailure{status, reason};
}

Json PeerProcess::ask(const OrderedJson& question) {
  if (failure_) return nullptr;
  const CompanionReply reply = companion_->ask(question.dump(), task_.most_s);
  if (reply.kind != CompanionReply::Kind::answered) {
    fail(status_after_reply(reply.kind), reply.text);
    return nullptr;
  }
  try {
    Json answer = parse_json(reply.text, "its process");
    if (answer.contains("refused")) {
      fail(Status::unsupported, text_in(answer, "refused"));
      return nullptr;
    }
    return answer;
  } catch (const std::exception& error) {
    fail(Status::crashed, fmt::format("its process said something else: {}", printable_error(error.what(), 200)));
    return nullptr;
  }
}

void PeerProcess::write_job() const {
  const PeerPrecision& asked = asked_of(task_);
  const ModelConfig& config = host_.model().config;
  const fs::path batches = folder_ / "batches.bin";
  write_batches(task_.batches, batches);
  const bool is_file = task_.peer.input == PeerInput::gguf;
  OrderedJson job = {{"model", (is_file ? host_.model_file(task_.precision) : host_.model_folder()).string()},
                     {"task", word_for_workers(config.task)},
                     {"pooling", word_of(config.pooling)},
                     {"words", words_json(asked.words)},
                     {"threads", host_.facts().threads},
                     {"logits", task_.logits == LogitRows::all ? "all" : "last"},
                     {"folder", folder_.string()},
                     {"kept", host_.kept_folder(fmt::format("{}-{}", task_.peer.name, task_.precision)).string()},
                     {"batches", batches.string()},
                     {"shapes", shapes_json(task_.batches)}};
  if (asked.calibrated != nullptr) {
    const QualitySet& rows = host_.calibration();
    const fs::path file = folder_ / "calibration.bin";
    write_batches(rows.batches, file);
    job["calibration"] = {{"batches", file.string()}, {"shapes", shapes_json(rows.batches)}};
  }
  if (const auto& tokens = task_.generation)
    job["generation"] = {{"depth", tokens->depth}, {"prompt", tokens->prompt_tokens}, {"new", tokens->new_tokens}};
  if (const auto& update = task_.training)
    job["training"] = {{"learning_rate", update->learning_rate}, {"weight_decay", update->weight_decay}};
  write_file_atomically(folder_ / "job.json", job.dump());
}

void PeerProcess::read_operations(const Json& ready) {
  const auto read = [&](const Json& ran, std::vector<PeerOperation>& operations) {
    for (const Json& one : ran) {
      if (operations.size() < most_operations) operations.push_back(operation_in(one));
    }
  };
  try {
    read(ready.at("ran"), operations_);
    if (task_.generation) read(ready.at("ran_in_decode"), decode_operations_);
  } catch (const std::exception& error) {
    fail(Status::crashed, fmt::format("what it says it ran is malformed: {}", printable_error(error.what(), 200)));
  }
}

std::optional<PeerFailure> PeerProcess::prepare() {
  if (!host_.model().config.adapters.empty()) {
    fail(Status::unsupported, "opens the model without its adapters");
    return failure_;
  }
  folder_ = host_.new_folder();
  try {
    write_job();
  } catch (const Error& error) {
    if (error.code() != ExitCode::user) throw;
    fail(Status::unsupported, fmt::format("reads a file that cannot be written: {}", error.what()));
    return failure_;
  }
  companion_.emplace(host_.worker_of(task_.peer, folder_));
  const Json answer = ask({{"do", "prepare"}, {"job", (folder_ / "job.json").string()}});
  if (!failure_) read_operations(answer);
  if (!failure_) stop();
  return failure_;
}

void PeerProcess::take(std::size_t batch) {
  ask({{"do", "take"}, {"batch", batch}});
}

void PeerProcess::take_time(const Json& answer, double around_s) {
  if (failure_) return;
  try {
    last_run_s_ = answer.at("seconds").get<double>();
    last_value_ = answer.at("value").is_number() ? answer.at("value").get<double>() : NAN;
  } catch (const std::exception& error) {
    return fail(Status::crashed, fmt::format("its answer is malformed: {}", printable_error(error.what(), 200)));
  }
  if (!(last_run_s_ > 0) || last_run_s_ > around_s + clock_slack_s)
    fail(Status::crashed,
         fmt::format("its clock says {:.6g} ms of a turn that took {:.6g} ms", 1e3 * last_run_s_, 1e3 * around_s));
}

void PeerProcess::run() {
  const double begin_s = now_s();
  const Json answer = ask({{"do", "run"}});
  take_time(answer, now_s() - begin_s);
}

void PeerProcess::prefill() {
  const double begin_s = now_s();
  const Json answer = ask({{"do", "prefill"}});
  take_time(answer, now_s() - begin_s);
}

void PeerProcess::decode() {
  const double begin_s = now_s();
  const Json answer = ask({{"do", "decode"}});
  take_time(answer, now_s() - begin_s);
  if (failure_) return;
  token_ms_.clear();
  double sum_s = 0;
  for (const Json& ms : answer.value("token_ms", Json::array())) {
    if (!ms.is_number() || !(ms.get<double>() > 0)) break;
    token_ms_.push_back(ms.get<double>());
    sum_s += 1e-3 * token_ms_.back();
  }
  const bool is_whole = std::ssize(token_ms_) == task_.generation->new_tokens && sum_s <= last_run_s_ + clock_slack_s;
  if (!is_whole)
    fail(Status::crashed, fmt::format("it gives {} times of {} tokens, {:.6g} ms of the {:.6g} ms that they took",
                                      token_ms_.size(), task_.generation->new_tokens, 1e3 * sum_s, 1e3 * last_run_s_));
}

void PeerProcess::step() {
  const double begin_s = now_s();
  const Json answer = ask({{"do", "step"}});
  take_time(answer, now_s() - begin_s);
  if (failure_) return;
  const Json phases = answer.value("phases_s", Json::array());
  double sum_s = 0;
  for (std::size_t phase = 0; phase < phases_s_.size(); ++phase) {
    phases_s_[phase] = phase < phases.size() && phases[phase].is_number() ? phases[phase].get<double>() : -1;
    sum_s += phases_s_[phase];
  }
  if (std::ranges::any_of(phases_s_, [](double s) { return !(s >= 0); }) || sum_s > last_run_s_ + clock_slack_s)
    fail(Status::crashed, fmt::format("it gives {:.6g} ms of forward, backward and update for a step of {:.6g} ms",
                                      1e3 * sum_s, 1e3 * last_run_s_));
}

bool PeerProcess::is_finite() {
  const Json answer = ask({{"do", "check"}});
  stop();
  return failure_ || answer.value("finite", false);
}

std::optional<TensorView> PeerProcess::logits(std::size_t batch) {
  const fs::path file = folder_ / "logits.f32";
  logits_.reset();
  const Json answer = ask({{"do", "logits"}, {"batch", batch}, {"out", file.string()}});
  stop();
  if (failure_) return std::nullopt;
  const Shape asked = asked_logits(host_.model().config, task_.batches[batch]);
  try {
    const Shape shape = shape_in(answer.at("shape"));
    logits_.emplace(file);
    const auto bytes = static_cast<std::size_t>(element_count(asked)) * sizeof(float);
    if (shape != asked)
      fail(Status::crashed, fmt::format("its logits are {} where {} are asked", to_string(shape), to_string(asked)));
    if (!failure_ && logits_->bytes().size() != bytes)
      fail(Status::crashed, fmt::format("its logits are {} bytes where {} are asked", logits_->bytes().size(), bytes));
  } catch (const std::exception& error) {
    fail(Status::crashed, fmt::format("it gives no logits: {}", printable_error(error.what(), 200)));
  }
  if (failure_) return std::nullopt;
  return TensorView{DType::f32, asked, logits_->bytes().data()};
}

bool multiplies_as_asked(const Precision& asked, DType operand) {
  if (operand == asked.operand) return true;
  const bool is_weight_only = asked.rule == Activations::native_16bit && asked.operand == DType::f32;
  return is_weight_only && (operand == DType::bf16 || operand == DType::f16);
}

std::string other_precision_words(const std::string& precision, std::span<const PeerOperation> operations) {
  const Precision& asked = find_precision(precision);
  std::map<DType, std::vector<std::string>> others;
  for (const PeerOperation& one : operations) {
    const bool decides = one.kind == PeerOperation::Kind::linear ||
                         (one.kind == PeerOperation::Kind::attention && asked.operand == DType::f32);
    if (decides && !multiplies_as_asked(asked, one.operand))
      others[one.operand].push_back(fmt::format("{} {}", one.count, one.operation));
  }
  std::vector<std::string> words;
  words.reserve(others.size());
  for (const auto& [operand, operations_in] : others)
    words.push_back(fmt::format("{} ({})", name(operand), fmt::join(operations_in, ", ")));
  if (words.empty()) return "";
  return fmt::format("was asked for {} and multiplies in {}", precision, fmt::join(words, ", "));
}

}  // namespace assay
