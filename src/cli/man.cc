#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/error.h"
#include "base/streams.h"
#include "base/write_file.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/listing.h"

namespace assay {
namespace {

struct Explained {
  const char* what;
  const char* meaning;
};

// As README.md has them; a test compares the two.
constexpr Explained exit_codes[] = {
    {"0", "done"},
    {"2", "something in what was given is wrong: an option, a file, a model"},
    {"3",
     "this machine or this build lacks something: memory, a driver, an instruction set, a registry, room on a disk"},
    {"4", "measured and printed, but the records could not be kept in the store"},
    {"9", "compare --fail-if-slower: B is slower than allowed, beyond doubt"},
    {"10", "check: a finding of high severity stands; verify: something does not hold"},
    {"70", "a defect of assay"},
    {"130", "Ctrl-C, SIGTERM or SIGHUP; what was measured until then has been printed and saved"},
};
constexpr Explained environment[] = {
    {"ASSAY_MAX_ISA", "cap on the instruction set, as --max-isa, which goes before it"},
    {"XDG_CACHE_HOME", "holds the cache of models and measured peaks (else ~/.cache)"},
    {"XDG_DATA_HOME", "holds the store of results (else ~/.local/share)"},
    {"NO_COLOR", "set: no colour"},
};

/// As roff reads it: no backslash or dot means anything, and a hyphen is the sign that people type.
std::string in_roff(std::string text) {
  text = with_each(with_each(std::move(text), "\\", "\\e"), "-", "\\-");
  const bool is_request = text.starts_with('.') || text.starts_with('\'');
  return is_request ? "\\&" + text : text;
}

std::string bold(const std::string& text) {
  return "\\fB" + in_roff(text) + "\\fR";
}

std::string tagged(const std::string& tag, const std::string& text) {
  return ".TP\n" + tag + "\n" + in_roff(text) + "\n";
}

/// "\fB\-h\fR, \fB\-\-help\fR \fIFILE\fR"
std::string option_tag(const ListedOption& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(bold(name));
  const char* space = option.is_flag_with_value() ? "" : " ";
  const std::string value = option.value.empty() ? "" : space + ("\\fI" + in_roff(option.value) + "\\fR");
  return fmt::format("{}{}", fmt::join(names, ", "), value);
}

/// Words first; headings in the order in which help has them.
std::string options_section(const ListedCommand& command) {
  std::string text = ".SH OPTIONS\n";
  std::string heading = command.options.empty() ? "" : command.options.front().heading;
  for (const ListedOption& option : command.options) {
    if (option.heading != heading) text += ".SS " + in_roff(option.heading) + "\n";
    heading = option.heading;
    text += tagged(option_tag(option), option.about);
  }
  return text;
}

std::string page_start(const std::string& name, const std::string& about, const std::string& synopsis) {
  std::string title = name;
  std::transform(title.begin(), title.end(), title.begin(), ::toupper);
  return fmt::format(".TH {} 1 \"\" \"assay {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}\n",
                     in_roff(title), ASSAY_VERSION, in_roff(name), in_roff(about), synopsis);
}

std::string explained_section(const char* title, std::span<const Explained> rows) {
  std::string text = fmt::format(".SH {}\n", title);
  for (const Explained& row : rows) text += tagged(bold(row.what), row.meaning);
  return text;
}

std::string examples_section(const ListedCommand& command) {
  if (command.examples.empty()) return {};
  std::string text = ".SH EXAMPLES\n.nf\n";
  std::istringstream lines(command.examples);
  for (std::string line; std::getline(lines, line);) text += in_roff(line) + "\n";
  return text + ".fi\n";
}

std::string program_page(std::span<const ListedCommand> commands) {
  const ListedCommand& program = commands.front();
  std::string text = page_start("assay", program.about, bold("assay") + " \\fICOMMAND\\fR [\\fIOPTIONS\\fR]");
  text += ".SH COMMANDS\n";
  std::string aim;
  for (const ListedCommand& command : commands.subspan(1)) {
    if (command.aim != aim) text += ".SS " + in_roff(command.aim) + "\n";
    aim = command.aim;
    text += tagged(fmt::format("{}(1)", bold("assay-" + command.name)), command.about);
  }
  return text + options_section(program) + explained_section("EXIT STATUS", exit_codes) +
         explained_section("ENVIRONMENT", environment);
}

std::string command_page(const ListedCommand& command) {
  std::string synopsis = bold("assay " + command.name) + " [\\fIOPTIONS\\fR]";
  for (const ListedOption& option : command.options) {
    if (option.is_word()) synopsis += " \\fI" + in_roff(option.names.front()) + "\\fR";
  }
  return page_start("assay-" + command.name, command.about, synopsis) + options_section(command) +
         examples_section(command) + ".SH SEE ALSO\n.BR assay (1)\n";
}

/// Of a command, or of the program where none is named.
std::string man_page(const std::string& name, std::span<const ListedCommand> commands) {
  if (name.empty()) return program_page(commands);
  for (const ListedCommand& command : commands.subspan(1)) {
    if (command.name == name) return command_page(command);
  }
  fail_user("man {}: no such command; there are {}", name, command_words(commands));
}

/// assay.1, assay-bench.1, ... in a folder that is there.
void write_pages(const std::filesystem::path& folder, std::span<const ListedCommand> commands) {
  write_file_atomically(folder / "assay.1", program_page(commands));
  for (const ListedCommand& command : commands.subspan(1))
    write_file_atomically(folder / fmt::format("assay-{}.1", command.name), command_page(command));
}

}  // namespace

void add_man(CLI::App& program, Action& action) {
  struct Options {
    std::string page;
    std::filesystem::path folder;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command = *program.add_subcommand("man", "Print a page of the manual, or write them all");
  command.footer(
      "examples: assay man bench | man -l -\n"
      "          assay man --folder ~/.local/share/man/man1");
  CLI::Option* page = command.add_option("page", options->page, "a command (default: the program itself)");
  command.add_option("--folder", options->folder, "write every page into this folder, which must be there")
      ->excludes(page);
  command.callback([options, &action] {
    action = [options] {
      const std::vector<ListedCommand> commands = listed_commands();
      if (options->folder.empty())
        print(man_page(options->page, commands));
      else
        write_pages(options->folder, commands);
      return 0;
    };
  });
}

}  // namespace assay
