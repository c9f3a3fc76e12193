#include "studies/shared/surroundings.h"

#include "rules/rules.h"

namespace assay {

void keep_judged(const StudyCallbacks& callbacks, std::vector<Record> records) {
  if (!callbacks.keep || records.empty()) return;
  const Rulings rulings = judge(records);
  callbacks.keep(with_rulings(std::move(records), rulings.rows));
}

}  // namespace assay
