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

/// Its token types; padding is of type 0.
void append_types(QualityBatch& batch, std::vector<std::int32_t> types) {
  types.resize(static_cast<std::size_t>(batch.extent.seq), 0);
  batch.token_types.insert(batch.token_types.end(), types.begin(), types.end());
}

/// One row for each id of `inner`, which stands in `masked`.
void append_masked(std::span<const std::int32_t> inner, const MaskedAs& masked, std::vector<Row>& rows) {
  std::vector<std::int32_t> whole = masked.before;
  whole.insert(whole.end(), inner.begin(), inner.end());
  whole.insert(whole.end(), masked.after.begin(), masked.after.end());
  for (std::size_t i = 0; i < inner.size(); ++i) {
    const std::size_t place = masked.before.size() + i;
    Row row{whole, std::vector<std::int32_t>(whole.size(), ignored_label)};
    row.targets[place] = row.ids[place];
    row.ids[place] = masked.mask;
    rows.push_back(std::move(row));
  }
}

/// Ids of a window that the text may fill.
std::size_t inner_window(const MaskedAs& masked, std::int64_t window) {
  const auto special = static_cast<std::int64_t>(masked.before.size() + masked.after.size());
  if (window <= special) fail_user("window {}: {} ids stand around every row", window, special);
  return static_cast<std::size_t>(window - special);
}

void add_masked_window(std::span<const std::int32_t> inner, const MaskedAs& masked, std::vector<Row>& rows,
                       QualitySet& set) {
  if (inner.empty()) return;
  append_masked(inner, masked, rows);
  set.windows.push_back(static_cast<std::int32_t>(inner.size()));
  set.tokens += std::ssize(inner);
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
  cut_rows(batch.token_types, batch.extent.batch, rows);
  batch.extent.batch = rows;
}

void check_length(std::size_t ids, std::int64_t context, const std::string& place) {
  if (static_cast<std::int64_t>(ids) > context)
    fail_user("{}: {} tokens are more than the model's context of {}", place, ids, context);
}

/// The text's ids without what stands around every row.
std::vector<std::int32_t> inner_ids(const Tokenizer& tokenizer, std::string_view text, const std::string& place) {
  const std::vector<std::int32_t> ids = tokenizer.encode(text, place);
  return {ids.begin() + std::ssize(tokenizer.prefix), ids.end() - std::ssize(tokenizer.suffix)};
}

/// Byte-level tokens hold the space before a word; others know where a word begins.
Row tagged_row(const TaggedSet::Row& tagged, const Tokenizer& tokenizer) {
  const char* const space = tokenizer.kind() == TokenizerKind::byte_level_bpe ? " " : "";
  Row row{tokenizer.prefix, {}};
  row.targets.resize(row.ids.size(), ignored_label);
  for (std::size_t i = 0; i < tagged.words.size(); ++i) {
    const std::vector<std::int32_t> ids = inner_ids(tokenizer, (i == 0 ? "" : space) + tagged.words[i], tagged.place);
    row.ids.insert(row.ids.end(), ids.begin(), ids.end());
    if (!ids.empty()) row.targets.push_back(tagged.tags[i]);
    row.targets.resize(row.ids.size(), ignored_label);
  }
  row.ids.insert(row.ids.end(), tokenizer.suffix.begin(), tokenizer.suffix.end());
  row.targets.resize(row.ids.size(), ignored_label);
  return row;
}

/// Rows padded to the longest of them.
QualityBatch padded_batch(const std::vector<PairIds>& rows) {
  QualityBatch batch;
  batch.extent = {std::ssize(rows), 0};
  for (const PairIds& row : rows) batch.extent.seq = std::max<std::int64_t>(batch.extent.seq, std::ssize(row.ids));
  for (const PairIds& row : rows) {
    append_padded(batch, row.ids, 0);
    if (!row.type_ids.empty()) append_types(batch, row.type_ids);
  }
  if (std::find(batch.mask.begin(), batch.mask.end(), 0) == batch.mask.end()) batch.mask.clear();
  return batch;
}

std::string padded_words(const char* what, std::int64_t batch) {
  return batch == 1 ? fmt::format("one {} at a time", what)
                    : fmt::format("batches of {}, padded to the longest", batch);
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

QualitySet masked_windows(std::span<const std::int32_t> ids, const MaskedAs& masked, const ProtocolOptions& options) {
  const std::size_t width = inner_window(masked, options.window);
  QualitySet set;
  set.judged = Judged::masked_classes;
  set.protocol = fmt::format("pseudo-perplexity, each id masked by itself, window {}", options.window);
  const auto most = static_cast<std::size_t>(options.most_tokens.value_or(0));
  if (most > 0 && ids.size() > most) {
    ids = ids.first(most);
    set.taken = Taken::beginning;
  }
  std::vector<Row> rows;
  for (std::size_t begin = 0; begin < ids.size(); begin += width)
    add_masked_window(ids.subspan(begin, std::min(width, ids.size() - begin)), masked, rows, set);
  set.batches = batch_equal(rows, options.batch);
  return set;
}

QualitySet masked_lines(std::string_view text, const Tokenizer& tokenizer, const MaskedAs& masked,
                        const ProtocolOptions& options) {
  const std::size_t width = inner_window(masked, options.window);
  QualitySet set;
  set.judged = Judged::masked_classes;
  set.protocol = fmt::format("pseudo-perplexity, each id masked by itself, lines of at most {}", options.window);
  std::vector<Row> rows;
  for (const std::string_view line : lines_of(text)) {
    const std::vector<std::int32_t> inner = inner_ids(tokenizer, line, "text");
    const auto kept = std::span(inner).first(std::min(width, inner.size()));
    if (options.most_tokens.value_or(0) > 0 && set.tokens + std::ssize(kept) > *options.most_tokens) {
      set.taken = Taken::beginning;
      break;
    }
    add_masked_window(kept, masked, rows, set);
  }
  set.batches = batch_equal(rows, options.batch);
  return set;
}

QualitySet given_tokens(const TokenBatch& tokens, Scored scored, std::int64_t batch) {
  const bool labelled = scored != Scored::next_tokens && !tokens.labels.empty();
  const std::int64_t labels_a_row = scored == Scored::token_labels ? tokens.seq : 1;
  if (labelled && static_cast<std::int64_t>(tokens.labels.size()) != tokens.batch * labels_a_row)
    fail_user("{} labels for {} rows: {} a row are needed", tokens.labels.size(), tokens.batch, labels_a_row);
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
    if (!tokens.token_types.empty())
      part.token_types.assign(tokens.token_types.begin() + first, tokens.token_types.begin() + last);
    if (labelled)
      part.targets.assign(tokens.labels.begin() + begin * labels_a_row,
                          tokens.labels.begin() + (begin + rows) * labels_a_row);
    set.batches.push_back(std::move(part));
  }
  return set;
}

QualitySet sentences(const LabelledSet& set, const Tokenizer& tokenizer, std::int64_t context, std::int64_t batch) {
  QualitySet result;
  result.protocol = padded_words(set.has_pairs() ? "pair" : "sentence", batch);
  result.numbers = set.numbers;
  for (std::size_t begin = 0; begin < set.sentences.size(); begin += static_cast<std::size_t>(batch)) {
    const std::size_t end = std::min(set.sentences.size(), begin + static_cast<std::size_t>(batch));
    std::vector<PairIds> rows;
    for (std::size_t i = begin; i < end; ++i) {
      const std::string place = set.place_of(i);
      rows.push_back(set.has_pairs() ? tokenizer.encode_pair(set.sentences[i], set.seconds[i], place)
                                     : PairIds{tokenizer.encode(set.sentences[i], place), {}});
      check_length(rows.back().ids.size(), context, place);
    }
    result.batches.push_back(padded_batch(rows));
    for (std::size_t i = begin; i < end && !set.labels.empty(); ++i)
      result.batches.back().targets.push_back(set.labels[i]);
  }
  return result;
}

QualitySet tagged_words(const TaggedSet& set, const Tokenizer& tokenizer, std::int64_t context, std::int64_t batch) {
  QualitySet result;
  result.protocol = fmt::format("the first token of each word, {}", padded_words("sentence", batch));
  for (std::size_t begin = 0; begin < set.rows.size(); begin += static_cast<std::size_t>(batch)) {
    const std::size_t end = std::min(set.rows.size(), begin + static_cast<std::size_t>(batch));
    std::vector<PairIds> rows;
    std::vector<std::vector<std::int32_t>> targets;
    for (std::size_t i = begin; i < end; ++i) {
      Row row = tagged_row(set.rows[i], tokenizer);
      check_length(row.ids.size(), context, set.rows[i].place);
      rows.push_back({std::move(row.ids), {}});
      targets.push_back(std::move(row.targets));
    }
    QualityBatch part = padded_batch(rows);
    for (std::vector<std::int32_t>& row : targets) {
      row.resize(static_cast<std::size_t>(part.extent.seq), ignored_label);
      part.targets.insert(part.targets.end(), row.begin(), row.end());
    }
    result.batches.push_back(std::move(part));
  }
  return result;
}

QualitySet sentences_apart(const LabelledSet& set, const Tokenizer& tokenizer, std::int64_t context,
                           std::int64_t batch) {
  QualitySet result;
  result.judged = Judged::similarities;
  result.protocol = fmt::format("cosines of pairs, {}", padded_words("pair", batch));
  result.numbers = set.numbers;
  for (std::size_t begin = 0; begin < set.sentences.size(); begin += static_cast<std::size_t>(batch)) {
    std::vector<PairIds> rows;
    for (std::size_t i = begin; i < std::min(set.sentences.size(), begin + static_cast<std::size_t>(batch)); ++i) {
      const std::string place = set.place_of(i);
      for (const std::string* sentence : {&set.sentences[i], &set.seconds[i]}) {
        rows.push_back({tokenizer.encode(*sentence, place), {}});
        check_length(rows.back().ids.size(), context, place);
      }
    }
    result.batches.push_back(padded_batch(rows));
  }
  return result;
}

std::int64_t row_count(const QualitySet& set) {
  std::int64_t rows = 0;
  for (const QualityBatch& batch : set.batches) rows += batch.extent.batch;
  return rows;
}

void keep_first_rows(QualitySet& set, std::int64_t most_tokens) {
  const std::int64_t together = set.judged == Judged::similarities ? 2 : 1;
  std::size_t kept = 0;  // Rows, or pairs of them.
  set.tokens = 0;
  for (std::size_t b = 0; b < set.batches.size(); ++b) {
    QualityBatch& batch = set.batches[b];
    for (std::int64_t row = 0; row < batch.extent.batch; row += together) {
      std::int64_t length = 0;
      for (std::int64_t i = 0; i < together; ++i) length += real_ids(batch, row + i);
      if (kept == 0 || set.tokens + length <= most_tokens) {
        set.tokens += length;
        ++kept;
        continue;
      }
      set.taken = Taken::beginning;
      set.batches.resize(row == 0 ? b : b + 1);
      if (row > 0) keep_rows(set.batches.back(), row);
      if (!set.numbers.empty()) set.numbers.resize(kept);
      return;
    }
  }
}

}  // namespace assay
