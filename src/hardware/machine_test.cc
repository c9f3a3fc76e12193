#include "hardware/machine.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "hardware/isa_cap.h"
#include "hardware/recorded_tree.h"

namespace assay {
namespace {

constexpr std::int64_t mib = 1 << 20;

/// A server with 8 processors of which this process may use four, 64 GiB, no container.
void record_server(const RecordedTree& tree) {
  tree.write("proc/self/status", "Name:\tassay\nCpus_allowed:\tf\nCpus_allowed_list:\t2-5\n");
  tree.write("proc/cpuinfo",
             "processor\t: 0\nmodel name\t: Xeon Recorded\ncpu MHz\t\t: 800.000\n\n"
             "processor\t: 2\nmodel name\t: Xeon Recorded\ncpu MHz\t\t: 3100.500\n\n");
  tree.write("proc/meminfo", "MemTotal:       67108864 kB\nMemFree:  1024 kB\nMemAvailable:   33554432 kB\n");
  tree.write("proc/sys/kernel/osrelease", "6.1.0-recorded\n");
  tree.write("etc/os-release", "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
  const std::string cache = "sys/devices/system/cpu/cpu2/cache/";
  const char* rows[][4] = {{"1", "Data", "48K", "2"},
                           {"1", "Instruction", "32K", "2"},
                           {"2", "Unified", "2048K", "2"},
                           {"3", "Unified", "105M", "0-7"}};
  for (int i = 0; i < 4; ++i) {
    const std::string index = cache + "index" + std::to_string(i) + "/";
    tree.write(index + "level", rows[i][0]);
    tree.write(index + "type", rows[i][1]);
    tree.write(index + "size", rows[i][2]);
    tree.write(index + "shared_cpu_list", rows[i][3]);
  }
}

MachineFacts facts_of(const RecordedTree& tree) {
  return read_machine_facts({.max_isa = {}, .threads = 0, .root = tree.root()});
}

TEST(Machine, ReadsTheRecordedServer) {
  const RecordedTree tree;
  record_server(tree);
  const MachineFacts facts = facts_of(tree);
  EXPECT_EQ(facts.processor, "Xeon Recorded");
  EXPECT_EQ(facts.operating_system, "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(facts.kernel, "Linux 6.1.0-recorded");
  EXPECT_EQ(facts.cores, 4);
  EXPECT_EQ(facts.threads, 4);
  EXPECT_EQ(facts.memory_bytes, 65536 * mib);
  EXPECT_EQ(facts.available_bytes, 32768 * mib);
  EXPECT_DOUBLE_EQ(facts.frequency_mhz.value(), 3100.5);
  ASSERT_EQ(facts.caches.size(), 3u);
  EXPECT_EQ(facts.caches[0].bytes, 48 << 10);
  EXPECT_EQ(facts.caches[1].bytes, 2 * mib);
  EXPECT_EQ(facts.caches[2].bytes, 105 * mib);
  EXPECT_EQ(facts.caches[2].shared_by_cores, 8);
}

TEST(Machine, CpufreqIsPreferredToCpuinfo) {
  const RecordedTree tree;
  record_server(tree);
  tree.write("sys/devices/system/cpu/cpu2/cpufreq/scaling_cur_freq", "2400000\n");
  EXPECT_DOUBLE_EQ(facts_of(tree).frequency_mhz.value(), 2400.0);
}

TEST(Machine, ACgroup2LimitBoundsMemoryAndCores) {
  const RecordedTree tree;
  record_server(tree);
  tree.write("proc/self/cgroup", "0::/system.slice/job.service\n");
  const std::string group = "sys/fs/cgroup/system.slice/job.service/";
  tree.write(group + "memory.max", std::to_string(1000 * mib));
  tree.write(group + "memory.current", std::to_string(400 * mib));
  tree.write(group + "memory.stat", "anon 1\ninactive_file " + std::to_string(100 * mib) + "\n");
  tree.write(group + "cpu.max", "250000 100000\n");
  const MachineFacts facts = facts_of(tree);
  EXPECT_EQ(facts.available_bytes, 700 * mib);  // The limit less what is used and cannot be given back.
  EXPECT_EQ(facts.memory_bytes, 65536 * mib);
  EXPECT_EQ(facts.cores, 2);
}

TEST(Machine, TheTightestOfNestedGroupsCounts) {
  const RecordedTree tree;
  record_server(tree);
  tree.write("proc/self/cgroup", "0::/outer/inner\n");
  tree.write("sys/fs/cgroup/outer/memory.max", std::to_string(500 * mib));
  tree.write("sys/fs/cgroup/outer/memory.current", std::to_string(450 * mib));
  tree.write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  tree.write("sys/fs/cgroup/outer/inner/memory.current", std::to_string(100 * mib));
  EXPECT_EQ(facts_of(tree).available_bytes, 50 * mib);
}

TEST(Machine, ACgroup1LimitBoundsMemoryAndCores) {
  const RecordedTree tree;
  record_server(tree);
  tree.write("proc/self/cgroup", "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n0::/\n");
  // As inside a container: the group's own path is not mounted, its folder is the top of the mount.
  tree.write("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(2000 * mib));
  tree.write("sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(500 * mib));
  tree.write("sys/fs/cgroup/memory/memory.stat", "total_inactive_file " + std::to_string(200 * mib) + "\n");
  tree.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
  tree.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  const MachineFacts facts = facts_of(tree);
  EXPECT_EQ(facts.available_bytes, 1700 * mib);
  EXPECT_EQ(facts.cores, 1);
}

TEST(Machine, AnUnlimitedCgroup1ChangesNothing) {
  const RecordedTree tree;
  record_server(tree);
  tree.write("proc/self/cgroup", "5:memory:/\n4:cpu:/\n");
  tree.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  tree.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1048576\n");
  tree.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  tree.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  const MachineFacts facts = facts_of(tree);
  EXPECT_EQ(facts.available_bytes, 32768 * mib);
  EXPECT_EQ(facts.cores, 4);
}

/// As `ulimit -v` and `ulimit -d` set them; a process that is at its limit has next to nothing, not an unknown amount.
TEST(Machine, LimitsOfTheProcessBoundMemory) {
  const RecordedTree tree;
  record_server(tree);
  const auto limits = [](const std::string& data, const std::string& addresses) {
    return "Limit                     Soft Limit           Hard Limit           Units\n"
           "Max data size             " +
           data +
           "            unlimited            bytes\n"
           "Max address space         " +
           addresses + "            unlimited            bytes\n";
  };
  tree.write("proc/self/status", "VmSize:\t  102400 kB\nVmData:\t   51200 kB\n");
  tree.write("proc/self/limits", limits("unlimited", "unlimited"));
  EXPECT_EQ(facts_of(tree).available_bytes, 32768 * mib);
  tree.write("proc/self/limits", limits("unlimited", std::to_string(1000 * mib)));
  EXPECT_EQ(facts_of(tree).available_bytes, 900 * mib);
  tree.write("proc/self/limits", limits(std::to_string(800 * mib), std::to_string(1000 * mib)));
  EXPECT_EQ(facts_of(tree).available_bytes, 750 * mib);
  tree.write("proc/self/limits", limits(std::to_string(10 * mib), "unlimited"));
  EXPECT_EQ(facts_of(tree).available_bytes, 1);
}

TEST(Machine, AnEmptyTreeStillGivesUsableFacts) {
  const RecordedTree tree;
  const MachineFacts facts = facts_of(tree);
  EXPECT_EQ(facts.cores, 1);
  EXPECT_EQ(facts.threads, 1);
  EXPECT_EQ(facts.memory_bytes, 0);
  EXPECT_TRUE(facts.caches.empty());
  EXPECT_FALSE(facts.frequency_mhz.has_value());
  EXPECT_EQ(facts.power_sources.size(), 3u);
}

TEST(Machine, TheCapCutsTheInstructionSetsAndIsWrittenDown) {
  const MachineFacts facts = read_machine_facts({.max_isa = "baseline", .threads = 3, .root = "/"});
  EXPECT_EQ(facts.cap, "baseline");
  EXPECT_EQ(to_string(facts.isa), "none");
  EXPECT_EQ(facts.threads, 3);
}

TEST(Machine, ThisMachineHasMemoryAndCores) {
  const MachineFacts facts = read_machine_facts();
  EXPECT_GE(facts.cores, 1);
  EXPECT_GT(facts.memory_bytes, 0);
  EXPECT_GT(facts.available_bytes, 0);
  EXPECT_LE(facts.available_bytes, facts.memory_bytes);
  EXPECT_FALSE(facts.processor.empty());
  EXPECT_FALSE(facts.kernel.empty());
}

TEST(Machine, ANegativeThreadCountIsTheUsersMistake) {
  EXPECT_THROW(read_machine_facts({.max_isa = {}, .threads = -1, .root = "/"}), Error);
}

}  // namespace
}  // namespace assay
