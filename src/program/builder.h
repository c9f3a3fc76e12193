#pragma once

#include <map>
#include <string>
#include <utility>

#include "program/operation.h"
#include "program/program.h"

namespace assay {

/// Appends values and operations to a program; shapes follow from the operations' own rules, dtypes start as f32.
class Builder {
 public:
  ValueId input(const std::string& name, DType dtype, SymbolicShape shape);
  /// The weight of that name in the checkpoint; asked twice, it is the same value (a tied weight stands once).
  ValueId weight(const std::string& name, SymbolicShape shape);
  /// The same weight as the checkpoint holds it: blocks, u8 (rows, bytes of a row).
  ValueId blocks(const std::string& name, std::int64_t rows, std::int64_t row_bytes);
  /// The state tensor of that name; asked twice, it is the same value.
  ValueId state(const std::string& name, DType dtype, SymbolicShape shape);
  /// A value that a node added by add_update writes.
  ValueId value(const std::string& name, DType dtype, SymbolicShape shape);
  void output(const std::string& name, ValueId value);

  /// Layer path, role and row (Node::precision) that the operations added from now on carry.
  void at(std::string path, Role role, const char* precision = "");
  void in_phase(Phase phase) { phase_ = phase; }
  /// Adds an operation of one output and returns that output.
  ValueId add(const Operation& operation, std::vector<ValueId> inputs, const Attributes& attributes = {});
  /// The same of several.
  std::vector<ValueId> add_several(const Operation& operation, std::vector<ValueId> inputs,
                                   const Attributes& attributes);
  /// Adds a node as it is (its outputs are made here) and returns its index among program().nodes.
  std::size_t add_node(Node node);
  /// Adds a node that writes values which exist already: state that it updates.
  void add_update(Node node) { program_.nodes.push_back(std::move(node)); }

  void set_dtype(ValueId value, DType dtype) { program_.value(value).dtype = dtype; }
  /// The value is computed in every run though its inputs are constant.
  void recompute(ValueId value) { program_.value(value).constant = false; }

  const Program& program() const { return program_; }
  Program take() { return std::move(program_); }

 private:
  Program program_;
  std::map<std::string, ValueId> weights_;  ///< And state.
  std::string path_;
  Role role_ = Role::other;
  Phase phase_ = Phase::forward;
  const char* precision_ = "";
};

}  // namespace assay
