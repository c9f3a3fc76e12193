#include <unistd.h>

#include <cstdlib>
#include <regex>
#include <set>
#include <sstream>

#include "cli_fixture.h"

namespace assay {
namespace {

/// What a shell completes and a manual says is read off the tree that parses commands.
class CliShell : public Cli {
 protected:
  std::string printed(const Arguments& arguments) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome.out;
  }

  void SetUp() override {
    Cli::SetUp();
    write_text(folder_.path() / "assay.bash", printed({"completion", "bash"}));
  }

  /// What bash would offer for the last of these words, one a line.
  std::string completed(const Arguments& words) const {
    std::string line;
    for (const std::string& word : words) line += " '" + word + "'";
    const std::string script = fmt::format(
        "source ./assay.bash\nCOMP_WORDS=('{}'{})\nCOMP_CWORD={}\n_assay\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        ASSAY_PROGRAM, line, words.size());
    const Outcome outcome = run_program("/bin/bash", folder_.path(), {"-c", script});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome.out;
  }
};

std::set<std::string> words_of(const std::string& text) {
  std::set<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.insert(word);
  return words;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// First words of the lines of help that list commands.
std::vector<std::string> commands_in_help(const std::string& help) {
  std::vector<std::string> commands;
  std::smatch found;
  for (const std::string& line : lines_of(help)) {
    if (std::regex_search(line, found, std::regex("^  ([a-z][a-z-]*)  "))) commands.push_back(found[1]);
  }
  return commands;
}

TEST_F(CliShell, HelpBeginsWithTheFiveCommandsThatAreNeededFirst) {
  const std::string help = printed({"--help"});
  const std::vector<std::string> commands = commands_in_help(help);
  ASSERT_GT(commands.size(), 25U) << help;
  EXPECT_EQ(std::vector<std::string>(commands.begin(), commands.begin() + 5),
            (std::vector<std::string>{"bench", "models", "explain", "memory", "compare"}));
  EXPECT_LT(help.find("What most people need first:"), help.find("\nModels: ")) << help;
  EXPECT_EQ(help.find("resident"), std::string::npos) << "what our own commands start is not listed";
  EXPECT_EQ(words_of(completed({""})).size(), commands.size() + 2) << "commands, --help and --version";
}

TEST_F(CliShell, BashReadsTheScript) {
  EXPECT_EQ(run_program("/bin/bash", folder_.path(), {"-n", "assay.bash"}).err, "");
}

TEST_F(CliShell, BashCompletesCommandsOptionsAndValues) {
  EXPECT_EQ(completed({"acc"}), "accumulate\n");
  EXPECT_EQ(completed({"bench", "--prec"}), "--precision\n");
  EXPECT_EQ(words_of(completed({"bench", "--device", ""})), (std::set<std::string>{"cpu", "cuda", "mps", "reference"}));
  EXPECT_EQ(completed({"bench", "--device", "=", "cu"}), "cuda\n");
  EXPECT_EQ(completed({"bench", "--caches", "c"}), "cold\n");
  EXPECT_EQ(completed({"bench", "--precision", "fp32,mixed-b"}), "fp32,mixed-bf16\n");
  EXPECT_EQ(completed({"train", "--bench"}), "--benchmark\n");
  EXPECT_EQ(completed({"train", "--warmup", "x"}), "\n") << "a value of which nothing is known is a file's name";
  EXPECT_EQ(completed({"man", "compare-"}), "compare-training\n");
  EXPECT_EQ(completed({"completion", "b"}), "bash\n");
  EXPECT_EQ(completed({"bench", "--peers", "pytorch,openv"}), "pytorch,openvino\n");
  EXPECT_EQ(completed({"peers", "--install", "vllm"}), "\n") << "it cannot be had";
  EXPECT_EQ(completed({"bench", "--shard", ""}), "auto\n") << "what stands in capitals is no word to type";
}

TEST_F(CliShell, PlacesOfWordsAreCompletedInTheirOrder) {
  EXPECT_EQ(completed({"fleet", ""}), "report\n");
  EXPECT_EQ(completed({"fleet", "report", ""}), "\n") << "files";
  EXPECT_NE(printed({"completion", "fish"}).find("'__assay_is_command fleet; and __assay_is_behind 2' -x -a 'report'"),
            std::string::npos);
}

/// The same questions in the shells themselves, where they are installed.
class CliShellItself : public CliShell {
 protected:
  void need(const char* shell) {
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      if (::access((fs::path(folder) / shell).c_str(), X_OK) == 0) program_ = fs::path(folder) / shell;
    }
  }

  std::set<std::string> offered(const Arguments& arguments) const {
    const Outcome outcome = run_program(program_, folder_.path(), arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    std::set<std::string> words;
    for (const std::string& line : lines_of(outcome.out)) words.insert(line.substr(0, line.find('\t')));
    return words;
  }

  fs::path program_;
};

struct Offered {
  std::string line;
  std::set<std::string> some;         ///< What is offered, among other words.
  std::set<std::string> others = {};  ///< What is not.
};

const std::vector<Offered>& what_shells_offer() {
  static const std::vector<Offered> rows = {
      {"assay acc", {"accumulate"}, {"bench"}},
      {"assay bench --prec", {"--precision"}, {"--peers"}},
      {"assay bench --device cu", {"cuda"}, {"cpu"}},
      {"assay bench --precision fp32,mixed-b", {"fp32,mixed-bf16"}, {"fp32,mixed-fp16"}},
      {"assay bench --precision=fp32,mixed-b", {"--precision=fp32,mixed-bf16"}, {"--precision=fp32,mixed-fp16"}},
      {"assay bench --peers pytorch,openv", {"pytorch,openvino"}, {"pytorch,onnxruntime"}},
      {"assay fleet r", {"report"}},
      {"assay man compare-", {"compare-training"}, {"compare"}},
      {"assay completion b", {"bash"}, {"zsh"}},
  };
  return rows;
}

TEST_F(CliShellItself, FishOffersTheSame) {
  need("fish");
  if (program_.empty()) GTEST_SKIP() << "fish is not installed";
  write_text(folder_.path() / "assay.fish", printed({"completion", "fish"}));
  for (const Offered& row : what_shells_offer()) {
    const std::set<std::string> words =
        offered({"--no-config", "-c", fmt::format("source assay.fish; complete -C '{}'", row.line)});
    for (const std::string& word : row.some) EXPECT_EQ(words.count(word), 1U) << row.line << ": " << word;
    for (const std::string& word : row.others) EXPECT_EQ(words.count(word), 0U) << row.line << ": " << word;
  }
}

TEST_F(CliShellItself, ZshOffersTheSame) {
  need("zsh");
  if (program_.empty()) GTEST_SKIP() << "zsh is not installed";
  write_text(folder_.path() / "_assay", printed({"completion", "zsh"}));
  for (const Offered& row : what_shells_offer()) {
    const std::set<std::string> words = offered(
        {"-f", (fs::path(ASSAY_SOURCE_DIR) / "tests/zsh_offers.zsh").string(), folder_.path().string(), row.line});
    for (const std::string& word : row.some) EXPECT_EQ(words.count(word), 1U) << row.line << ": " << word;
    for (const std::string& word : row.others) EXPECT_EQ(words.count(word), 0U) << row.line << ": " << word;
  }
}

/// zsh's _arguments refuses a second rest of the line ("doubled rest argument definition").
TEST_F(CliShell, ZshHasOneRestOfALineAtMost) {
  std::size_t commands = 0;
  std::size_t rests = 0;
  for (const std::string& line : lines_of(printed({"completion", "zsh"}))) {
    if (line.find("_arguments") != std::string::npos) {
      ++commands;
      rests = 0;
    }
    if (line.find(" '*:") != std::string::npos) {
      ++rests;
      EXPECT_LE(rests, 1U) << line;
    }
  }
  EXPECT_GT(commands, 25U);
}

TEST_F(CliShell, ModelsAreCompletedByThePresentCache) {
  EXPECT_EQ(completed({"bench", "gpt2-x"}), "gpt2-xl\n");
  EXPECT_EQ(completed({"study", "--models", "bert-b"}), "bert-base\n");
  fs::create_directories(folder_.path() / "cache/assay/models");
  write_tiny_model(folder_.path() / "cache/assay/models/of-mine");
  ASSERT_EQ(::setenv("XDG_CACHE_HOME", (folder_.path() / "cache").c_str(), 1), 0);
  EXPECT_EQ(completed({"bench", "of-"}), "of-mine\n");
  EXPECT_EQ(words_of(printed({"models", "--names"})).count("of-mine"), 1U);
  ::unsetenv("XDG_CACHE_HOME");
}

/// Every option that help lists, as each command's own help has it.
TEST_F(CliShell, NothingThatHelpListsIsMissing) {
  const std::string fish = printed({"completion", "fish"});
  const std::string zsh = printed({"completion", "zsh"});
  const std::regex option("^  (?:-[a-z],)?(--[a-z0-9-]+)", std::regex::multiline);
  std::size_t options = 0;
  for (const std::string& command : commands_in_help(printed({"--help"}))) {
    const std::string help = printed({command, "--help"});
    const std::string page = printed({"man", command});
    const std::set<std::string> offered = words_of(completed({command, "--"}));
    for (std::sregex_iterator at(help.begin(), help.end(), option), end; at != end; ++at, ++options) {
      const std::string name = (*at)[1];
      EXPECT_EQ(offered.count(name), 1U) << command << " " << name;
      EXPECT_NE(fish.find(fmt::format("'__assay_is_command {}'", command)), std::string::npos) << command;
      EXPECT_NE(fish.find(" -l " + name.substr(2) + " "), std::string::npos) << name;
      EXPECT_NE(zsh.find(name), std::string::npos) << name;
      EXPECT_NE(page.find("\\fB" + std::regex_replace(name, std::regex("-"), "\\-") + "\\fR"), std::string::npos)
          << command << " " << name;
    }
  }
  EXPECT_GT(options, 200U);
}

/// Requests of roff that a page may have, each at the start of a line; anything else there would be lost or misread.
TEST_F(CliShell, PagesOfTheManualAreSoundRoff) {
  const std::regex request("^\\.(TH [A-Z\\\\-]+ 1 .*|SH [A-Z ]+|SS .+|TP|nf|fi|BR assay \\(1\\))$");
  fs::create_directory(folder_.path() / "man1");
  EXPECT_EQ(printed({"man", "--folder", "man1"}), "");
  std::size_t pages = 0;
  for (const auto& entry : fs::directory_iterator(folder_.path() / "man1")) {
    ++pages;
    const std::vector<std::string> lines = lines_of(read_file(entry.path()));
    ASSERT_GT(lines.size(), 5U);
    EXPECT_TRUE(lines[0].starts_with(".TH ASSAY")) << entry.path();
    EXPECT_EQ(lines[1], ".SH NAME");
    EXPECT_NE(lines[2].find(" \\- "), std::string::npos) << "what apropos reads: " << lines[2];
    for (const std::string& line : lines) {
      const bool is_text = !line.starts_with('.') && !line.starts_with('\'');
      EXPECT_TRUE(is_text || std::regex_match(line, request)) << entry.path() << ": " << line;
    }
  }
  EXPECT_EQ(pages, commands_in_help(printed({"--help"})).size() + 1);
  EXPECT_TRUE(fs::exists(folder_.path() / "man1/assay-bench.1"));
  expect_failure({"man", "nosuch"}, 2, "nosuch: no such command");
  expect_failure({"man", "--folder", "absent"}, 2, "absent");
}

TEST_F(CliShell, TheManualHasTheExitCodesOfTheReadme) {
  const std::string readme = read_file(fs::path(ASSAY_SOURCE_DIR) / "README.md");
  const std::string page = printed({"man"});
  const std::string section = page.substr(page.find(".SH EXIT STATUS"), page.find(".SH ENVIRONMENT"));
  const std::regex row("^\\| ([0-9]+) \\| ", std::regex::multiline);
  std::size_t codes = 0;
  for (std::sregex_iterator at(readme.begin(), readme.end(), row), end; at != end; ++at, ++codes)
    EXPECT_NE(section.find("\\fB" + (*at)[1].str() + "\\fR"), std::string::npos) << (*at)[1];
  EXPECT_EQ(codes, 8U);
}

}  // namespace
}  // namespace assay
