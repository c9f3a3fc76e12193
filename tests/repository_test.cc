#include <gtest/gtest.h>

#include <set>
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

/// What differs between families stands in their rows (model/families.h). Presets name theirs; nobody else asks.
TEST(Repository, OnlyPresetsAndConfigurationsNameAFamily) {
  const std::set<std::string> may = {"families.h", "families.cc", "config.cc", "presets.cc"};
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
