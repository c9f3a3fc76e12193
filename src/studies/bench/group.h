#pragma once

#include <memory>
#include <string>
#include <vector>

#include "results/record.h"
#include "runtime/cold_caches.h"
#include "runtime/plan.h"
#include "studies/bench/contenders.h"
#include "studies/bench/request.h"
#include "studies/bench/timed_rows.h"
#include "studies/bench/trial.h"
#include "studies/peers/peer_host.h"
#include "studies/shared/energy_record.h"

namespace assay {

/// What a group takes part in.
struct GroupContext {
  const BenchRequest& request;
  const StudyCallbacks& callbacks;
  Power& power;
  std::int64_t number = 1;    ///< Of the group, from 1.
  PeerHost* peers = nullptr;  ///< Null where none was asked for.
};

/// One model in the precisions that fit into memory together: their instances, and the memory that plans of them may
/// take.
class BenchGroup {
 public:
  struct Member {
    Contender contender;
    Record blank;
    /// Null where the precision cannot be had: see blank.outcome; and where another program runs it.
    std::unique_ptr<Instance> instance;
    bool is_packed = false;          ///< A plan has packed its weights already.
    std::vector<Trial> trials = {};  ///< Of shapes that were tried.
  };

  BenchGroup(const Model& model, MachineFacts facts, const GroupContext& context);

  /// Makes the instances. A precision that cannot be had keeps its reason and becomes a row in every cell. `setting` is
  /// what all records share.
  void open(const std::vector<Contender>& contenders, const Setting& setting);
  /// Runs each precision once at these shapes in a process of its own. One that dies there, hangs or runs out of memory
  /// is not run in this process: its row says why.
  void try_apart(const std::vector<Extent>& extents);
  /// A record for each precision on those inputs, with nothing but what is known before it runs.
  std::vector<Record> blanks(const CellInputs& inputs) const;
  /// Null where it cannot be had, or is not to run: then `record` says why. Else memory and evidence stand in it.
  std::unique_ptr<Plan> make_plan(Member& member, const PlanOptions& options, Record& record);

  /// Memory that one more plan may take: what was free at the start, less the buffers of other plans and all that is
  /// held. Absent where it is not known.
  std::optional<std::int64_t> free_bytes(std::int64_t arenas) const;
  std::int64_t held_bytes() const;  ///< Weights, as they were read and as they were packed.

  const Model& model() const { return model_; }
  const BenchRequest& request() const { return context_.request; }
  const StudyCallbacks& callbacks() const { return context_.callbacks; }
  Power& power() const { return context_.power; }
  PeerHost* peers() const { return context_.peers; }
  const MachineFacts& facts() const { return facts_; }
  const std::string& shown_name() const { return shown_name_; }  ///< While it runs.
  std::vector<Member>& members() { return members_; }
  const std::vector<Member>& members() const { return members_; }
  ColdCaches* cold() const { return cold_.get(); }  ///< Null where caches stay as they are.

 private:
  void make_cold_caches();
  void open_own(Member& member);
  void say_declined(const ResidentAnswer& trial, const Record& record) const;

  const Model& model_;
  const std::string shown_name_;
  const GroupContext context_;
  const MachineFacts facts_;
  std::vector<Member> members_;
  std::unique_ptr<ColdCaches> cold_;
};

/// Emulated operations become the outcome of a row that was not asked to run them.
bool is_left_out(Record& record);

}  // namespace assay
