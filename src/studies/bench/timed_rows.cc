#include "studies/bench/timed_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/hash.h"
#include "base/paths.h"
#include "studies/shared/quality_data.h"
#include "text/data_file.h"

namespace assay {
namespace {

/// Ids a row where nothing else is asked.
constexpr std::int64_t usual_length = 128;
/// Bounds of buckets are multiples of it: few shapes, and little padding.
constexpr std::int64_t bucket_width = 16;

/// One row of the data; its mask says which ids are real.
struct Row {
  std::vector<std::int32_t> ids;
  std::vector<std::uint8_t> mask;

  std::int64_t length() const { return static_cast<std::int64_t>(ids.size()); }
  std::int64_t real() const { return std::count(mask.begin(), mask.end(), 1); }
  /// Without the padding behind its last real id.
  std::int64_t end() const { return mask.rend() - std::find(mask.rbegin(), mask.rend(), 1); }
};

std::vector<Row> rows_in(const QualitySet& set) {
  std::vector<Row> rows;
  rows.reserve(set.batches.size());
  for (const QualityBatch& batch : set.batches) {
    const std::vector<std::uint8_t> mask =
        batch.mask.empty() ? std::vector<std::uint8_t>(batch.ids.size(), 1) : batch.mask;
    for (std::int64_t begin = 0; begin < std::ssize(batch.ids); begin += batch.extent.seq) {
      const std::int64_t end = begin + batch.extent.seq;
      rows.push_back(
          {{batch.ids.begin() + begin, batch.ids.begin() + end}, {mask.begin() + begin, mask.begin() + end}});
    }
  }
  return rows;
}

/// Whether anything was cut.
bool cut(std::vector<Row>& rows, std::int64_t most) {
  bool any = false;
  for (Row& row : rows) {
    if (most <= 0 || row.length() <= most) continue;
    row.ids.resize(static_cast<std::size_t>(most));
    row.mask.resize(static_cast<std::size_t>(most));
    any = true;
  }
  return any;
}

std::string hash_of(const std::vector<Row>& rows) {
  std::vector<std::int32_t> words;
  for (const Row& row : rows) {
    words.push_back(static_cast<std::int32_t>(row.length()));
    words.insert(words.end(), row.ids.begin(), row.ids.end());
    words.insert(words.end(), row.mask.begin(), row.mask.end());
  }
  return sha256_hex(std::as_bytes(std::span(words))).substr(0, 16);
}

/// Rows that stand together, and the length that they are filled up to.
struct RowGroup {
  std::vector<const Row*> rows;
  std::int64_t length = 0;
};

std::int64_t longest(const std::vector<const Row*>& rows, std::int64_t (Row::*length)() const) {
  std::int64_t most = 0;
  for (const Row* row : rows) most = std::max(most, (row->*length)());
  return most;
}

/// The rows in their order, cut into groups of `batch`. What is left at the end makes none.
std::vector<RowGroup> groups_in_order(const std::vector<const Row*>& rows, std::int64_t batch) {
  std::vector<RowGroup> groups;
  for (auto begin = rows.begin(); rows.end() - begin >= batch; begin += batch)
    groups.push_back({{begin, begin + batch}});
  return groups;
}

/// What does not fill a batch goes on into the next bucket.
std::vector<RowGroup> groups_by_buckets(const std::vector<const Row*>& rows, std::int64_t batch) {
  std::map<std::int64_t, std::vector<const Row*>> buckets;
  for (const Row* row : rows) buckets[(row->end() + bucket_width - 1) / bucket_width * bucket_width].push_back(row);
  std::vector<RowGroup> groups;
  std::vector<const Row*> open;
  for (const auto& [bound, members] : buckets) {
    open.insert(open.end(), members.begin(), members.end());
    const std::vector<RowGroup> filled = groups_in_order(open, batch);
    for (const RowGroup& group : filled) groups.push_back({group.rows, bound});
    open.erase(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(filled.size()) * batch);
  }
  return groups;
}

std::vector<RowGroup> grouped(const std::vector<Row>& rows, RowOrder order, std::int64_t batch) {
  std::vector<const Row*> all;
  all.reserve(rows.size());
  for (const Row& row : rows) all.push_back(&row);
  if (order == RowOrder::bucketed) return groups_by_buckets(all, batch);
  if (order == RowOrder::sorted)
    std::stable_sort(all.begin(), all.end(), [](const Row* a, const Row* b) { return a->end() < b->end(); });
  return groups_in_order(all, batch);
}

/// Every row filled up with masked padding or cut, behind its last real id, to one length.
QualityBatch batch_of(const RowGroup& group, std::int64_t length) {
  QualityBatch batch{{std::ssize(group.rows), length}, {}, {}, {}};
  for (const Row* row : group.rows) {
    for (std::int64_t t = 0; t < length; ++t) {
      const bool is_there = t < row->length();
      batch.ids.push_back(is_there ? row->ids[static_cast<std::size_t>(t)] : 0);
      batch.mask.push_back(is_there ? row->mask[static_cast<std::size_t>(t)] : 0);
    }
  }
  return batch;
}

/// A mask of ones says nothing that its absence does not; but one plan is to serve all batches of a length.
void drop_needless_masks(std::vector<QualityBatch>& batches) {
  const bool any = std::any_of(batches.begin(), batches.end(), [](const QualityBatch& batch) {
    return std::find(batch.mask.begin(), batch.mask.end(), 0) != batch.mask.end();
  });
  if (any) return;
  for (QualityBatch& batch : batches) batch.mask.clear();
}

bool is_of_windows(const BenchRequest& request) {
  return !is_folder(request.data) && !holds_labelled(request.data) && !holds_tagged(request.data);
}

/// Each row a batch of its own; of pairs whose sentences stand apart, both.
QualityData rows_data(const Model& model, const BenchRequest& request, std::int64_t seq) {
  if (request.data.empty() && model.random_weights())
    fail_user("--inputs data: {} has no tokenizer for the bundled text; give --data", model.name);
  ProtocolOptions protocol = request.protocol;
  protocol.batch = 1;
  if (model.random_weights() && !protocol.most_tokens) protocol.most_tokens = 0;    // The bound is for scoring.
  if (protocol.protocol == Protocol::stride) protocol.protocol = Protocol::window;  // Overlaps are for scores.
  if (seq > 0) protocol.window = seq;
  QualityData data = quality_data(model, {request.data, protocol, request.model_options.seed, RowsFor::timing});
  std::vector<QualityBatch>& rows = data.set->batches;
  const bool ends_short = rows.size() > 1 && rows.back().extent.seq < rows.front().extent.seq;
  if (is_of_windows(request) && ends_short) rows.pop_back();
  return data;
}

std::string data_words(const BenchRequest& request, const QualitySet& set) {
  return fmt::format("{}, {}", set.data,
                     !is_of_windows(request) && !is_folder(request.data) ? "a sentence a row" : set.protocol);
}

}  // namespace

bool times_data(const BenchRequest& request) {
  return request.inputs.value_or(request.data.empty() ? InputsOf::random : InputsOf::data) == InputsOf::data;
}

std::vector<std::int64_t> asked_lengths(const BenchRequest& request) {
  if (!request.seqs.empty()) return request.seqs;
  return {times_data(request) && !is_of_windows(request) ? 0 : usual_length};
}

CellInputs cell_inputs(const Model& model, const BenchRequest& request, Extent asked) {
  if (!times_data(request)) {
    check_extent(model, asked);
    return {.extent = asked, .batches = {}, .data = ""};
  }
  if (is_of_windows(request)) check_extent(model, asked);
  const QualityData data = rows_data(model, request, asked.seq);
  std::vector<Row> rows = rows_in(*data.set);
  const bool was_cut = cut(rows, asked.seq);
  std::vector<RowGroup> groups = grouped(rows, request.row_order, asked.batch);
  if (groups.empty()) fail_user("{}: {} rows are fewer than a batch of {}", data.set->data, rows.size(), asked.batch);
  CellInputs inputs{.extent = {asked.batch, 0}, .batches = {}, .data = ""};
  for (RowGroup& group : groups) {
    const std::int64_t given = std::max(group.length, longest(group.rows, &Row::length));
    const std::int64_t needed = std::max<std::int64_t>(1, longest(group.rows, &Row::end));
    const std::int64_t length = group.length > 0 ? std::min(group.length, model.config.context) : needed;
    inputs.batches.push_back(batch_of(group, request.skip_padding == SkipPadding::on ? length : given));
    inputs.given_positions += given * asked.batch;
    inputs.extent.seq = std::max(inputs.extent.seq, given);
  }
  inputs.rows_left = std::ssize(rows) - std::ssize(groups) * asked.batch;
  drop_needless_masks(inputs.batches);
  std::stable_sort(inputs.batches.begin(), inputs.batches.end(),
                   [](const QualityBatch& a, const QualityBatch& b) { return a.extent.seq > b.extent.seq; });
  inputs.data = fmt::format("{}{} [{}]", data_words(request, *data.set),
                            was_cut ? fmt::format(", cut at {} ids", asked.seq) : "", hash_of(rows));
  return inputs;
}

void remark_skipped(const CellInputs& inputs, Evidence& evidence) {
  std::size_t ran = 0;
  for (const QualityBatch& batch : inputs.batches) ran += batch.ids.size();
  const double skipped = 1 - static_cast<double>(ran) / static_cast<double>(inputs.given_positions);
  if (skipped <= 0) return;
  for (LedgerInput& input : evidence.inputs) {
    if (input.name == "input_ids")
      input.remark =
          fmt::format("{:.1f} % of the given positions were padding in their whole batch: not run", 100 * skipped);
  }
}

void set_inputs(const BenchRequest& request, const CellInputs& inputs, Setting& setting) {
  if (inputs.batches.empty()) return;
  setting.timed_inputs = InputsOf::data;
  setting.timed_data = inputs.data;
  setting.row_order = request.row_order;
  setting.skip_padding = switched(request.skip_padding == SkipPadding::on);
}

}  // namespace assay
