#include "training/data.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "base/units.h"

namespace assay {
namespace {

// Streams of the seed: what is drawn for one purpose moves nothing that is drawn for another.
constexpr std::uint64_t window_stream = std::uint64_t{1} << 40;
constexpr std::uint64_t order_stream = std::uint64_t{2} << 40;

template <typename T>
void shuffle(std::vector<T>& items, Random& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

TrainingBatch windows_at(const std::vector<std::int32_t>& ids, Extent extent, Random random) {
  TrainingBatch batch;
  batch.extent = extent;
  const auto seq = static_cast<std::size_t>(extent.seq);
  for (std::int64_t row = 0; row < extent.batch; ++row) {
    const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(random.below(ids.size() - seq));
    batch.input_ids.insert(batch.input_ids.end(), begin, begin + extent.seq);
    batch.labels.insert(batch.labels.end(), begin + 1, begin + 1 + extent.seq);
  }
  return batch;
}

/// Sentence numbers of each batch of an epoch.
std::vector<std::vector<std::size_t>> epoch_order(const TokenisedSet& set, std::size_t batch, Random random) {
  constexpr std::size_t group_batches = 50;  // Long enough for similar lengths, short enough to mix.
  std::vector<std::size_t> order(set.ids.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  shuffle(order, random);
  std::vector<std::vector<std::size_t>> batches;
  for (std::size_t begin = 0; begin < order.size(); begin += group_batches * batch) {
    const std::size_t end = std::min(order.size(), begin + group_batches * batch);
    const auto at = [&](std::size_t i) { return order.begin() + static_cast<std::ptrdiff_t>(i); };
    std::stable_sort(at(begin), at(end),
                     [&](std::size_t a, std::size_t b) { return set.ids[a].size() < set.ids[b].size(); });
    for (std::size_t i = begin; i < end; i += batch) batches.emplace_back(at(i), at(std::min(end, i + batch)));
  }
  shuffle(batches, random);
  return batches;
}

TrainingBatch padded(const TokenisedSet& set, const std::vector<std::size_t>& rows, std::int64_t context) {
  constexpr std::int64_t multiple = 8;
  std::size_t longest = 1;
  for (const std::size_t row : rows) longest = std::max(longest, set.ids[row].size());
  const std::int64_t rounded = (static_cast<std::int64_t>(longest) + multiple - 1) / multiple * multiple;
  const std::int64_t seq = std::min(rounded, context);
  TrainingBatch batch;
  batch.extent = {static_cast<std::int64_t>(rows.size()), seq};
  for (const std::size_t row : rows) {
    std::vector<std::int32_t> ids = set.ids[row];
    std::vector<std::uint8_t> mask(ids.size(), 1);
    ids.resize(static_cast<std::size_t>(seq), 0);
    mask.resize(static_cast<std::size_t>(seq), 0);
    batch.input_ids.insert(batch.input_ids.end(), ids.begin(), ids.end());
    batch.attention_mask.insert(batch.attention_mask.end(), mask.begin(), mask.end());
    batch.labels.push_back(set.labels[row]);
    if (set.types.empty()) continue;
    std::vector<std::int32_t> types = set.types[row];
    types.resize(static_cast<std::size_t>(seq), 0);
    batch.token_types.insert(batch.token_types.end(), types.begin(), types.end());
  }
  return batch;
}

void add_pair(const LabelledSet& set, std::size_t index, const Tokenizer& tokenizer, std::int64_t context,
              TokenisedSet& result) {
  PairIds row = tokenizer.encode_pair(set.sentences[index], set.seconds[index], set.place_of(index));
  if (std::ssize(row.ids) > context)
    fail_user("{}: {} tokens are more than the model's context of {}", set.place_of(index), row.ids.size(), context);
  result.ids.push_back(std::move(row.ids));
  result.types.push_back(std::move(row.type_ids));
}

/// Rows [begin, end) of values with `width` a row.
template <typename T>
std::vector<T> rows_of(const std::vector<T>& values, std::int64_t begin, std::int64_t end, std::int64_t width) {
  if (values.empty()) return {};
  return {values.begin() + begin * width, values.begin() + end * width};
}

}  // namespace

TrainingData one_batch(TrainingBatch batch) {
  TrainingData data;
  data.words = fmt::format("one batch of {} x {} tokens", batch.extent.batch, batch.extent.seq);
  data.token_types = batch.token_types.empty() ? TokenTypes::zero : TokenTypes::given;
  data.batch = [batch = std::move(batch)](std::int64_t) { return batch; };
  return data;
}

TrainingData random_windows(std::vector<std::int32_t> ids, Extent extent, std::uint64_t seed, const std::string& file) {
  const auto count = static_cast<std::int64_t>(ids.size());
  if (count <= extent.seq) {
    fail_user("{}: holds {} tokens, a window of {} and the token after it need {}", file, count, extent.seq,
              extent.seq + 1);
  }
  TrainingData data;
  data.words = fmt::format("{}, {} tokens in windows of {} x {}", file, format_count(count), extent.batch, extent.seq);
  const auto shared = std::make_shared<const std::vector<std::int32_t>>(std::move(ids));
  data.batch = [shared, extent, seed](std::int64_t step) {
    return windows_at(*shared, extent, Random(seed, window_stream + static_cast<std::uint64_t>(step)));
  };
  return data;
}

TokenisedSet tokenise(const LabelledSet& set, const Tokenizer& tokenizer, Limits limits, const std::string& file) {
  if (set.sentences.empty()) fail_user("{}: holds no sentence", file);
  TokenisedSet result;
  for (std::size_t i = 0; i < set.sentences.size(); ++i) {
    if (set.labels[i] >= limits.classes) {
      fail_user("{}: label {} is not among the {} classes 0 to {}", set.place_of(i), set.labels[i], limits.classes,
                limits.classes - 1);
    }
    result.labels.push_back(set.labels[i]);
    if (set.has_pairs()) {
      add_pair(set, i, tokenizer, limits.context, result);
      continue;
    }
    std::vector<std::int32_t> ids = tokenizer.encode(set.sentences[i], set.place_of(i));
    if (static_cast<std::int64_t>(ids.size()) > limits.context) {
      const std::int32_t last = ids.back();
      ids.resize(static_cast<std::size_t>(limits.context));
      ids.back() = last;
      ++result.cut;
    }
    result.ids.push_back(std::move(ids));
  }
  return result;
}

TrainingData labelled_batches(TokenisedSet set, std::int64_t batch, std::int64_t context, std::uint64_t seed) {
  /// The order of the epoch that was asked for last.
  struct Epoch {
    std::int64_t number = -1;
    std::vector<std::vector<std::size_t>> batches;
  };
  TrainingData data;
  const auto count = static_cast<std::int64_t>(set.ids.size());
  data.words = fmt::format("{} sentences in batches of {}", format_count(count), batch);
  if (set.cut > 0) data.words += fmt::format(", {} of them cut to {} tokens", format_count(set.cut), context);
  data.steps_an_epoch = (count + batch - 1) / batch;
  data.token_types = set.types.empty() ? TokenTypes::zero : TokenTypes::given;
  const auto shared = std::make_shared<const TokenisedSet>(std::move(set));
  data.batch = [shared, batch, context, seed, steps = data.steps_an_epoch,
                epoch = std::make_shared<Epoch>()](std::int64_t step) {
    if (epoch->number != step / steps) {
      epoch->number = step / steps;
      epoch->batches = epoch_order(*shared, static_cast<std::size_t>(batch),
                                   Random(seed, order_stream + static_cast<std::uint64_t>(epoch->number)));
    }
    return padded(*shared, epoch->batches[static_cast<std::size_t>(step % steps)], context);
  };
  return data;
}

std::vector<TrainingBatch> split(const TrainingBatch& batch, std::int64_t parts) {
  const std::int64_t rows = batch.extent.batch;
  const std::int64_t seq = batch.extent.seq;
  parts = std::min(parts, rows);
  const std::int64_t labels_a_row = static_cast<std::int64_t>(batch.labels.size()) / rows;
  std::vector<TrainingBatch> result;
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t begin = rows * part / parts;
    const std::int64_t end = rows * (part + 1) / parts;
    result.push_back({{end - begin, seq},
                      rows_of(batch.input_ids, begin, end, seq),
                      rows_of(batch.attention_mask, begin, end, seq),
                      rows_of(batch.labels, begin, end, labels_a_row),
                      rows_of(batch.token_types, begin, end, seq),
                      begin});
  }
  return result;
}

std::int64_t largest_part(std::int64_t rows, std::int64_t parts) {
  parts = std::min(parts, rows);
  return (rows + parts - 1) / parts;
}

std::int64_t counted_labels(const TrainingBatch& batch) {
  return std::count_if(batch.labels.begin(), batch.labels.end(), [](std::int32_t label) { return label >= 0; });
}

}  // namespace assay
