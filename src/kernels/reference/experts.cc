#include "kernels/experts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {
namespace {

/// The places of the largest of `logits`, largest first; of equal ones the first.
std::vector<std::int64_t> largest(const std::vector<double>& logits, std::int64_t count) {
  std::vector<std::int64_t> places(logits.size());
  std::iota(places.begin(), places.end(), 0);
  std::partial_sort(places.begin(), places.begin() + count, places.end(), [&](std::int64_t a, std::int64_t b) {
    const double left = logits[static_cast<std::size_t>(a)];
    const double right = logits[static_cast<std::size_t>(b)];
    return left == right ? a < b : left > right;
  });
  places.resize(static_cast<std::size_t>(count));
  return places;
}

/// Of each token's experts, the grouped row.
std::vector<std::int32_t> grouped_rows(const Call& call, const Memory& memory, std::size_t order) {
  std::vector<std::int32_t> places(static_cast<std::size_t>(element_count(call.in(order).shape)));
  find_grouped_rows(call, memory, order, places.data());
  return places;
}

/// Of each token the sum of its `active` grouped rows, each times weight(token, place).
template <typename Weight>
void merge_tokens(const Call& call, const Memory& memory, std::int64_t active, Weight weight) {
  const Reader y = reader(call, memory, 0);
  const Writer merged = writer(call, memory, 0);
  const std::vector<std::int32_t> places = grouped_rows(call, memory, 1);
  parallel_for(call.out(0).rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t token = begin; token < end; ++token) {
      for (std::int64_t column = 0; column < call.out(0).width(); ++column) {
        double sum = 0;
        for (std::int64_t i = 0; i < active; ++i)
          sum += weight(token, i) * y(places[static_cast<std::size_t>(token * active + i)], column);
        merged.set(token, column, sum);
      }
    }
  });
}

/// Softmax over a token's logits.
void softmax_row(const Reader& logits, std::int64_t token, std::vector<double>& shares) {
  for (std::size_t e = 0; e < shares.size(); ++e) shares[e] = logits(token, static_cast<std::int64_t>(e));
  const double most = *std::max_element(shares.begin(), shares.end());
  double sum = 0;
  for (double& share : shares) sum += share = std::exp(share - most);
  for (double& share : shares) share /= sum;
}

template <void (*loops)(const Call&, const Memory&)>
void of_each_expert(const Call& call, const Memory& memory) {
  for_each_expert(call, memory, [&](std::size_t expert, std::int64_t first, std::int64_t rows) {
    const ExpertMemory one = expert_memory(call, memory, expert, first);
    loops(expert_call(call, expert, rows), {one.inputs, one.outputs, memory.workspace});
  });
}

}  // namespace

// NaN among the logits makes all weights NaN; which experts are taken then means nothing.
void route(const Call& call, const Memory& memory) {
  const std::int64_t experts = call.attributes.experts;
  const std::int64_t active = call.attributes.active_experts;
  const Reader logits = reader(call, memory, 0);
  const Writer weights = writer(call, memory, 0);
  auto* const chosen = memory.out<std::int32_t>(1);
  parallel_for(call.in(0).rows(), 16, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> row(static_cast<std::size_t>(experts));
    for (std::int64_t token = begin; token < end; ++token) {
      for (std::int64_t e = 0; e < experts; ++e) row[static_cast<std::size_t>(e)] = logits(token, e);
      const bool is_nan = std::any_of(row.begin(), row.end(), [](double value) { return std::isnan(value); });
      const double most = is_nan ? row.front() : *std::max_element(row.begin(), row.end());
      const auto share = [&](double logit) { return is_nan ? std::nan("") : std::exp(logit - most); };
      std::vector<std::int64_t> places(static_cast<std::size_t>(active));
      std::iota(places.begin(), places.end(), 0);
      if (!is_nan) places = largest(row, active);
      double sum = 0;
      for (const double logit : row) sum += share(logit);
      if (call.attributes.normalised) sum = 0;
      for (const std::int64_t place : places) {
        if (call.attributes.normalised) sum += share(row[static_cast<std::size_t>(place)]);
      }
      for (std::int64_t i = 0; i < active; ++i) {
        const std::int64_t place = places[static_cast<std::size_t>(i)];
        weights.set(token, i, share(row[static_cast<std::size_t>(place)]) / sum);
        chosen[token * active + i] = static_cast<std::int32_t>(place);
      }
    }
  });
}

void group_rows(const Call& call, const Memory& memory) {
  const std::int64_t count = element_count(call.in(1).shape);
  const std::int64_t active = call.in(1).width();
  const auto* const chosen = memory.in<std::int32_t>(1);
  auto* const order = memory.out<std::int32_t>(1);
  auto* const offsets = memory.out<std::int32_t>(2);
  std::fill_n(offsets, call.attributes.experts + 1, 0);
  for (std::int64_t i = 0; i < count; ++i) ++offsets[chosen[i] + 1];
  std::partial_sum(offsets, offsets + call.attributes.experts + 1, offsets);
  std::vector<std::int32_t> next(offsets, offsets + call.attributes.experts);
  for (std::int64_t i = 0; i < count; ++i)
    order[next[static_cast<std::size_t>(chosen[i])]++] = static_cast<std::int32_t>(i);
  const std::size_t size = size_of(call.in(0).dtype);
  const auto bytes = static_cast<std::size_t>(call.in(0).width()) * size;
  parallel_for(count, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto from = static_cast<std::size_t>(order[i] / active * call.in(0).row_stride) * size;
      std::memcpy(memory.out<std::byte>(0) + static_cast<std::size_t>(i * call.out(0).row_stride) * size,
                  memory.in<std::byte>(0) + from, bytes);
    }
  });
}

void expert_linear(const Call& call, const Memory& memory) {
  of_each_expert<linear>(call, memory);
}

void expert_quantized_linear(const Call& call, const Memory& memory) {
  of_each_expert<quantized_linear>(call, memory);
}

void expert_block_linear(const Call& call, const Memory& memory) {
  of_each_expert<block_linear>(call, memory);
}

void expert_quantized_block_linear(const Call& call, const Memory& memory) {
  of_each_expert<quantized_block_linear>(call, memory);
}

void expert_linear_input_gradient(const Call& call, const Memory& memory) {
  of_each_expert<linear_input_gradient>(call, memory);
}

void expert_linear_weight_gradient(const Call& call, const Memory& memory) {
  for_each_weight_gradient(call, memory, [&](std::size_t expert, const auto& inputs, std::int64_t rows) {
    if (!call.out(expert).present) return;
    linear_weight_gradient(weight_gradient_call(call, expert, rows),
                           {inputs, memory.outputs.subspan(expert, 1), memory.workspace});
  });
}

void route_gradient(const Call& call, const Memory& memory) {
  const std::int64_t experts = call.in(1).width();
  const std::int64_t active = call.in(0).width();
  const Reader slopes = reader(call, memory, 0);
  const Reader logits = reader(call, memory, 1);
  const Reader weights = reader(call, memory, 2);
  const auto* const chosen = memory.in<std::int32_t>(3);
  const Writer out = writer(call, memory, 0);
  parallel_for(call.in(0).rows(), 16, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> sums(static_cast<std::size_t>(experts));  // of dweight, over the places of each expert
    std::vector<double> shares(static_cast<std::size_t>(experts));
    for (std::int64_t token = begin; token < end; ++token) {
      std::fill(sums.begin(), sums.end(), 0);
      std::fill(shares.begin(), shares.end(), 0);
      if (!call.attributes.normalised) softmax_row(logits, token, shares);
      double mean = 0;
      for (std::int64_t i = 0; i < active; ++i) {
        const auto place = static_cast<std::size_t>(chosen[token * active + i]);
        sums[place] += slopes(token, i);
        mean += slopes(token, i) * weights(token, i);
        if (call.attributes.normalised) shares[place] = weights(token, i);
      }
      for (std::size_t e = 0; e < shares.size(); ++e)
        out.set(token, static_cast<std::int64_t>(e), shares[e] * (sums[e] - mean));
    }
  });
}

void group_rows_gradient(const Call& call, const Memory& memory) {
  merge_tokens(call, memory, call.in(2).width(), [](std::int64_t, std::int64_t) { return 1.0; });
}

void merge_rows_gradient(const Call& call, const Memory& memory) {
  const std::int64_t active = call.in(3).width();
  const Reader slopes = reader(call, memory, 0);
  const Reader y = reader(call, memory, 1);
  const Reader weights = reader(call, memory, 3);
  const Writer dy = writer(call, memory, 0);
  const Writer dweights = writer(call, memory, 1);
  const std::vector<std::int32_t> places = grouped_rows(call, memory, 2);
  parallel_for(call.in(0).rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t token = begin; token < end; ++token) {
      for (std::int64_t i = 0; i < active; ++i) {
        const std::int64_t row = places[static_cast<std::size_t>(token * active + i)];
        double sum = 0;
        for (std::int64_t column = 0; column < call.in(0).width(); ++column) {
          sum += slopes(token, column) * y(row, column);
          dy.set(row, column, weights(token, i) * slopes(token, column));
        }
        dweights.set(token, i, sum);
      }
    }
  });
}

void merge_rows(const Call& call, const Memory& memory) {
  const Reader weights = reader(call, memory, 2);
  merge_tokens(call, memory, call.in(2).width(), [&](std::int64_t token, std::int64_t i) { return weights(token, i); });
}

}  // namespace assay::reference
