#include "generation/generate.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"

namespace assay {
namespace {

constexpr double ms = 1e3;

/// A generation under way.
class Rows {
 public:
  Rows(Session& session, const GenerationOptions& options) : session_(session), options_(options) {
    const std::size_t rows = options.prompts.size();
    chosen_.reserve(rows);
    random_.reserve(rows);
    ASSAY_ASSERT(static_cast<std::int64_t>(rows) == session.batch());
    result_.sequences.resize(rows);
    result_.logprobs.resize(rows);
    for (std::size_t row = 0; row < rows; ++row) random_.emplace_back(options.seed, row);
  }

  Generation run() {
    make_plans();
    const double start = now_s();
    for (std::int64_t first = 0; first < longest_prompt() && !is_stopped(); first += chunk()) read_prompts(first);
    result_.prefill_ms = (now_s() - start) * ms;
    tell_chosen();
    while (!all_ended() && !is_stopped()) {
      const double before = now_s();
      add_an_id();
      result_.token_ms.push_back((now_s() - before) * ms);
      tell_chosen();
    }
    return std::move(result_);
  }

 private:
  std::int64_t longest_prompt() const {
    std::size_t longest = 0;
    for (const auto& prompt : options_.prompts) longest = std::max(longest, prompt.size());
    return static_cast<std::int64_t>(longest);
  }
  std::int64_t chunk() const { return std::min(options_.chunk, longest_prompt()); }

  void make_plans() {
    session_.plan_for(chunk());
    if (const std::int64_t rest = longest_prompt() % chunk(); rest > 0) session_.plan_for(rest);
    session_.plan_for(1);
  }

  bool is_stopped() {
    result_.is_interrupted = result_.is_interrupted || is_set(options_.interrupted);
    return result_.is_interrupted;
  }

  bool has_ended(std::size_t row) const {
    const auto& ids = result_.sequences[row];
    if (std::ssize(ids) >= options_.most_new) return true;
    return !ids.empty() &&
           std::find(options_.end_ids.begin(), options_.end_ids.end(), ids.back()) != options_.end_ids.end();
  }
  bool all_ended() const {
    for (std::size_t row = 0; row < result_.sequences.size(); ++row) {
      if (!has_ended(row)) return false;
    }
    return true;
  }

  /// Ids [first, first + chunk) of each prompt; a row whose prompt ends there chooses its first new one.
  void read_prompts(std::int64_t first) {
    NewTokens tokens;
    tokens.seq = std::min(chunk(), longest_prompt() - first);
    for (const auto& prompt : options_.prompts) {
      for (std::int64_t i = first; i < first + tokens.seq; ++i) {
        const bool is_real = i < std::ssize(prompt);
        tokens.ids.push_back(is_real ? prompt[static_cast<std::size_t>(i)] : 0);
        tokens.mask.push_back(is_real ? 1 : 0);
        tokens.positions.push_back(static_cast<std::int32_t>(i));
      }
    }
    const Plan& plan = session_.run(tokens);
    for (std::size_t row = 0; row < options_.prompts.size(); ++row) {
      const std::int64_t length = std::ssize(options_.prompts[row]);
      if (first < length && length <= first + tokens.seq) choose(plan, row);
    }
  }

  /// The last id of each row that has not ended, and the choice of its next one.
  void add_an_id() {
    NewTokens& tokens = next_;
    tokens.seq = 1;
    for (std::vector<std::int32_t>* one : {&tokens.ids, &tokens.positions}) one->clear();
    tokens.mask.clear();
    for (std::size_t row = 0; row < result_.sequences.size(); ++row) {
      const bool goes_on = !has_ended(row);
      tokens.ids.push_back(goes_on ? result_.sequences[row].back() : 0);
      tokens.mask.push_back(goes_on ? 1 : 0);
      tokens.positions.push_back(goes_on ? session_.lengths()[row] : 0);
    }
    const Plan& plan = session_.run(tokens);
    for (std::size_t row = 0; row < result_.sequences.size(); ++row) {
      if (tokens.mask[row] != 0) choose(plan, row);
    }
  }

  void choose(const Plan& plan, std::size_t row) {
    const ValueId logits = plan.program().output("logits");
    const std::int64_t vocabulary = plan.program().value(logits).shape.back().factor;
    logits_.resize(static_cast<std::size_t>(vocabulary));
    plan.read_rows(logits, {.first = static_cast<std::int64_t>(row), .count = 1}, logits_.data());
    if (!are_finite(logits_))
      fail_user("the logits of row {} hold NaN or infinity after {} tokens: no token can be chosen", row,
                session_.lengths()[row]);
    const std::int32_t id = choose_token(logits_, options_.sampling, random_[row]);
    result_.sequences[row].push_back(id);
    if (options_.logprobs == Logprobs::kept) result_.logprobs[row].push_back(log_probability(logits_, id));
    chosen_.push_back({static_cast<std::int64_t>(row), id});
  }

  /// Whoever is told may take its time, a terminal that somebody reads: no token's time has it in it.
  void tell_chosen() {
    for (const Chosen& one : chosen_) {
      if (options_.told) options_.told(one.row, one.id);
    }
    chosen_.clear();
  }

  struct Chosen {
    std::int64_t row = 0;
    std::int32_t id = 0;
  };

  Session& session_;
  const GenerationOptions& options_;
  Generation result_;
  std::vector<Random> random_;
  std::vector<float> logits_;
  std::vector<Chosen> chosen_;  ///< And not told yet.
  NewTokens next_;              ///< Its memory serves every token.
};

}  // namespace

Generation generate(Session& session, const GenerationOptions& options) {
  return Rows(session, options).run();
}

}  // namespace assay
