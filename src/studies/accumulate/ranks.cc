#include "studies/accumulate/ranks.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "base/error.h"
#include "base/json.h"
#include "base/random.h"
#include "base/units.h"
#include "model/config.h"
#include "model/families.h"
#include "model/random_weights.h"
#include "results/model_name.h"
#include "studies/shared/training_step.h"
#include "text/bundled.h"
#include "text/tokenizer.h"
#include "training/data.h"
#include "training/trainer.h"

namespace assay {
namespace {

constexpr std::int64_t most_ranks = 4096;

/// Counts the additions that change nothing.
struct Adder {
  DType dtype;
  std::int64_t additions = 0;
  std::int64_t without_effect = 0;
  float add(float sum, float value) {
    const float next = round_to(dtype, sum + value);
    additions += value != 0;
    without_effect += value != 0 && next == sum;
    return next;
  }
};

/// One element of each rank, already as the wire has it.
using RankColumn = std::span<const float>;

/// `first`: the rank at which the element's share sets out.
float sum_around_ring(RankColumn values, std::size_t first, DType wire, Adder& adder) {
  float sum = values[first];
  for (std::size_t hop = 1; hop < values.size(); ++hop)
    sum = round_to(wire, adder.add(sum, values[(first + hop) % values.size()]));
  return sum;
}

float sum_of_tree(RankColumn values, DType wire, Adder& adder) {
  if (values.size() == 1) return values[0];
  const std::size_t half = (values.size() + 1) / 2;
  const float left = sum_of_tree(values.first(half), wire, adder);
  return round_to(wire, adder.add(left, sum_of_tree(values.subspan(half), wire, adder)));
}

float sum_direct(RankColumn values, DType wire, Adder& adder) {
  float sum = 0;
  for (const float value : values) sum = adder.add(sum, value);
  return round_to(wire, sum);
}

float sum_by(RankSum algorithm, RankColumn values, std::size_t share, DType wire, Adder& adder) {
  switch (algorithm) {
    case RankSum::ring:
      return sum_around_ring(values, share, wire, adder);
    case RankSum::tree:
      return sum_of_tree(values, wire, adder);
    case RankSum::direct:
      return sum_direct(values, wire, adder);
  }
  ASSAY_ASSERT(!"a way of adding");
  return 0;
}

ModelConfig small_byte_model() {
  const Json config = {{"model_type", "gpt2"}, {"vocab_size", 256}, {"n_positions", 1024}, {"n_embd", 128},
                       {"n_layer", 2},         {"n_head", 4},       {"n_inner", 512}};
  return parse_config(config, "the model of bytes");
}

Model model_of(const AccumulateRanksRequest& request) {
  if (!request.model.empty()) return open_model(request.model, request.model_options);
  Model model;
  model.name = "a GPT of 2 layers, width 128, on bytes";
  model.config = small_byte_model();
  model.weights = random_weights(build_program(model.config, {}), model.config, request.seed);
  return model;
}

/// Ids of the bundled text: by the model's tokenizer, else its bytes.
std::vector<std::int32_t> bundled_ids(const Model& model) {
  const std::string text(bundled_text());
  if (model.files) return load_tokenizer(*model.files).encode(text, "the bundled text");
  if (model.config.vocab_size < 256) fail_user("--model {}: has fewer ids than there are bytes", model.name);
  std::vector<std::int32_t> ids;
  ids.reserve(text.size());
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

/// Places in the gradients of all parameters, one behind the other, in order.
std::vector<std::int64_t> drawn_places(std::int64_t all, std::int64_t wanted, std::uint64_t seed) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(std::min(all, wanted)));
  if (wanted >= all) {
    std::iota(places.begin(), places.end(), 0);
    return places;
  }
  Random random(seed, 5);
  for (std::int64_t& place : places) place = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(all)));
  std::ranges::sort(places);
  return places;
}

/// Appends the gradient at those places.
void take_gradient(Trainer& trainer, const std::vector<std::int64_t>& places, std::vector<float>& values) {
  auto place = places.begin();
  std::int64_t before = 0;
  for (const Value& value : trainer.programs().step.values) {
    if (value.source != Source::state || is_parameter(value)) continue;
    const Tensor& gradient = *trainer.state().find(value.name);
    for (; place != places.end() && *place < before + gradient.count(); ++place)
      values.push_back(gradient.as<float>()[*place - before]);
    before += gradient.count();
  }
}

RankGradients rank_gradients(const AccumulateRanksRequest& request, const Model& model, const MachineFacts& facts,
                             const std::function<void(const std::string&, double)>& progress) {
  TrainingOptions options;
  options.precision = choose_precision("fp32", "", std::nullopt);
  options.parts = StepParts::forward_backward;
  Trainer trainer(model.config, model.weights, options, find_backend("cpu"), facts);
  const TrainingData data = random_windows(bundled_ids(model), {1, request.seq}, request.seed, "the bundled text");
  std::int64_t parameters = 0;
  for (const Value& value : trainer.programs().step.values) {
    if (is_gradient(value)) parameters += element_count(concrete(value.shape, {}));
  }
  const std::vector<std::int64_t> places = drawn_places(parameters, request.elements, request.seed);
  RankGradients gradients{std::ranges::max(request.ranks), std::ssize(places), {}};
  for (std::int64_t rank = 0; rank < gradients.ranks; ++rank) {
    trainer.set_batch(data.batch(rank));
    trainer.set_seed(request.seed);
    trainer.forward();
    trainer.backward();
    take_gradient(trainer, places, gradients.values);
    if (progress)
      progress(fmt::format("gradient of rank {}", rank),
               static_cast<double>(rank) / static_cast<double>(gradients.ranks));
  }
  return gradients;
}

void check_rank_sums(const AccumulateRanksRequest& request) {
  for (const std::int64_t ranks : request.ranks) {
    if (ranks < 2 || ranks > most_ranks) fail_user("--ranks {}: 2 to {} are possible", ranks, most_ranks);
  }
  for (const DType wire : request.wires) {
    if (wire != DType::f32 && wire != DType::bf16 && wire != DType::f16)
      fail_user("--wire {}: f32, bf16 and f16 are possible", name(wire));
  }
  for (const DType sum : request.sums) {
    if (sum != DType::f32 && sum != DType::bf16 && sum != DType::f16)
      fail_user("--sum {}: f32, bf16 and f16 are possible", name(sum));
  }
}

/// Infinity and NaN are no figures.
Table::Cell error_cell(double error) {
  if (!std::isfinite(error)) return Absent{};
  return error;
}

std::vector<ColumnOf<RankSumError>> rank_sum_columns() {
  using Row = RankSumError;
  using Cell = Table::Cell;
  constexpr auto label = Table::Role::label;
  constexpr auto scientific = Notation::scientific;
  return {
      {{.key = "ranks", .role = label}, [](const Row& row) -> Cell { return row.ranks; }},
      {{.key = "algorithm", .role = label}, [](const Row& row) -> Cell { return name(row.algorithm); }},
      {{.key = "wire", .meaning = "dtype that travels", .role = label},
       [](const Row& row) -> Cell { return name(row.wire); }},
      {{.key = "sum", .meaning = "dtype of each addition", .role = label},
       [](const Row& row) -> Cell { return name(row.sum); }},
      {{.key = "error",
        .meaning = "of the summed gradient, relative, against f64",
        .notation = scientific,
        .digits = 2},
       [](const Row& row) -> Cell { return error_cell(row.relative); }},
      {{.key = "wire_error",
        .title = "of the wire",
        .meaning = "the same of an exact sum of what travels, rounded once",
        .notation = scientific,
        .digits = 2},
       [](const Row& row) -> Cell { return error_cell(row.wire_relative); }},
      {{.key = "times", .title = "adding / wire", .meaning = "error over that of the wire", .digits = 3},
       [](const Row& row) -> Cell { return error_cell(row.relative / row.wire_relative); }},
      {{.key = "lost",
        .title = "lost",
        .meaning = "additions of a value other than 0 that left the sum as it was",
        .notation = Notation::percent,
        .digits = 2},
       [](const Row& row) -> Cell { return row.lost; }},
      {{.key = "not_finite", .meaning = "elements", .detail = Detail::data},
       [](const Row& row) -> Cell { return row.not_finite; }},
  };
}

/// Where adding costs no more than the wire does by itself.
constexpr double holds_within = 2;

bool is_held(const RankSumError& row) {
  return row.not_finite == 0 && !(row.relative > holds_within * row.wire_relative);
}

std::string words_on_error(const RankSumError& row) {
  if (row.not_finite > 0) return fmt::format("at {} ranks sums overflow", row.ranks);
  if (!(row.wire_relative > 0)) return fmt::format("at {} ranks the wire itself makes no error", row.ranks);
  return fmt::format("at {} ranks {:.3g} times the wire's own error", row.ranks, row.relative / row.wire_relative);
}

std::string words_on_scale(const std::vector<RankSumError>& rows, RankSum algorithm, DType wire, DType sum) {
  std::vector<RankSumError> own;
  std::ranges::copy_if(rows, std::back_inserter(own), [&](const RankSumError& row) {
    return row.algorithm == algorithm && row.wire == wire && row.sum == sum;
  });
  std::ranges::stable_sort(own, {}, &RankSumError::ranks);
  const std::string way = fmt::format("{}, {} on the wire, {} sums", name(algorithm), name(wire), name(sum));
  const std::string at_most = words_on_error(own.back());
  const auto fails = std::ranges::find_if_not(own, is_held);
  if (fails == own.end()) return fmt::format("{}: holds at every number of ranks asked; {}.", way, at_most);
  if (fails == own.begin()) return fmt::format("{}: does not hold from {} ranks on; {}.", way, fails->ranks, at_most);
  return fmt::format("{}: holds up to {} ranks; {}.", way, std::prev(fails)->ranks, at_most);
}

Figure rank_errors_figure(const AccumulateRanksRequest& request, const std::vector<RankSumError>& rows) {
  Figure figure{.key = "rank_errors", .caption = "Error of the summed gradient against f64"};
  figure.x = {.title = "ranks"};
  figure.y = {.title = "relative error"};
  for (const RankSum algorithm : request.algorithms) {
    for (const DType wire : request.wires) {
      for (const DType sum : request.sums) {
        Figure::Series& series = figure.series.emplace_back();
        series.name = fmt::format("{}, {}, {} sums", name(algorithm), name(wire), name(sum));
        for (const RankSumError& row : rows) {
          if (row.algorithm == algorithm && row.wire == wire && row.sum == sum && std::isfinite(row.relative))
            series.points.push_back({.x = static_cast<double>(row.ranks), .y = row.relative});
        }
      }
    }
  }
  return figure;
}

}  // namespace

const char* name(RankSum algorithm) {
  constexpr const char* names[] = {"ring", "tree", "direct"};
  return names[static_cast<std::size_t>(algorithm)];
}

RankSumError rank_sum_error(const RankGradients& gradients, std::int64_t ranks, RankSum algorithm, DType wire,
                            DType sum) {
  RankSumError result{.ranks = ranks, .algorithm = algorithm, .wire = wire, .sum = sum};
  Adder adder{sum};
  double exact_squares = 0;
  double error_squares = 0;
  double wire_squares = 0;
  std::vector<float> column(static_cast<std::size_t>(ranks));
  for (std::int64_t element = 0; element < gradients.elements; ++element) {
    double exact = 0;
    double travelled = 0;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const float own = gradients.of(rank)[static_cast<std::size_t>(element)];
      float& sent = column[static_cast<std::size_t>(rank)];
      sent = round_to(wire, own);
      exact += own;
      travelled += sent;
    }
    const auto share = static_cast<std::size_t>(element * ranks / gradients.elements);
    const float found = sum_by(algorithm, column, share, wire, adder);
    const double once = round_to(wire, static_cast<float>(travelled));
    exact_squares += exact * exact;
    wire_squares += (once - exact) * (once - exact);
    if (!std::isfinite(found)) {
      ++result.not_finite;
      continue;
    }
    error_squares += (found - exact) * (found - exact);
  }
  result.relative = result.not_finite > 0 ? INFINITY : std::sqrt(error_squares / exact_squares);
  result.wire_relative = std::sqrt(wire_squares / exact_squares);
  result.lost =
      static_cast<double>(adder.without_effect) / static_cast<double>(std::max<std::int64_t>(1, adder.additions));
  return result;
}

Document accumulate_ranks(const AccumulateRanksRequest& request, const MachineFacts& facts,
                          const std::function<void(const std::string&, double)>& progress) {
  check_rank_sums(request);
  const Model model = model_of(request);
  const RankGradients gradients = rank_gradients(request, model, facts, progress);
  std::vector<RankSumError> rows;
  std::vector<std::string> notes;
  for (const DType wire : request.wires) {
    for (const DType sum : request.sums) {
      for (const RankSum algorithm : request.algorithms) {
        for (const std::int64_t ranks : request.ranks)
          rows.push_back(rank_sum_error(gradients, ranks, algorithm, wire, sum));
        notes.push_back(words_on_scale(rows, algorithm, wire, sum));
      }
    }
  }
  Document document;
  document.subject = {.schema = "assay-accumulate-ranks-1",
                      .title = fmt::format("gradients of {} summed over ranks", shown_model_name(model.name))};
  add_fact(document.subject.facts,
           {.key = "elements", .meaning = "of the gradient, drawn once", .notation = Notation::count},
           gradients.elements);
  add_fact(document.subject.facts, {.key = "tokens", .title = "tokens a rank"}, request.seq);
  add_fact(document.subject.facts, {.key = "seed", .detail = Detail::data}, request.seed);
  document.tables.push_back(filled(
      {.key = "rank_sums",
       .legend = fmt::format("of the wire: the error of an exact sum of what travels, rounded once to its dtype. A way "
                             "of adding holds where its error is at most {} times that",
                             holds_within)},
      rank_sum_columns(), rows));
  document.figures.push_back(rank_errors_figure(request, rows));
  document.sentences.push_back({.texts = notes});
  return document;
}

}  // namespace assay
