#include "cli/measuring.h"

#include "base/error.h"
#include "base/json.h"
#include "base/threads.h"
#include "cli/interrupt.h"
#include "cli/origin.h"
#include "hardware/machine.h"
#include "studies/probe/run.h"
#include "studies/shared/device_facts.h"

namespace assay {

Measuring::Measuring(StoreOptions store)
    : interrupted_(watch_interrupts()),
      is_apart_(store.is_apart),
      recorder_(std::move(store), [this](const std::string& sentence) { progress_.say(sentence); }) {}

MachineFacts Measuring::probe_machine(const MachineOptions& machine, const std::string& device) {
  if (!machine.measured.empty()) {
    MachineFacts facts = facts_for(machine, device);
    recorder_.begin(machine_json(facts).dump());
    return facts;
  }
  progress_.show("probing this machine", 0);
  ProbeOptions probing;
  probing.machine.threads = machine.threads;
  probing.machine.max_isa = machine.max_isa;
  MachineFacts facts = probe(probing);
  set_threads(facts.threads);
  facts = facts_on(device, std::move(facts));
  recorder_.begin(machine_json(facts).dump());
  return facts;
}

MachineFacts Measuring::read_machine(const MachineOptions& machine) {
  MachineFacts facts = read_machine_facts({.max_isa = machine.max_isa, .threads = machine.threads, .root = "/"});
  recorder_.begin(machine_json(facts).dump());
  return facts;
}

StudyCallbacks Measuring::callbacks() {
  StudyCallbacks callbacks;
  callbacks.progress = [this](const std::string& what, double seconds_left) { progress_.show(what, seconds_left); };
  callbacks.say = [this](const std::string& sentence) { progress_.say(sentence); };
  callbacks.keep = [this](std::span<const Record> records) { recorder_.keep(records); };
  callbacks.restore = [this] { return recorder_.restore(); };
  callbacks.spread_between_runs = [this](const Record& measured) { return recorder_.spread_between_runs(measured); };
  callbacks.interrupted = &interrupted_;
  return callbacks;
}

/// What was interrupted can be resumed.
void Measuring::end() {
  if (!interrupted_) recorder_.end();
}

void Measuring::finish() {
  end();
  progress_.finish();
}

GridPart Measuring::part(Document document) {
  end();
  GridPart part;
  if (is_apart_) part.kept = recorder_.exchanged();
  document.origin = run_origin();
  part.document = std::move(document);
  part.sentences = progress_.take();
  part.code = exit_code();
  return part;
}

int Measuring::exit_code() const {
  if (interrupted_) return static_cast<int>(ExitCode::interrupted);
  return recorder_.failed() ? static_cast<int>(DoneCode::unsaved) : 0;
}

}  // namespace assay
