#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/streams.h"
#include "cli/cli.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/deliver.h"
#include "cli/origin.h"
#include "cli/other_names.h"
#include "cli/output_options.h"
#include "cli/progress.h"
#include "processes/launch.h"

namespace assay {
namespace {

int fail(ExitCode code, const std::string& message) {
  complain(message);
  return static_cast<int>(code);
}

/// `--help` and `--version`, which CLI11 tells by exceptions.
int explain_itself(const CLI::App& program, const CLI::Success& asked) {
  std::ostringstream text;
  const int code = program.exit(asked, text, text);
  print(text.str());
  return code;
}

/// With the help to look into, and why there is no such option, where others have one.
std::string parse_error_words(const CLI::ParseError& error, const CLI::App& program,
                              const std::vector<std::string>& words) {
  const std::vector<CLI::App*> commands = program.get_subcommands();
  const std::string what = without_marks(error.what());
  if (commands.empty() && !words.empty())
    return fmt::format("{}: is no option (assay --help lists what there is)", words.front());
  const std::string command = commands.empty() ? "" : " " + commands.front()->get_name();
  const bool is_unknown = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  const std::string why = is_unknown ? why_no_option(*commands.front(), words) : "";
  return fmt::format("{}{} (assay{} --help lists what there is)", what, why.empty() ? "" : ": " + why, command);
}

/// Known before parsing: training and its benchmark share a name and little else.
bool is_given(int argc, char** argv, std::string_view flag) {
  return std::any_of(argv, argv + argc, [&](const char* argument) { return flag == argument; });
}

int parse_and_run(int argc, char** argv) {
  Action action;
  const TrainForm form = is_given(argc, argv, "--benchmark") ? TrainForm::benchmark : TrainForm::training;
  const std::unique_ptr<CLI::App> made = make_program(action, form);
  CLI::App& program = *made;
  try {
    std::vector<std::string> words = words_to_parse(program, {argv + 1, argv + argc});
    std::reverse(words.begin(), words.end());  // As CLI11 takes them.
    program.parse(std::move(words));
  } catch (const CLI::Success& e) {
    return explain_itself(program, e);
  } catch (const CLI::ParseError& e) {
    throw Error(ExitCode::user, parse_error_words(e, program, {argv + 1, argv + argc}));
  }
  const CLI::App& command = *program.get_subcommands().front();
  check_values(command);
  check_outputs(command);
  return action();
}

/// Waiting threads spin for some 0.1 ms and then sleep. libgomp would have them spin for several ms: on cores that
/// others use too, they would spend the time slices that the thread they wait for needs. libgomp reads the environment
/// when it is loaded, so the program starts anew, once; whoever sets either variable decides. Programs that this one
/// starts and measures have the user's environment: both variables go again.
void spin_briefly(char** argv) {
  constexpr const char* spins = "GOMP_SPINCOUNT";
  constexpr const char* started = "ASSAY_SET_SPINCOUNT";
  if (std::getenv(started) == nullptr) {
    if (std::getenv(spins) != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
    if (setenv(spins, "5000", 0) == 0 && setenv(started, "1", 0) == 0) execv("/proc/self/exe", argv);
  }
  unsetenv(spins);
  unsetenv(started);
}

/// Where there is no memory for a line, its words are ready.
int fail_without_memory() {
  constexpr std::string_view line = "assay: memory: the system refused an allocation\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  return static_cast<int>(ExitCode::lacking);
}

/// An error where none can be handed on: in a thread of a kernel, or in a destructor (nlohmann's allocates). It is told
/// as any other.
[[noreturn]] void end_in_words() {
  try {
    if (std::current_exception()) std::rethrow_exception(std::current_exception());
    complain("the program ended itself");
  } catch (const Error& e) {
    ::_exit(fail(e.code(), e.what()));
  } catch (const std::bad_alloc&) {
    ::_exit(fail_without_memory());
  } catch (const std::exception& e) {
    complain(e.what());
  } catch (...) {
    complain("an exception of an unknown kind");
  }
  ::_exit(static_cast<int>(ExitCode::defect));
}

/// What is wrong with a command line is wrong on every rank of it: where the first one ends with a line, its launcher
/// ends the others before they repeat it.
void let_first_rank_tell() {
  constexpr std::chrono::seconds enough(2);
  if (is_later_rank() && !has_joined_ranks()) std::this_thread::sleep_for(enough);
}

int run(int argc, char** argv) {
  try {
    return parse_and_run(argc, argv);
  } catch (const Error& e) {
    let_first_rank_tell();
    return fail(e.code(), e.what());
  } catch (const std::bad_alloc&) {
    return fail_without_memory();
  } catch (const std::exception& e) {
    return fail(ExitCode::defect, e.what());
  }
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  assay::open_standard_streams();
  std::set_terminate(assay::end_in_words);
  assay::spin_briefly(argv);
  assay::end_with_listener();
  std::signal(SIGCHLD, SIG_DFL);  // Inherited as ignored, it would leave no child to wait for.
  std::signal(SIGXFSZ, SIG_IGN);  // A file that grows too large is an error of `write`, which removes what it began.
  // Weights on their way to their packing go back to the system when they are freed: glibc otherwise raises the
  // threshold to their size and keeps their pages. From 128 KiB on: eight-bit layers of a small model are below 1 MiB,
  // and holes in the heap where they were converted held 60 MB of a run of smollm2-135m in int8.
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  try {
    assay::run_origin();  // Results are dated by the start.
    return assay::run(argc, argv);
  } catch (const std::bad_alloc&) {  // Of an error's own words.
    return assay::fail_without_memory();
  }
}
