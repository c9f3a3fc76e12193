#include "quality/protocols.h"

#include <algorithm>

#include "base/error.h"
#include "quality/loss.h"

namespace assay {
namespace {

/// One row before it is batched: ids, and the target of each position (ignored_label where none counts).
struct Row {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> targets;
};

/// Position t is scored on id t + 1; positions before `first_scored` - 1 serve as context only.
Row next_token_row(std::span<const std::int32_t> ids, std::size_t first_scored) {
  Row row{{ids.begin(), ids.end()}, std::vector<std::int32_t>(ids.size(), ignored_label)};
  for (std::size_t t = std::max<std::size_t>(first_scored, 1); t < ids.size(); ++t) row.targets[t - 1] = ids[t];
  return row;
}

/// Rows of one length, up to `batch` of them together; a row of another length begins a new batch.
std::vector<QualityBatch> batch_equal(const std::vector<Row>& rows, std::int64_t batch) {
  std::vector<QualityBatch> batches;
  for (const Row& row : rows) {
    const auto length = static_cast<std::int64_t>(row.ids.size());
    if (batches.empty() || batches.back().extent.batch == batch || batches.back().extent.seq != length) {
      batches.push_back({{0, length}, {}, {}, {}});
    }
    QualityBatch& last = batches.back();
    ++last.extent.batch;
    last.ids.insert(last.ids.end(), row.ids.begin(), row.ids.end());
    last.targets.insert(last.targets.end(), row.targets.begin(), row.targets.end());
  }
  return batches;
}

/// Adds a row right-padded to the batch's length.
void append_padded(QualityBatch& batch, std::span<const std::int32_t> ids, std::int32_t padding) {
  const auto length = static_cast<std::size_t>(batch.extent.seq);
  for (std::size_t t = 0; t < length; ++t) {
    batch.ids.push_back(t < ids.size() ? ids[t] : padding);
    batch.mask.push_back(t < ids.size() ? 1 : 0);
  }
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (text.substr(0, end).find_first_not_of(" \t\r") != std::string_view::npos) lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// Targets of a padded batch: the next token where both it and this one are real.
void score_next_tokens(QualityBatch& batch) {
  batch.targets.assign(batch.ids.size(), ignored_label);
  const auto seq = static_cast<std::size_t>(batch.extent.seq);
  for (std::size_t i = 0; i + 1 < batch.ids.size(); ++i) {
    const bool both_real = batch.mask.empty() || (batch.mask[i] != 0 && batch.mask[i + 1] != 0);
    if ((i + 1) % seq != 0 && both_real) batch.targets[i] = batch.ids[i + 1];
  }
}

/// Targets by labels (rows, seq) that begin with this batch's.
void score_token_labels(std::span<const std::int32_t> labels, QualityBatch& batch) {
  const auto seq = static_cast<std::size_t>(batch.extent.seq);
  for (std::size_t i = 0; i < batch.targets.size(); ++i)
    batch.targets[i] = (i + 1) % seq == 0 ? ignored_label : labels[i + 1];
}

/// Real ids of a row of the batch.
std::int64_t real_ids(const QualityBatch& batch, std::int64_t row) {
  if (batch.mask.empty()) return batch.extent.seq;
  const auto begin = batch.mask.begin() + row * batch.extent.seq;
  return std::count_if(begin, begin + batch.extent.seq, [](std::uint8_t real) { return real != 0; });
}

/// Of what holds so many values a row of the batch, the first rows; what holds none stays empty.
template <typename T>
void cut_rows(std::vector<T>& values, std::int64_t of_rows, std::int64_t rows) {
  values.resize(values.size() / static_cast<std::size_t>(of_rows) * static_cast<std::size_t>(rows));
}

void keep_rows(QualityBatch& batch, std::int64_t rows) {
  cut_rows(batch.ids, batch.extent.batch, rows);
  cut_rows(batch.mask, batch.extent.batch, rows);
  cut_rows(batch.targets, batch.extent.batch, rows);
  batch.extent.batch = rows;
}

}  // namespace

const char* name(Protocol protocol) {
  switch (protocol) {
    case Protocol::window:
      return "window";
    case Protocol::stride:
      return "stride";
    case Protocol::padded_lines:
      return "padded-lines";
  }
  return "?";
}

QualitySet windows(std::span<const std::int32_t> ids, const ProtocolOptions& options) {
  if (options.window < 2) fail_user("window {}: at least 2 ids are needed", options.window);
  const bool overlapping = options.protocol == Protocol::stride;
  if (overlapping && (options.stride < 1 || options.stride >= options.window)) {
    fail_user("stride {}: must be between 1 and the window {} less one", options.stride, options.window);
  }
  QualitySet set;
  const std::int64_t most_tokens = options.most_tokens.value_or(0);
  if (most_tokens > 0 && ids.size() > static_cast<std::size_t>(most_tokens)) {
    ids = ids.first(static_cast<std::size_t>(most_tokens));
    set.taken = Taken::beginning;
  }
  set.tokens = static_cast<std::int64_t>(ids.size());
  const auto window = static_cast<std::size_t>(options.window);
  const std::size_t step = overlapping ? static_cast<std::size_t>(options.stride) : window;
  std::vector<Row> rows;
  for (std::size_t begin = 0; begin + 1 < ids.size(); begin += step) {
    const std::span<const std::int32_t> part = ids.subspan(begin, std::min(window, ids.size() - begin));
    // The window before ended at begin - step + window: what follows is new.
    const std::size_t first_scored = begin == 0 ? 1 : window - step;
    if (first_scored < part.size()) rows.push_back(next_token_row(part, overlapping ? first_scored : 1));
    if (begin + window >= ids.size()) break;
  }
  set.protocol = overlapping ? fmt::format("stride {}/{}", options.window, options.stride)
                             : fmt::format("window {}", options.window);
  set.batches = batch_equal(rows, options.batch);
  return set;
}

QualitySet padded_lines(std::string_view text, const Tokenizer& tokenizer, std::int32_t padding,
                        const ProtocolOptions& options) {
  QualitySet set;
  set.protocol = fmt::format("padded-lines {}", options.window);
  for (const std::string_view line : lines_of(text)) {
    std::vector<std::int32_t> ids = tokenizer.encode(line);
    ids.resize(std::min(ids.size(), static_cast<std::size_t>(options.window)));
    const auto length = static_cast<std::int64_t>(ids.size());
    if (options.most_tokens > 0 && set.tokens + length > *options.most_tokens) {
      set.taken = Taken::beginning;
      break;
    }
    set.tokens += length;
    if (set.batches.empty() || set.batches.back().extent.batch == options.batch)
      set.batches.push_back({{0, options.window}, {}, {}, {}});
    append_padded(set.batches.back(), ids, padding);
    ++set.batches.back().extent.batch;
  }
  for (QualityBatch& batch : set.batches) score_next_tokens(batch);
  return set;
}

QualitySet given_tokens(const TokenBatch& tokens, Scored scored, std::int64_t batch) {
  const bool labelled = scored == Scored::labels && !tokens.labels.empty();
  if (labelled && static_cast<std::int64_t>(tokens.labels.size()) != tokens.batch)
    fail_user("{} labels for {} rows: a classifier needs one a row", tokens.labels.size(), tokens.batch);
  const bool has_token_labels =
      scored == Scored::next_tokens && !tokens.labels.empty() && tokens.labels.size() == tokens.input_ids.size();
  QualitySet set;
  set.protocol = fmt::format("rows of {} as given", tokens.seq);
  for (std::int64_t begin = 0; begin < tokens.batch; begin += batch) {
    const std::int64_t rows = std::min(batch, tokens.batch - begin);
    QualityBatch part;
    part.extent = {rows, tokens.seq};
    const auto first = begin * tokens.seq;
    const auto last = (begin + rows) * tokens.seq;
    part.ids.assign(tokens.input_ids.begin() + first, tokens.input_ids.begin() + last);
    if (!tokens.attention_mask.empty())
      part.mask.assign(tokens.attention_mask.begin() + first, tokens.attention_mask.begin() + last);
    if (scored == Scored::next_tokens) score_next_tokens(part);
    if (has_token_labels) score_token_labels(std::span(tokens.labels).subspan(static_cast<std::size_t>(first)), part);
    if (labelled) part.targets.assign(tokens.labels.begin() + begin, tokens.labels.begin() + begin + rows);
    set.batches.push_back(std::move(part));
  }
  return set;
}

QualitySet sentences(const LabelledSet& set, const Tokenizer& tokenizer, std::int64_t context, std::int64_t batch) {
  QualitySet result;
  result.protocol = batch == 1 ? "one sentence at a time" : fmt::format("batches of {}, padded to the longest", batch);
  for (std::size_t begin = 0; begin < set.sentences.size(); begin += static_cast<std::size_t>(batch)) {
    const std::size_t end = std::min(set.sentences.size(), begin + static_cast<std::size_t>(batch));
    std::vector<std::vector<std::int32_t>> rows;
    QualityBatch part;
    for (std::size_t i = begin; i < end; ++i) {
      rows.push_back(tokenizer.encode(set.sentences[i], set.place_of(i)));
      if (static_cast<std::int64_t>(rows.back().size()) > context)
        fail_user("{}: {} tokens are more than the model's context of {}", set.place_of(i), rows.back().size(),
                  context);
      part.extent.seq = std::max(part.extent.seq, static_cast<std::int64_t>(rows.back().size()));
      part.targets.push_back(set.labels[i]);
    }
    part.extent.batch = static_cast<std::int64_t>(rows.size());
    for (const std::vector<std::int32_t>& row : rows) append_padded(part, row, 0);
    if (std::find(part.mask.begin(), part.mask.end(), 0) == part.mask.end()) part.mask.clear();
    result.batches.push_back(std::move(part));
  }
  return result;
}

void keep_first_rows(QualitySet& set, std::int64_t most_tokens) {
  set.tokens = 0;
  for (std::size_t b = 0; b < set.batches.size(); ++b) {
    QualityBatch& batch = set.batches[b];
    for (std::int64_t row = 0; row < batch.extent.batch; ++row) {
      const std::int64_t length = real_ids(batch, row);
      const bool is_first = b == 0 && row == 0;
      if (is_first || set.tokens + length <= most_tokens) {
        set.tokens += length;
        continue;
      }
      set.taken = Taken::beginning;
      set.batches.resize(row == 0 ? b : b + 1);
      if (row > 0) keep_rows(set.batches.back(), row);
      return;
    }
  }
}

}  // namespace assay
