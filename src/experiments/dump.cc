#include "experiments/dump.h"

#include <algorithm>

#include "base/error.h"
#include "experiments/dump_gradients.h"
#include "formats/safetensors.h"
#include "quality/loss.h"

namespace assay {
namespace {

bool wants(const DumpRequest& request, const char* what) {
  return std::find(request.what.begin(), request.what.end(), what) != request.what.end();
}

void check_request(const DumpRequest& request) {
  for (const std::string& what : request.what) {
    if (what != "logits" && what != "loss" && what != "hidden" && what != "grads")
      fail_user("--what {}: logits, loss, hidden and grads are known", what);
  }
}

double mean_of(const Loss& loss, const TokenBatch& batch, const std::string& file) {
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
    return mean_of(loss, batch, file);
  }
  if (model.config.task == Task::embedding) fail_user("{}: an embedding model has no loss", model.name);
  if (batch.labels.size() != static_cast<std::size_t>(batch.batch))
    fail_user("{}: 'labels' need one label a row", file);
  return mean_of(cross_entropy(logits.view(), batch.labels), batch, file);
}

}  // namespace

std::vector<std::string> dump(const DumpRequest& request, const MachineFacts& facts) {
  check_request(request);
  const Model model = open_model(request.model, request.model_options);
  const TokenBatch batch = load_token_json(request.tokens);
  check_tokens(model, batch, request.tokens.string());
  if (wants(request, "loss")) check_labels(model, batch, request.tokens.string());
  EngineOptions engine = request.engine;
  if (wants(request, "hidden")) engine.program.hidden = HiddenStates::kept;
  if (wants(request, "loss")) engine.program.logits = LogitRows::all;
  const auto instance = make_instance(model, request.precision, engine, facts);
  Plan plan(*instance, {{batch.batch, batch.seq}, !batch.attention_mask.empty(), output_names(instance->program())});
  plan.set_inputs(batch.input_ids, batch.attention_mask);
  plan.run();

  std::vector<Tensor> tensors;
  std::vector<std::string> names;
  for (const std::string& name : plan.options().outputs) {
    if (name == "logits" && !wants(request, "logits")) continue;
    names.push_back(name);
    tensors.push_back(plan.output_f32(name));
  }
  if (wants(request, "loss")) {
    const Tensor logits = plan.output_f32("logits");
    names.emplace_back("loss");
    tensors.emplace_back(DType::f32, Shape{});
    *tensors.back().as<float>() = static_cast<float>(loss_of(model, logits, batch, request.tokens.string()));
  }
  if (wants(request, "grads")) {
    for (auto& [name, gradient] : gradients(request, model, batch, facts)) {
      names.push_back(name);
      tensors.push_back(std::move(gradient));
    }
  }
  std::vector<NamedTensor> named;
  for (std::size_t i = 0; i < names.size(); ++i) named.push_back({names[i], tensors[i].view()});
  write_safetensors(request.out, named);
  if (!facts.peaks.empty()) return {};
  const std::string settled = settled_words(*instance, facts);
  return settled.empty() ? std::vector<std::string>{} : std::vector<std::string>{settled};
}

}  // namespace assay
