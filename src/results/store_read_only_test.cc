// Stores that may be read but not written.

#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "results/store_files_test.h"

namespace assay {
namespace {

constexpr uid_t nobody = 65534;

class StoreReadOnly : public StoreFolder {
 protected:
  /// What a process that may read the folder and write nothing in it finds: the number of records, or what it is told.
  std::string read_without_leave() {
    int pipe[2];
    if (::pipe(pipe) != 0) throw std::runtime_error("pipe failed");
    forbid_writing();
    const pid_t child = ::fork();
    if (child == 0) {
      const bool is_root = ::getuid() == 0;
      const std::string said = is_root && ::setuid(nobody) != 0 ? "cannot drop rights" : found();
      ::_exit(::write(pipe[1], said.data(), said.size()) == static_cast<ssize_t>(said.size()) ? 0 : 1);
    }
    ::close(pipe[1]);
    std::string said(4096, '\0');
    const ssize_t length = ::read(pipe[0], said.data(), said.size());
    ::close(pipe[0]);
    ::waitpid(child, nullptr, 0);
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all, std::filesystem::perm_options::add);
    said.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    return said;
  }

  void SetUp() override {
    Store store(file_, Access::write);
    store.save(store.begin_run(run_facts()), made_up_cell());
  }

 private:
  std::string found() const {
    std::size_t records = 0;
    const std::string said = failure([&] { records = Store(file_, Access::read).find({}).size(); });
    return said.empty() ? std::to_string(records) : said;
  }

  void forbid_writing() const {
    using std::filesystem::perms;
    constexpr perms read = perms::owner_read | perms::group_read | perms::others_read;
    constexpr perms enter = perms::owner_exec | perms::group_exec | perms::others_exec;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      std::filesystem::permissions(entry.path(), read);
    }
    std::filesystem::permissions(folder_, read | enter);
  }
};

TEST_F(StoreReadOnly, IsReadWhereNobodyWrites) {
  EXPECT_EQ(read_without_leave(), "4");
}

TEST_F(StoreReadOnly, AnOlderLayoutIsReadToo) {
  Database(file_, Access::write)
      .run(
          "DROP INDEX run_settings; ALTER TABLE run DROP COLUMN settings; ALTER TABLE run DROP COLUMN imported;"
          "PRAGMA user_version = 1");
  EXPECT_EQ(read_without_leave(), "4");
}

TEST_F(StoreReadOnly, RowsInALiveWritersLogAreSeen) {
  Store writer(file_, Access::write);
  writer.save(writer.begin_run(run_facts()), made_up_cell());
  ASSERT_TRUE(std::filesystem::exists(file_.string() + "-wal"));
  EXPECT_EQ(read_without_leave(), "8");
}

TEST_F(StoreReadOnly, ALogThatCannotBeReadIsNotPassedOver) {
  const std::filesystem::path copy = folder_ / "copy.db";
  {
    Store writer(file_, Access::write);
    writer.save(writer.begin_run(run_facts()), made_up_cell());
    std::filesystem::copy_file(file_, copy);
    std::filesystem::copy_file(file_.string() + "-wal", copy.string() + "-wal");
  }
  file_ = copy;
  const std::string said = read_without_leave();
  EXPECT_NE(said.find("copy.db-wal) lies beside it"), std::string::npos) << said;
}

}  // namespace
}  // namespace assay
