#include "generation/session.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace assay {

std::int32_t real_tokens(const NewTokens& tokens, std::int64_t row) {
  if (tokens.mask.empty()) return static_cast<std::int32_t>(tokens.seq);
  const auto first = tokens.mask.begin() + row * tokens.seq;
  return std::accumulate(first, first + tokens.seq, std::int32_t{0});
}

Session::Session(Instance& instance, SessionOptions options)
    : instance_(instance),
      options_(std::move(options)),
      state_(instance.device()),
      arena_(options_.arena_of),
      lengths_(static_cast<std::size_t>(options_.batch), 0) {}

Plan& Session::plan_for(std::int64_t seq, std::int64_t past) {
  std::unique_ptr<Plan>& plan = plans_[seq];
  if (plan) return *plan;
  try {
    plan = std::make_unique<Plan>(instance_, PlanOptions{.extent = {.batch = options_.batch, .seq = seq, .past = past},
                                                         .mask = AttentionMask::given,
                                                         .outputs = options_.outputs,
                                                         .arena_of = arena_,
                                                         .state = &state_,
                                                         .graphs = options_.graphs,
                                                         .free_bytes = options_.free_bytes});
  } catch (...) {
    plans_.erase(seq);
    throw;
  }
  if (arena_ == nullptr) arena_ = plan.get();
  return *plan;
}

void Session::refuse_overflow(const NewTokens& tokens) const {
  for (std::int64_t row = 0; row < options_.batch; ++row) {
    const std::int64_t held = lengths_[static_cast<std::size_t>(row)] + real_tokens(tokens, row);
    if (held > options_.capacity)
      fail_user("row {} would hold {} tokens, the cache has room for {}", row, held, options_.capacity);
  }
}

Plan& Session::prepare(const NewTokens& tokens) {
  const auto count = static_cast<std::size_t>(options_.batch * tokens.seq);
  ASSAY_ASSERT(tokens.ids.size() == count && tokens.positions.size() == count);
  refuse_overflow(tokens);
  Plan& plan = plan_for(tokens.seq);
  if (tokens.mask.empty()) all_real_.assign(count, 1);
  plan.set_inputs(tokens.ids, tokens.mask.empty() ? all_real_ : tokens.mask);
  plan.set_input("positions", std::as_bytes(std::span(tokens.positions)));
  plan.set_input("cache_lengths", std::as_bytes(std::span(lengths_)));
  return plan;
}

void Session::advance(const NewTokens& tokens) {
  for (std::int64_t row = 0; row < options_.batch; ++row)
    lengths_[static_cast<std::size_t>(row)] += real_tokens(tokens, row);
}

const Plan& Session::run(const NewTokens& tokens) {
  Plan& plan = prepare(tokens);
  plan.run();
  advance(tokens);
  return plan;
}

void Session::keep_first(std::span<const std::int32_t> lengths) {
  ASSAY_ASSERT(lengths.size() == lengths_.size());
  for (std::size_t row = 0; row < lengths.size(); ++row) {
    ASSAY_ASSERT(lengths[row] <= lengths_[row]);
    lengths_[row] = lengths[row];
  }
}

}  // namespace assay
