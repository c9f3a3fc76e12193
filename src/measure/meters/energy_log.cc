#include "measure/meters/energy_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"

namespace assay {

void EnergyLog::note(double at_s) {
  if (figures_ == 0) first_s_ = at_s;
  last_s_ = at_s;
  gap_silence_j_ = 0;
  ++figures_;
  came_.notify_all();
}

void EnergyLog::add_watts(double at_s, double watts) {
  const std::lock_guard lock(mutex_);
  integral_.add(at_s, watts);
  note(at_s);
}

void EnergyLog::add_joules(double at_s, double joules) {
  const std::lock_guard lock(mutex_);
  is_counter_ = true;
  if (!first_j_) first_j_ = joules;
  const double counted_j = joules - *first_j_;
  if (counted_j < counted_j_ && fault_.empty())
    fault_ = fmt::format("the counter stepped back from {} to {} J", *first_j_ + counted_j_, joules);
  counted_j_ = counted_j;
  note(at_s);
}

void EnergyLog::fail(const std::string& message) {
  const std::lock_guard lock(mutex_);
  if (fault_.empty()) fault_ = message;
  came_.notify_all();
}

double EnergyLog::read_j(double now_s, double most_age_s) {
  const std::lock_guard lock(mutex_);
  if (!fault_.empty()) throw Error(ExitCode::lacking, fault_);
  if (now_s - last_s_ > most_age_s) fail_lacking("no figure came for {:.1f} s", now_s - last_s_);
  read_j_ = std::max(read_j_, is_counter_ ? counted_j_ : integral_.joules_until(now_s));
  const double hidden_j = silence_j(now_s);
  silence_j_ += std::max(hidden_j - gap_silence_j_, 0.0);
  gap_silence_j_ = std::max(hidden_j, gap_silence_j_);
  return read_j_;
}

void EnergyLog::set_period(double seconds) {
  const std::lock_guard lock(mutex_);
  period_s_ = seconds;
}

/// What was drawn while no figure came may have been anything; as much as before is the guess.
double EnergyLog::silence_j(double now_s) const {
  const double silent_s = std::max(now_s - last_s_ - period_s_, 0.0);
  const double heard_s = last_s_ - first_s_;
  const double mean_w = heard_s > 0 ? counted_j_ / heard_s : 0;
  return silent_s * (is_counter_ ? mean_w : integral_.last_w());
}

double EnergyLog::missed_j() const {
  const std::lock_guard lock(mutex_);
  return integral_.missed_j() + silence_j_;
}

bool EnergyLog::wait_for(std::size_t figures, double most_s) {
  std::unique_lock lock(mutex_);
  const auto enough = [&] { return figures_ >= figures || !fault_.empty(); };
  return came_.wait_for(lock, std::chrono::duration<double>(most_s), enough);
}

double step_of(std::string_view figure) {
  const std::size_t point = figure.find('.');
  if (point == std::string_view::npos) return 1;
  const std::size_t digits = figure.find_first_not_of("0123456789", point + 1);
  const std::size_t decimals = std::min(digits, figure.size()) - point - 1;
  return std::pow(10.0, -static_cast<double>(decimals));
}

}  // namespace assay
