#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/printable.h"
#include "hardware/system_files.h"
#include "measure/meters/energy_log.h"
#include "measure/meters/external.h"
#include "statistics/statistics.h"

namespace assay {
namespace {

constexpr std::size_t longest_line = 4096;
constexpr std::size_t lines_at_start = 3;
/// Silence that is more than a slow meter's.
constexpr double periods_until_lost = 20;

/// One line of two numbers.
struct Line {
  double seconds = 0;
  double value = 0;
  std::string_view figure;  ///< The second, as written.
};

std::optional<double> parse_figure(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<Line> parse_line(std::string_view text) {
  const std::size_t blank = text.find_first_of(" \t,");
  if (blank == std::string_view::npos) return std::nullopt;
  const std::size_t second = text.find_first_not_of(" \t,", blank);
  if (second == std::string_view::npos) return std::nullopt;
  const std::string_view figure = text.substr(second);
  const auto seconds = parse_figure(text.substr(0, blank));
  const auto value = parse_figure(figure);
  if (!seconds || !value || *value < 0) return std::nullopt;
  return Line{*seconds, *value, figure};
}

/// What lines tell of the meter that prints them.
struct Manner {
  MeterUnit unit = MeterUnit::by_header;
  double step = 1;      ///< Of the figures, W or J.
  double period_s = 0;  ///< Between the first lines.
};

/// What the lines say, laid onto our clock. One thread takes lines, any may ask for their manner.
class LineReader {
 public:
  LineReader(MeterUnit unit, EnergyLog& log) : unit_(unit), log_(log) {}

  void take(std::string_view line) {
    const std::lock_guard lock(mutex_);
    if (line.empty()) return;
    if (line.starts_with('#')) return take_header(line);
    const auto parsed = parse_line(line);
    if (!parsed) {
      return log_.fail(
          fmt::format("line '{}': two numbers were expected, seconds and watts or joules", printable(line, 60)));
    }
    if (unit_ == MeterUnit::by_header) {
      return log_.fail("says neither '# seconds watts' nor '# seconds joules' first; tell which with --meter-unit");
    }
    take_figures(*parsed);
  }

  Manner manner() const {
    const std::lock_guard lock(mutex_);
    return {unit_, step_, median(periods_s_)};
  }

 private:
  void take_header(std::string_view line) {
    if (unit_ != MeterUnit::by_header) return;
    if (line.find("watts") != std::string_view::npos) unit_ = MeterUnit::watts;
    if (line.find("joules") != std::string_view::npos) unit_ = MeterUnit::joules;
  }

  void take_figures(const Line& line) {
    if (last_seconds_ && line.seconds <= *last_seconds_) return log_.fail("its seconds do not go forward");
    if (last_seconds_ && periods_s_.size() < lines_at_start) periods_s_.push_back(line.seconds - *last_seconds_);
    last_seconds_ = line.seconds;
    const double delay_s = now_s() - line.seconds;
    offset_s_ = std::min(offset_s_.value_or(delay_s), delay_s);
    step_ = std::min(step_, step_of(line.figure));
    const double at_s = line.seconds + *offset_s_;
    unit_ == MeterUnit::watts ? log_.add_watts(at_s, line.value) : log_.add_joules(at_s, line.value);
  }

  mutable std::mutex mutex_;
  MeterUnit unit_;
  EnergyLog& log_;
  std::optional<double> last_seconds_;
  std::optional<double> offset_s_;
  std::vector<double> periods_s_;
  double step_ = 1;
};

/// Between fork and exec: only what is safe there.
[[noreturn]] void become_shell(const char* command, int out) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGPIPE, SIG_DFL);
  const int empty = ::open("/dev/null", O_RDONLY);
  if (empty >= 0) ::dup2(empty, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::execl("/bin/sh", "sh", "-c", command, static_cast<char*>(nullptr));
  ::_exit(127);
}

void end_group(pid_t group) {
  ::kill(-group, SIGKILL);
  int status = 0;
  while (::waitpid(group, &status, 0) < 0 && errno == EINTR) {
  }
}

class CommandMeter : public EnergyMeter {
 public:
  CommandMeter(std::string command, MeterUnit unit, double most_s) : command_(std::move(command)), lines_(unit, log_) {
    start();
    reader_ = std::thread([this] { read_all(); });
    try {
      settle(most_s);
    } catch (...) {
      stop();
      throw;
    }
  }
  CommandMeter(const CommandMeter&) = delete;
  CommandMeter& operator=(const CommandMeter&) = delete;
  ~CommandMeter() override { stop(); }

  const EnergyMeterFacts& facts() const override { return facts_; }
  double missed_j() const override { return log_.missed_j(); }
  double read_j() override {
    try {
      return log_.read_j(now_s(), std::max(periods_until_lost * facts_.update_period_s, 2.0));
    } catch (const Error& e) {
      fail_lacking("meter command '{}': {}", command_, e.what());
    }
  }

 private:
  void start() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail_lacking("meter command: pipe: {}", std::strerror(errno));
    out_ = Descriptor(ends[0]);
    const Descriptor theirs(ends[1]);
    group_ = ::fork();
    if (group_ < 0) fail_lacking("meter command: fork: {}", std::strerror(errno));
    if (group_ == 0) become_shell(command_.c_str(), theirs.get());
    ::setpgid(group_, group_);
  }

  void stop() {
    stopping_ = true;
    if (group_ > 0) end_group(group_);
    group_ = 0;
    if (reader_.joinable()) reader_.join();
  }

  /// The first lines say what this meter is.
  void settle(double most_s) {
    if (!log_.wait_for(lines_at_start, most_s))
      fail_lacking("meter command '{}': printed fewer than {} lines in {} s", command_, lines_at_start, most_s);
    try {
      log_.read_j(now_s(), most_s);
    } catch (const Error& e) {
      fail_lacking("meter command '{}': {}", command_, e.what());
    }
    const Manner manner = lines_.manner();
    const bool watts = manner.unit == MeterUnit::watts;
    facts_ = {.name = "command", .scope = "what the command reads", .update_period_s = manner.period_s};
    log_.set_period(manner.period_s);
    facts_.source = command_;
    facts_.unit = watts ? "W, integrated" : "J";
    (watts ? facts_.power_step_w : facts_.resolution_j) = manner.step;
  }

  void read_all() {
    std::string held;
    std::array<char, 4096> block;
    while (!stopping_) {
      pollfd waiting{out_.get(), POLLIN, 0};
      if (::poll(&waiting, 1, 50) <= 0) continue;
      const ssize_t got = ::read(out_.get(), block.data(), block.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return log_.fail("ended");
      held.append(block.data(), static_cast<std::size_t>(got));
      take_lines(held);
    }
  }

  void take_lines(std::string& held) {
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = held.find('\n', begin)) != std::string::npos; begin = end + 1) {
      lines_.take(trimmed(std::string_view(held).substr(begin, end - begin)));
    }
    held.erase(0, begin);
    if (held.size() <= longest_line) return;
    log_.fail(fmt::format("a line is longer than {} bytes", longest_line));
    held.clear();
  }

  std::string command_;
  EnergyLog log_;
  LineReader lines_;
  EnergyMeterFacts facts_;
  Descriptor out_;
  pid_t group_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread reader_;
};

}  // namespace

std::unique_ptr<EnergyMeter> make_command_meter(const std::string& command, MeterUnit unit, double most_s) {
  return std::make_unique<CommandMeter>(command, unit, most_s);
}

}  // namespace assay
