#include "program/builder.h"

#include <algorithm>

#include "base/error.h"

namespace assay {

ValueId Builder::input(const std::string& name, DType dtype, SymbolicShape shape) {
  const auto id = static_cast<ValueId>(program_.values.size());
  program_.values.push_back({name, dtype, std::move(shape), Source::input, false});
  program_.inputs.push_back({name, id});
  return id;
}

ValueId Builder::weight(const std::string& name, SymbolicShape shape) {
  if (const auto known = weights_.find(name); known != weights_.end()) {
    ASSAY_ASSERT(program_.value(known->second).shape == shape);
    return known->second;
  }
  const auto id = static_cast<ValueId>(program_.values.size());
  program_.values.push_back({name, DType::f32, std::move(shape), Source::weight, true});
  weights_.emplace(name, id);
  return id;
}

ValueId Builder::blocks(const std::string& name, std::int64_t rows, std::int64_t row_bytes) {
  const ValueId id = weight(name + " in blocks", {dim(rows), dim(row_bytes)});
  program_.value(id).name = name;
  program_.value(id).dtype = DType::u8;
  return id;
}

ValueId Builder::state(const std::string& name, DType dtype, SymbolicShape shape) {
  const ValueId id = weight(name, std::move(shape));
  Value& value = program_.value(id);
  value.dtype = dtype;
  value.source = Source::state;
  value.constant = false;
  return id;
}

ValueId Builder::value(const std::string& name, DType dtype, SymbolicShape shape) {
  program_.values.push_back({name, dtype, std::move(shape), Source::computed, false});
  return static_cast<ValueId>(program_.values.size()) - 1;
}

void Builder::output(const std::string& name, ValueId value) {
  program_.outputs.push_back({name, value});
}

void Builder::at(std::string path, Role role, const char* precision) {
  path_ = std::move(path);
  role_ = role;
  precision_ = precision;
}

ValueId Builder::add(const Operation& operation, std::vector<ValueId> inputs, const Attributes& attributes) {
  return add_several(operation, std::move(inputs), attributes).front();
}

std::vector<ValueId> Builder::add_several(const Operation& operation, std::vector<ValueId> inputs,
                                          const Attributes& attributes) {
  const std::size_t index = add_node({&operation, std::move(inputs), {}, attributes, path_, role_, phase_, precision_});
  return program_.nodes[index].outputs;
}

std::size_t Builder::add_node(Node node) {
  const bool constant = std::all_of(node.inputs.begin(), node.inputs.end(),
                                    [&](ValueId id) { return id == no_value || program_.value(id).constant; });
  node.outputs.clear();
  for (SymbolicShape& shape : node.operation->shapes(program_, node)) {
    node.outputs.push_back(static_cast<ValueId>(program_.values.size()));
    program_.values.push_back({node.path, DType::f32, std::move(shape), Source::computed, constant});
  }
  program_.nodes.push_back(std::move(node));
  return program_.nodes.size() - 1;
}

}  // namespace assay
