#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <sstream>

#include "sources.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Names of the types that a source text defines where other files can mean them too, with their namespaces:
/// "assay::cpu::Product". What is defined inside another type, or in an anonymous namespace, cannot be confused.
std::vector<std::string> types_of(const std::string& text) {
  static const std::regex opens("namespace ?([A-Za-z_:]*) ?\\{");
  static const std::regex defines("(?:struct|class|enum class) (\\w+)(?: final)?(?: :[^:].*)? \\{.*");
  std::vector<std::string> spaces;
  std::vector<std::string> types;
  std::istringstream lines(text);
  std::string line;
  std::smatch found;
  while (std::getline(lines, line)) {
    if (std::regex_match(line, found, opens)) spaces.push_back(found[1]);
    if (line.rfind("}  // namespace", 0) == 0 && !spaces.empty()) spaces.pop_back();
    if (!std::regex_match(line, found, defines)) continue;
    std::string name;
    for (const std::string& space : spaces) name += (space.empty() ? "(anonymous)" : space) + "::";
    if (name.find("(anonymous)") == std::string::npos) types.push_back(name + found[1].str());
  }
  return types;
}

/// Two types of one name in one program are one to the linker: it keeps one's destructor for both.
TEST(OneDefinition, ATypesNameMeansOneType) {
  const fs::path src = fs::path(ASSAY_SOURCE_DIR) / "src";
  std::map<std::string, std::string> files;
  for (const fs::path& file : project_files(src)) {
    if (file.extension() != ".h" && file.extension() != ".cc") continue;
    for (const std::string& type : types_of(text_of(file))) {
      const std::string& known = files.emplace(type, file.string()).first->second;
      EXPECT_EQ(known, file.string()) << "both define " << type;  // One file may, by platform.
    }
  }
  EXPECT_GT(files.size(), 100U) << "no type was read: the test looked in the wrong place";
}

TEST(OneDefinition, NamespacesCount) {
  const std::vector<std::string> expected = {"assay::A", "assay::cpu::B"};
  EXPECT_EQ(types_of("namespace assay {\nstruct A {\n  struct Inner {\n  };\n};\nstruct Declared;\nnamespace {\n"
                     "class Hidden {\n};\n}  // namespace\n}  // namespace assay\nnamespace assay::cpu {\n"
                     "enum class B : int { x };\n}  // namespace assay::cpu\n"),
            expected);
}

}  // namespace
}  // namespace assay
