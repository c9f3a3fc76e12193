#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "sources.h"

namespace assay {
namespace {

/// Hosts of package registries. Packages are asked for by name, from whatever mirror the machine is set up for, so no
/// file may name one; put together here so that this file does not either.
std::vector<std::string> registry_hosts() {
  const std::vector<std::string> names = {"pypi", "pythonhosted", "debian", "npmjs", "crates", "anaconda"};
  std::vector<std::string> hosts;
  for (const std::string& name : names) {
    for (const char* end : {".org", ".io", ".com"}) hosts.push_back(name + end);
  }
  hosts.push_back(std::string("archive.") + "ubuntu");
  return hosts;
}

std::string host_named_in(const std::string& text) {
  for (const std::string& host : registry_hosts()) {
    if (text.find(host) != std::string::npos) return host;
  }
  return "";
}

TEST(Repository, NamesNoRegistryHost) {
  const std::vector<std::filesystem::path> files = project_files(ASSAY_SOURCE_DIR);
  ASSERT_GT(files.size(), 20U) << "the test looked in the wrong place";
  for (const auto& file : files) EXPECT_EQ(host_named_in(text_of(file)), "") << file.string();
}

/// Where a link in Markdown leads.
struct Link {
  std::string file;     ///< Empty: the same page.
  std::string heading;  ///< As it stands behind '#'; empty: the whole page.
  bool operator==(const Link&) const = default;
};

/// Those of a page that stay in the project.
std::vector<Link> links_of(const std::string& page) {
  static const std::regex link(R"(\]\(([^()#: ]*)(#([^() ]*))?\))");
  std::vector<Link> links;
  for (std::sregex_iterator at(page.begin(), page.end(), link), end; at != end; ++at)
    links.push_back({.file = (*at)[1], .heading = (*at)[3]});
  return links;
}

/// What links to the headings of a page call them: in small letters, '-' for a space, without punctuation.
std::set<std::string> headings_of(const std::string& page) {
  std::set<std::string> headings;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("#")) continue;
    std::string name;
    for (const char c : line.substr(std::min(line.size(), line.find(' ') + 1))) {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_')
        name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      if (c == ' ') name += '-';
    }
    headings.insert(name);
  }
  return headings;
}

/// Pages that people read: those of the root and of docs/.
std::vector<std::filesystem::path> pages() {
  std::vector<std::filesystem::path> found;
  for (const char* folder : {"", "docs"}) {
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(ASSAY_SOURCE_DIR) / folder))
      if (entry.path().extension() == ".md") found.push_back(entry.path());
  }
  return found;
}

TEST(Repository, LinksOfPagesLeadToWhatIsThere) {
  EXPECT_GT(pages().size(), 20U) << "the test looked in the wrong place";
  for (const auto& page : pages()) {
    for (const Link& link : links_of(text_of(page))) {
      const std::filesystem::path target = link.file.empty() ? page : page.parent_path() / link.file;
      EXPECT_TRUE(std::filesystem::exists(target)) << page.string() << ": " << link.file;
      if (link.heading.empty() || !std::filesystem::exists(target)) continue;
      EXPECT_TRUE(headings_of(text_of(target)).contains(link.heading))
          << page.string() << ": " << link.file << " has no heading #" << link.heading;
    }
  }
  const std::vector<Link> expected = {{"docs/a.md", ""}, {"b.md", "part"}, {"", "part"}};
  EXPECT_EQ(links_of("[a](docs/a.md), [b](b.md#part), [part](#part), [web](https://example.org/c)"), expected);
  EXPECT_EQ(headings_of("# A page\n## What `x` is: y-z, and why\nno # heading\n"),
            (std::set<std::string>{"a-page", "what-x-is-y-z-and-why"}));
}

/// Whoever passes the program on needs the licence's own words, and what users see of a version has a heading.
TEST(Repository, HasItsLicenceAndAHeadingForItsVersion) {
  const std::filesystem::path root = ASSAY_SOURCE_DIR;
  const std::string licence = text_of(root / "LICENSE");
  for (const char* words :
       {"Apache License\n", "Version 2.0, January 2004", "3. Grant of Patent License.", "END OF TERMS AND CONDITIONS"})
    EXPECT_NE(licence.find(words), std::string::npos) << words;
  std::smatch version;
  const std::string project = text_of(root / "CMakeLists.txt");
  ASSERT_TRUE(std::regex_search(project, version, std::regex(R"(project\(assay VERSION ([0-9.]+))")));
  EXPECT_NE(text_of(root / "CHANGELOG.md").find("\n## " + version[1].str()), std::string::npos);
}

/// What differs between families stands in their rows (model/families.h). Presets name theirs; nobody else asks.
TEST(Repository, OnlyPresetsAndConfigurationsNameAFamily) {
  // The last looks up the row that another row names.
  const std::set<std::string> may = {"families.h", "families.cc", "config.cc", "presets.cc", "counterpart.cc"};
  for (const auto& file : project_files(std::filesystem::path(ASSAY_SOURCE_DIR) / "src")) {
    const std::string name = file.filename().string();
    if (may.count(name) != 0 || name.find("test") != std::string::npos) continue;
    for (const char* question : {"find_family(", "family ==", "family !=", "family->name =="})
      EXPECT_EQ(text_of(file).find(question), std::string::npos) << file.string() << ": " << question;
  }
}

TEST(Repository, ARegistryHostInATextIsFound) {
  const std::string host = std::string("files.python") + "hosted.org";
  EXPECT_NE(host_named_in("see https://" + host + "/packages"), "");
  EXPECT_EQ(host_named_in("install it by name"), "");
}

}  // namespace
}  // namespace assay
