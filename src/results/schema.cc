#include <fmt/format.h>

#include "base/json.h"
#include "results/document.h"
#include "results/fields.h"

namespace assay {
namespace {

template <typename Names>
OrderedJson enumeration(Names name_of, int count) {
  OrderedJson names = OrderedJson::array();
  for (int i = 0; i < count; ++i) names.push_back(name_of(i));
  return {{"type", "string"}, {"enum", names}};
}

OrderedJson of_type(const char* type) {
  return {{"type", type}};
}
OrderedJson nullable(const char* type) {
  return {{"type", {type, "null"}}};
}
OrderedJson array_of(OrderedJson items) {
  return {{"type", "array"}, {"items", std::move(items)}};
}

/// An object that has exactly these properties.
OrderedJson object_schema(OrderedJson properties) {
  OrderedJson required = OrderedJson::array();
  for (const auto& [key, value] : properties.items()) required.push_back(key);
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

OrderedJson ledger_input() {
  OrderedJson schema =
      object_schema({{"name", of_type("string")}, {"dtype", of_type("string")}, {"device", of_type("string")}});
  schema["properties"]["remark"] = of_type("string");  // Only where there is one.
  return schema;
}

OrderedJson ledger_row() {
  OrderedJson properties;
  for (const char* text : {"path", "operation", "role", "requested", "kernel", "operand", "accumulator", "stored"}) {
    properties[text] = of_type("string");
  }
  const auto verdict = [](int i) { return name(static_cast<Verdict>(i)); };
  properties["verdict"] = enumeration(verdict, static_cast<int>(Verdict::unsupported) + 1);
  properties["evidence"] = of_type("string");
  properties["device"] = of_type("string");
  properties["flops"] = of_type("number");
  OrderedJson schema = object_schema(std::move(properties));
  for (const char* text : {"weight_in_file", "weight_kept"})  // Only of what reads a matrix.
    schema["properties"][text] = of_type("string");
  return schema;
}

struct TypeOf {
  OrderedJson operator()(const std::string*) const { return of_type("string"); }
  OrderedJson operator()(const std::int64_t*) const { return of_type("integer"); }
  template <NamedState State>
  OrderedJson operator()(const State* /*tag*/) const {
    const auto state = [](int i) { return names_of(State{})[static_cast<std::size_t>(i)]; };
    return enumeration(state, static_cast<int>(names_of(State{}).size()));
  }
  template <typename State>
  OrderedJson operator()(const Detailed<State>* /*tag*/) const {
    return of_type("string");
  }
  template <NamedState State>
  OrderedJson operator()(const std::optional<State>* /*tag*/) const {
    return nullable("string");
  }
  OrderedJson operator()(const std::optional<std::string>*) const { return nullable("string"); }
  OrderedJson operator()(const std::optional<std::int64_t>*) const { return nullable("integer"); }
  OrderedJson operator()(const std::optional<double>*) const { return nullable("number"); }
  OrderedJson operator()(const std::optional<bool>*) const { return nullable("boolean"); }
  OrderedJson operator()(const std::vector<double>*) const { return array_of(of_type("number")); }
  OrderedJson operator()(const std::vector<std::string>*) const { return array_of(of_type("string")); }
  OrderedJson operator()(const std::vector<LedgerInput>*) const { return array_of(ledger_input()); }
  OrderedJson operator()(const std::vector<LedgerRow>*) const { return array_of(ledger_row()); }
};

OrderedJson record_schema() {
  OrderedJson properties;
  const Record blank;
  for (const Field& field : record_fields()) {
    OrderedJson property = std::visit(TypeOf{}, field.value(blank));
    const std::string unit = *field.unit ? fmt::format(" [{}]", field.unit) : "";
    property["description"] = field.meaning + unit;
    properties[field.name] = std::move(property);
  }
  return object_schema(std::move(properties));
}

OrderedJson finding_schema() {
  const auto kind = [](int i) { return name(static_cast<RuleKind>(i)); };
  const auto severity = [](int i) { return name(static_cast<Severity>(i)); };
  return object_schema({{"rule", of_type("string")},
                        {"kind", enumeration(kind, static_cast<int>(RuleKind::expectation) + 1)},
                        {"model", of_type("string")},
                        {"batch", of_type("integer")},
                        {"seq", of_type("integer")},
                        {"precision", nullable("string")},
                        {"met", nullable("boolean")},
                        {"severity", enumeration(severity, static_cast<int>(Severity::high) + 1)},
                        {"text", of_type("string")}});
}

bool has_type(const Json& value, const std::string& type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "array") return value.is_array();
  return type == "object" && value.is_object();
}

bool has_one_of(const Json& value, const Json& types) {
  if (types.is_string()) return has_type(value, types.get<std::string>());
  for (const Json& type : types) {
    if (has_type(value, type.get<std::string>())) return true;
  }
  return false;
}

/// Walks schema and document side by side.
struct Validator {
  std::vector<std::string> violations;

  void check(const Json& schema, const Json& value, const std::string& at) {
    if (schema.contains("type") && !has_one_of(value, schema["type"])) {
      violations.push_back(fmt::format("{}: {} is not of type {}", at, value.type_name(), schema["type"].dump()));
      return;
    }
    if (schema.contains("const") && value != schema["const"]) violations.push_back(at + ": not the constant");
    if (schema.contains("enum")) check_enum(schema["enum"], value, at);
    if (value.is_object()) check_object(schema, value, at);
    if (value.is_array() && schema.contains("items")) {
      for (std::size_t i = 0; i < value.size(); ++i) check(schema["items"], value[i], fmt::format("{}[{}]", at, i));
    }
  }

  void check_enum(const Json& names, const Json& value, const std::string& at) {
    for (const Json& known : names) {
      if (known == value) return;
    }
    violations.push_back(fmt::format("{}: {} is not one of {}", at, value.dump(), names.dump()));
  }

  void check_object(const Json& schema, const Json& value, const std::string& at) {
    const Json properties = schema.value("properties", Json::object());
    for (const Json& key : schema.value("required", Json::array())) {
      if (!value.contains(key.get<std::string>())) violations.push_back(fmt::format("{}: lacks {}", at, key.dump()));
    }
    const bool is_closed = schema.contains("additionalProperties") && schema["additionalProperties"] == false;
    for (const auto& [key, member] : value.items()) {
      if (properties.contains(key)) check(properties[key], member, at + "." + key);
      if (is_closed && !properties.contains(key)) violations.push_back(fmt::format("{}: '{}' is unknown", at, key));
    }
  }
};

}  // namespace

OrderedJson document_schema() {
  OrderedJson schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                        {"title", "Records of assay"},
                        {"description", "What assay bench --json writes. Made from the field list in src/results."}};
  schema.update(object_schema({{"schema", {{"type", "string"}, {"const", document_schema_name}}},
                               {"machine", {{"type", "object"}}},
                               {"records", array_of(record_schema())},
                               {"findings", array_of(finding_schema())}}));
  schema["properties"]["origin"] = object_schema({{"date", of_type("string")},
                                                  {"command", of_type("string")},
                                                  {"commit", of_type("string")},
                                                  {"seal", nullable("string")}});
  return schema;
}

std::vector<std::string> schema_violations(const Json& schema, const Json& document) {
  Validator validator;
  validator.check(schema, document, "$");
  return std::move(validator.violations);
}

}  // namespace assay
