#include "report/csv.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "results/made_up_test.h"

namespace assay {
namespace {

TEST(Csv, HasOneTypeAColumn) {
  Record left_out = made_up_left_out("fp8", Status::unsupported, "a reason that says \"no\", at length");
  const Record record = made_up_cell()[0];
  const RunOrigin origin{
      .date = "2026-01-02", .command = "assay bench, twice", .commit = "abc", .seal = {.seal = "5ea1"}};
  const std::vector<CsvRecord> rows = {{record, {{"record", 1}, {"saved", "2026-01-02T03:04:05.678Z"}}, origin},
                                       {left_out, {{"record", 2}, {"saved", nullptr}}}};
  const std::string csv = csv_of_records(rows);
  EXPECT_TRUE(csv.starts_with("record,saved,model,weights,parameters,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
  EXPECT_NE(csv.find("\r\n1,2026-01-02T03:04:05.678Z,smollm2-135m,sha256:0123456789abcdef,134515008,"),
            std::string::npos);
  EXPECT_NE(csv.find(",\"[149.94"), std::string::npos) << "lists are JSON arrays";
  EXPECT_NE(csv.find(",true,"), std::string::npos);
  EXPECT_NE(csv.find("\"a reason that says \"\"no\"\", at length\""), std::string::npos);
  EXPECT_NE(csv.find(",2026-01-02,\"assay bench, twice\",abc,5ea1\r\n2,,"), std::string::npos);
}

}  // namespace
}  // namespace assay
