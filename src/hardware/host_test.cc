#include "hardware/host.h"

#include <gtest/gtest.h>

#include "hardware/recorded_tree.h"

namespace assay {
namespace {

constexpr const char* system_id = "0123456789abcdef0123456789abcdef\n";

TEST(Host, NameAndIdComeFromTheSystem) {
  const RecordedTree tree;
  EXPECT_EQ(read_host(tree.root()).name, "");
  EXPECT_EQ(read_host(tree.root()).id, "");
  tree.write("proc/sys/kernel/hostname", "node07\n");
  tree.write("etc/machine-id", system_id);
  const HostFacts host = read_host(tree.root());
  EXPECT_EQ(host.name, "node07");
  EXPECT_EQ(host.id.size(), 16U);
  EXPECT_EQ(host.id.find("0123456789abcdef"), std::string::npos) << "the system's id stays its own";
  EXPECT_EQ(read_host(tree.root()).id, host.id);
}

TEST(Host, CopiesOfAnImageAreToldApartByTheirCards) {
  const RecordedTree one;
  const RecordedTree other;
  for (const RecordedTree* tree : {&one, &other}) tree->write("etc/machine-id", system_id);
  EXPECT_EQ(read_host(one.root()).id, read_host(other.root()).id);
  one.write("sys/class/net/eth0/address", "52:54:00:00:00:01\n");
  EXPECT_EQ(read_host(one.root()).id, read_host(other.root()).id)
      << "a card without a device is drawn anew with each container";
  one.write("sys/class/net/eth0/device/vendor", "0x1af4\n");
  EXPECT_NE(read_host(one.root()).id, read_host(other.root()).id);
}

}  // namespace
}  // namespace assay
