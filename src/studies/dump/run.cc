#include "studies/dump/run.h"

#include <algorithm>

#include "base/error.h"
#include "formats/safetensors.h"
#include "quality/loss.h"
#include "runtime/non_finite.h"
#include "studies/dump/chunks.h"
#include "studies/dump/gradients.h"
#include "studies/shared/cached.h"

namespace assay {
namespace {

bool wants(const DumpRequest& request, const char* what) {
  return std::find(request.what.begin(), request.what.end(), what) != request.what.end();
}

void check_dump(const DumpRequest& request) {
  for (const std::string& what : request.what) {
    if (what != "logits" && what != "loss" && what != "hidden" && what != "grads")
      fail_user("--what {}: logits, loss, hidden and grads are known", what);
  }
  if (!request.chunks.empty() && wants(request, "grads"))
    fail_user("--chunks: gradients are of all tokens at once, and not to be had in pieces");
}

void refuse_loss_of_scores(const DumpRequest& request, const Model& model) {
  if (model.config.task != Task::classification || model.config.outputs == Outputs::classes) return;
  for (const char* what : {"loss", "grads"}) {
    if (wants(request, what))
      fail_user("{}: --what {}: its head gives scores and no classes, so that cross-entropy is none", model.name, what);
  }
}

double mean_loss(const Loss& loss, const TokenBatch& batch, const std::string& file) {
  const std::optional<double> mean = loss.mean();
  if (!mean) {
    fail_user("{}: the batch of {} x {} tokens has no label that counts: its loss does not exist", file, batch.batch,
              batch.seq);
  }
  return *mean;
}

/// Mean cross-entropy as the model's task defines it.
double loss_of(const Model& model, const Tensor& logits, const TokenBatch& batch, const std::string& file) {
  if (model.config.task == Task::language_model) {
    const bool given = !batch.labels.empty();
    if (given && batch.labels.size() != batch.input_ids.size()) fail_user("{}: 'labels' need one label a token", file);
    const Loss loss =
        next_token_loss(logits.view(), given ? batch.labels : default_labels(batch.input_ids, batch.attention_mask));
    return mean_loss(loss, batch, file);
  }
  if (model.config.task == Task::embedding) fail_user("{}: an embedding model has no loss", model.name);
  const bool by_token = labels_tokens(model.config.task);
  if (batch.labels.size() != (by_token ? batch.input_ids.size() : static_cast<std::size_t>(batch.batch)))
    fail_user("{}: 'labels' need one label a {}", file, by_token ? "token" : "row");
  return mean_loss(cross_entropy(logits.view(), batch.labels), batch, file);
}

/// What is written, and what is to be said of it.
struct Dumped {
  std::vector<std::string> names;
  std::vector<Tensor> tensors;
  std::vector<std::string> notes;

  void add(const std::string& name, Tensor tensor) {
    names.push_back(name);
    tensors.push_back(std::move(tensor));
  }
};

[[noreturn]] void fail_not_finite(const Model& model, const NonFiniteRun& run) {
  fail_user("{}: {}, and nothing is written (--allow-nonfinite writes it)", model.name, words(run));
}

bool allows_nonfinite(const DumpRequest& request) {
  return request.model_options.checkpoint.nonfinite == Nonfinite::allowed;
}

/// At padding NaN is told and written.
void add_outputs(const DumpRequest& request, const Model& model, const Plan& plan, const TokenBatch& batch,
                 Dumped& dumped) {
  for (const std::string& name : plan.options().outputs) {
    if (name == "logits" && !wants(request, "logits")) continue;
    dumped.add(name, plan.output_f32(name));
    const auto found = first_non_finite(dumped.tensors.back().view());
    if (!found || allows_nonfinite(request)) continue;
    if (const auto run = find_non_finite(plan, name, batch.attention_mask)) fail_not_finite(model, *run);
    dumped.notes.push_back(
        fmt::format("{}: {}; its token is padding, and real tokens are finite", model.name, words(name, *found)));
  }
}

Tensor loss_tensor(const DumpRequest& request, const Model& model, const Tensor& logits, const TokenBatch& batch) {
  Tensor loss(DType::f32, Shape{});
  *loss.as<float>() = static_cast<float>(loss_of(model, logits, batch, request.tokens.string()));
  return loss;
}

void add_loss(const DumpRequest& request, const Model& model, const Plan& plan, const TokenBatch& batch,
              Dumped& dumped) {
  Tensor loss = loss_tensor(request, model, plan.output_f32("logits"), batch);
  const auto found = first_non_finite(loss.view());
  if (found && !allows_nonfinite(request))
    fail_not_finite(model, trace_non_finite(plan, "loss", *found, batch.attention_mask));
  dumped.add("loss", std::move(loss));
}

void dump_whole(const DumpRequest& request, const Model& model, Instance& instance, const TokenBatch& batch,
                Dumped& dumped) {
  Plan plan(instance, {.extent = {batch.batch, batch.seq},
                       .mask = batch.attention_mask.empty() ? AttentionMask::absent : AttentionMask::given,
                       .outputs = output_names(instance.program())});
  plan.set_inputs(batch.input_ids, batch.attention_mask, batch.token_types);
  plan.run();
  add_outputs(request, model, plan, batch, dumped);
  if (wants(request, "loss")) add_loss(request, model, plan, batch, dumped);
}

/// What stands at padding is nobody's result.
bool is_of_real_token(const TokenBatch& batch, const NonFinite& found) {
  if (batch.attention_mask.empty()) return true;
  return batch.attention_mask[static_cast<std::size_t>(found.place[0] * batch.seq + found.place[1])] != 0;
}

void dump_in_chunks(const DumpRequest& request, const Model& model, Instance& instance, const TokenBatch& batch,
                    Dumped& dumped) {
  Session session(instance, {.batch = batch.batch,
                             .capacity = batch.seq,
                             .outputs = output_names(instance.program()),
                             .graphs = request.engine.graphs});
  std::map<std::string, Tensor> outputs = run_in_chunks(session, request.chunks, batch);
  if (wants(request, "loss")) dumped.add("loss", loss_tensor(request, model, outputs.at("logits"), batch));
  for (auto& [name, tensor] : outputs) {
    if (name == "logits" && !wants(request, "logits")) continue;
    const auto found = first_non_finite(tensor.view());
    if (found && !allows_nonfinite(request) && is_of_real_token(batch, *found))
      fail_user("{}: {}, and nothing is written (--allow-nonfinite writes it)", model.name, words(name, *found));
    dumped.add(name, std::move(tensor));
  }
}

void write(const std::filesystem::path& out, const Dumped& dumped) {
  std::vector<NamedTensor> named;
  for (std::size_t i = 0; i < dumped.names.size(); ++i) named.push_back({dumped.names[i], dumped.tensors[i].view()});
  write_safetensors(out, named);
}

}  // namespace

std::vector<std::string> dump(const DumpRequest& request, const MachineFacts& facts) {
  check_dump(request);
  const Model model = open_model(request.model, request.model_options);
  refuse_loss_of_scores(request, model);
  const TokenBatch batch = load_token_json(request.tokens);
  check_tokens(model, batch, request.tokens.string());
  if (wants(request, "loss")) check_labels(model, batch, request.tokens.string());
  EngineOptions engine = request.engine;
  if (wants(request, "hidden")) engine.program.hidden = HiddenStates::kept;
  if (!batch.token_types.empty()) engine.program.token_types = TokenTypes::given;
  if (wants(request, "loss")) engine.program.logits = LogitRows::all;
  if (!request.chunks.empty()) {
    check_padding(batch, request.tokens.string());
    engine.cache = cache_for(request.chunks, batch);
  }
  const auto instance = make_instance(model, request.precision, engine, facts);

  Dumped dumped;
  const auto dump_it = request.chunks.empty() ? dump_whole : dump_in_chunks;
  dump_it(request, model, *instance, batch, dumped);
  if (wants(request, "grads")) {
    for (auto& [name, gradient] : gradients(request, model, batch, facts)) dumped.add(name, std::move(gradient));
  }
  write(request.out, dumped);
  const std::string settled = facts.peaks.empty() ? settled_words(*instance, facts) : "";
  if (!settled.empty()) dumped.notes.push_back(settled);
  return dumped.notes;
}

}  // namespace assay
