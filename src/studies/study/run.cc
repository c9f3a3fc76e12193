#include "studies/study/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "studies/accumulate/run.h"
#include "studies/attention/request.h"
#include "studies/autocast/request.h"
#include "studies/bench/request.h"
#include "studies/memory/request.h"
#include "studies/study/warm_up.h"
#include "studies/train_benchmark/request.h"

namespace assay {
namespace {

bool is_quick(const StudyRequest& request) {
  return request.length == StudyLength::quick;
}

double budget_s(const StudyRequest& request, double quick_s, double full_s) {
  if (request.seconds > 0) return request.seconds;
  return is_quick(request) ? quick_s : full_s;
}

std::vector<std::string> models_of(const StudyRequest& request, std::vector<std::string> quick,
                                   std::vector<std::string> full) {
  if (!request.models.empty()) return request.models;
  return is_quick(request) ? std::move(quick) : std::move(full);
}

TrainBenchmarkRequest training_request(const StudyRequest& request) {
  TrainBenchmarkRequest training;
  training.models =
      models_of(request, {"cs336-small"}, {"cs336-small", "cs336-medium", "cs336-large", "cs336-xl", "cs336-2.7b"});
  training.precisions = {"fp32", "mixed-bf16"};
  training.batches = {is_quick(request) ? 1 : 4};
  training.seqs = is_quick(request) ? std::vector<std::int64_t>{16} : std::vector<std::int64_t>{128, 256, 512, 1024};
  training.warmups = {is_quick(request) ? 1 : 5};
  training.steps = is_quick(request) ? 2 : 10;
  training.seconds = budget_s(request, 30, 120);
  return training;
}

Document attention_document(const StudyRequest& request, const FactsSource& facts, const StudyCallbacks& callbacks) {
  AttentionRequest attention_request;
  attention_request.seconds = budget_s(request, 0.3, 5);
  attention_request.causal = true;
  if (is_quick(request)) {
    attention_request.batch = 1;
    attention_request.head_dims = {16};
    attention_request.seqs = {64, 128};
    attention_request.repetitions = 3;
  }
  return attention(attention_request, facts, callbacks);
}

Document memory_document(const StudyRequest& request, const MachineFacts& facts) {
  MemoryRequest memory_request;
  memory_request.model = models_of(request, {"cs336-small"}, {"cs336-small"}).front();
  memory_request.precisions = {"fp32", "mixed-bf16"};
  memory_request.mode = RunMode::train;
  memory_request.batch = is_quick(request) ? 1 : 4;
  memory_request.seqs = is_quick(request) ? std::vector<std::int64_t>{16} : std::vector<std::int64_t>{128, 256, 512};
  return memory(memory_request, facts);
}

Document accumulate_document() {
  AccumulateRequest request;
  const std::vector<AccumulateRow> rows = accumulate_rows(request);
  Document document = accumulate(request);
  const double f16 = std::abs(find_row(rows, Summation::sequential, DType::f16, DType::f16).error);
  const double f32 = std::abs(find_row(rows, Summation::sequential, DType::f32, DType::f32).error);
  Finding finding{.rule = "accumulation", .kind = RuleKind::expectation, .met = f32 < f16};
  finding.text = fmt::format(
      "A sum kept in f32 is closer to the exact one than a sum kept in f16: errors {:.3g} and {:.3g}", f32, f16);
  document.findings.push_back(finding);
  return document;
}

Document autocast_document(const StudyRequest& request, const FactsSource& facts) {
  AutocastRequest autocast_request;
  autocast_request.seconds = budget_s(request, 0.1, 1);
  return autocast(autocast_request, facts);
}

/// The same model, shape and precision at the other lengths of warm-up: each row is measured once.
TrainBenchmarkRequest warm_up_request(const StudyRequest& request, TrainBenchmarkRequest training) {
  const std::vector<std::int64_t> known = std::move(training.warmups);
  training.models.resize(1);
  training.seqs.resize(1);
  training.precisions = {"fp32"};
  training.warmups = is_quick(request) ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{0, 1, 2, 5};
  std::erase_if(training.warmups,
                [&](std::int64_t steps) { return std::find(known.begin(), known.end(), steps) != known.end(); });
  return training;
}

}  // namespace

std::vector<StudyPart> study_inference(const StudyRequest& request, const FactsSource& facts,
                                       const StudyCallbacks& callbacks) {
  BenchRequest bench_request;
  bench_request.models = models_of(request, {"distilbert-base"}, {"distilbert-base", "gpt2"});
  bench_request.data = request.data;
  bench_request.batches = is_quick(request) ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{1, 8, 32};
  bench_request.seqs = {is_quick(request) ? 16 : 128};
  bench_request.seconds = budget_s(request, 0.2, 5);
  if (is_quick(request)) bench_request.protocol.most_tokens = 256;
  return {{"inference", bench(bench_request, facts, callbacks)}};
}

std::vector<StudyPart> study_language_model(const StudyRequest& request, const FactsSource& facts_source,
                                            const StudyCallbacks& callbacks) {
  const MachineFacts machine = facts_source();
  const FactsSource facts = [&] { return machine; };
  const TrainBenchmarkRequest training = training_request(request);
  std::vector<StudyPart> parts;
  parts.push_back({"training steps", train_benchmark(training, facts, callbacks)});
  const Document warm_up = train_benchmark(warm_up_request(request, training), facts, callbacks);
  parts.push_back({"warm-up", warm_up_document(parts[0].document.records, warm_up.records)});
  parts.push_back({"attention alone", attention_document(request, facts, callbacks)});
  parts.push_back({"memory", memory_document(request, machine)});
  parts.push_back({"accumulation", accumulate_document()});
  parts.push_back({"autocast", autocast_document(request, facts)});
  return parts;
}

}  // namespace assay
