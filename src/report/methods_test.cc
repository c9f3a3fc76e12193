#include "report/methods.h"

#include <gtest/gtest.h>

#include "results/made_up_test.h"

namespace assay {
namespace {

std::string methods_text(const std::vector<Record>& records) {
  Document document;
  document.records = records;
  const std::vector<ReportSource> sources = {{"run.json", document}};
  std::string text;
  for (const std::string& paragraph : methods_paragraphs(sources)) text += paragraph + "\n";
  return text;
}

TEST(Methods, SayWhatTheMeterReadsAndHowSureItIs) {
  std::vector<Record> records = {made_up_record("fp32", 150), made_up_record("bf16", 80)};
  for (Record& record : records) {
    record.energy.made().energy_status = energy_status("RAPL: package-0");
    record.energy.made().energy_source = "/sys/class/powercap/intel-rapl:0";
    record.energy.made().energy_unit = "uJ";
    record.energy.made().energy_update_s = 1e-3;
    record.energy.made().energy_j = 2;
    record.energy.made().energy_uncertainty_j = 0.05;
  }
  const std::string text = methods_text(records);
  EXPECT_NE(
      text.find("The meter reads /sys/class/powercap/intel-rapl:0 (uJ), renewed every 1 ms; gross joules are within "
                "2.5 % of what it counted"),
      std::string::npos)
      << text;
}

TEST(Methods, SayOfWhichPartAnInterruptLeftQuality) {
  Record record = made_up_record("fp32", 150);
  record.quality.made().quality_status = interrupted_after({8192, 197'913});
  const std::string text = methods_text({record});
  EXPECT_NE(text.find("from 8,192 of 197,913 tokens: scoring was interrupted"), std::string::npos) << text;
}

TEST(Methods, SayThatNoEnergyWasEstimated) {
  const std::string text = methods_text({made_up_record("fp32", 150)});
  EXPECT_NE(text.find("No energy is given, and none was estimated."), std::string::npos) << text;
  EXPECT_EQ(text.find("The meter reads"), std::string::npos) << text;
}

}  // namespace
}  // namespace assay
