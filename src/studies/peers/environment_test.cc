#include "studies/peers/environment.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/error.h"
#include "base/file.h"
#include "hardware/recorded_tree.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// A Python that makes environments of itself, and "installs" by writing down what it is asked for.
class StandInPython {
 public:
  explicit StandInPython(const std::string& pip = "echo \"$@\" >> \"$(dirname \"$0\")/../asked\"; echo Collecting $5") {
    tree_.write("python",
                "#!/bin/sh\nif [ \"$2\" = venv ]; then\n  mkdir -p \"$3/bin\" \"$3/lib/python3.11/site-packages\"\n"
                "  cp \"$0\" \"$3/bin/python\"\nelse\n  " +
                    pip + "\nfi\n");
    fs::permissions(tree_.root() / "python", fs::perms{0755});
  }
  EnvironmentTools tools() const { return {.python = (tree_.root() / "python").string()}; }

 private:
  RecordedTree tree_;
};

const PeerEnvironment& named(const std::string& peer) {
  return environment_of(find_peer(peer));
}

std::vector<std::string> names_below(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(PeerEnvironments, AreMadeOnceWithWhatTheyStandOn) {
  const RecordedTree root;
  const StandInPython python;
  std::string shown;
  StudyCallbacks callbacks;
  callbacks.progress = [&](const std::string& what, double) { shown += what + "\n"; };
  EXPECT_FALSE(is_installed(named("openvino"), root.root()));
  install_environment(named("openvino"), root.root(), callbacks, python.tools());
  EXPECT_TRUE(is_installed(named("openvino"), root.root()));
  EXPECT_TRUE(is_installed(named("pytorch"), root.root())) << "it stands on it";
  EXPECT_EQ(names_below(root.root()).size(), 3U) << "two environments and the lock";
  EXPECT_NE(shown.find("installing pytorch: Collecting"), std::string::npos) << shown;
  const fs::path folder = environment_folder(named("openvino"), root.root());
  const std::string asked = read_file(folder / "asked");
  for (const char* package : named("openvino").packages) EXPECT_NE(asked.find(package), std::string::npos) << package;
  EXPECT_EQ(read_file(folder / "lib/python3.11/site-packages/assay-base.pth"),
            (environment_folder(named("pytorch"), root.root()) / "lib/python3.11/site-packages").string() + "\n");
  install_environment(named("openvino"), root.root(), callbacks, python.tools());
  EXPECT_EQ(read_file(folder / "asked"), asked) << "it is there already";
  EXPECT_GT(environment_bytes(named("openvino"), root.root()), 0);
}

TEST(PeerEnvironments, DamagedOnesAreMadeAnew) {
  const RecordedTree root;
  const StandInPython python;
  install_environment(named("openvino"), root.root(), {}, python.tools());
  fs::remove(environment_python(named("pytorch"), root.root()));
  EXPECT_TRUE(is_damaged(named("pytorch"), root.root()));
  EXPECT_FALSE(is_installed(named("openvino"), root.root())) << "it stands on it";
  std::string said;
  StudyCallbacks callbacks;
  callbacks.say = [&](const std::string& line) { said += line; };
  install_environment(named("openvino"), root.root(), callbacks, python.tools());
  EXPECT_EQ(said, "pytorch: its environment has no Python any more: it is made anew");
  EXPECT_TRUE(is_installed(named("openvino"), root.root()));
  fs::remove(environment_folder(named("pytorch"), root.root()) / "assay-peer.txt");
  EXPECT_FALSE(is_damaged(named("pytorch"), root.root())) << "half removed: as if it were not there";
  install_environment(named("pytorch"), root.root(), {}, python.tools());
  EXPECT_TRUE(is_installed(named("pytorch"), root.root()));
  EXPECT_EQ(names_below(root.root()).size(), 3U);
}

TEST(PeerEnvironments, OfAFailureNothingStays) {
  const RecordedTree root;
  const StandInPython python("echo Collecting torch; echo 'ERROR: no such version' >&2; echo hint >&2; exit 1");
  try {
    install_environment(named("pytorch"), root.root(), {}, python.tools());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::lacking);
    EXPECT_STREQ(error.what(), "pytorch: could not be installed: ERROR: no such version");
  }
  EXPECT_FALSE(is_installed(named("pytorch"), root.root()));
  EXPECT_EQ(names_below(root.root()), (std::vector<std::string>{".lock"}));
}

TEST(PeerEnvironments, OfAnInterruptNothingStays) {
  const RecordedTree root;
  const StandInPython python("echo Collecting torch; sleep 1000");
  std::atomic<bool> interrupted = false;
  StudyCallbacks callbacks;
  callbacks.interrupted = &interrupted;
  callbacks.progress = [&](const std::string&, double) { interrupted = true; };
  try {
    install_environment(named("pytorch"), root.root(), callbacks, python.tools());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::interrupted);
  }
  EXPECT_EQ(names_below(root.root()), (std::vector<std::string>{".lock"}));
}

TEST(PeerEnvironments, AreRemovedWithWhatStandsOnThemAndNothingElseIs) {
  const RecordedTree root;
  const StandInPython python;
  EXPECT_TRUE(remove_environments("", root.root() / "not/there").names.empty());
  for (const char* peer : {"openvino", "ctranslate2"})
    install_environment(named(peer), root.root(), {}, python.tools());
  root.write("pytorch-mine/file", "not ours");
  EXPECT_EQ(remove_environments("openvino", root.root()).names.size(), 1U);
  EXPECT_TRUE(is_installed(named("pytorch"), root.root()));
  const RemovedEnvironments removed = remove_environments("pytorch", root.root());
  EXPECT_EQ(removed.names.size(), 2U) << "ctranslate2 stands on it";
  EXPECT_GT(removed.bytes, 0);
  EXPECT_EQ(names_below(root.root()), (std::vector<std::string>{".lock", "pytorch-mine"}));
  EXPECT_THROW(remove_environments("pytroch", root.root()), Error);
}

}  // namespace
}  // namespace assay
