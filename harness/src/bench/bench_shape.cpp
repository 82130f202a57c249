// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/bench_shape.hpp"

#include <nlohmann/json.hpp>

namespace switchyard::harness {
namespace {

/// The value that a word names.
template <class Value>
Value known(const std::optional<Value>& value, const std::string& word) {
  if (!value) throw nlohmann::json::other_error::create(501, "unknown word " + word, nullptr);
  return *value;
}

}  // namespace

bench_shape shape_of(const comm_params& params, low_precision combine) {
  return {params.hidden_size, params.top_k, params.num_experts, params.dtype, params.dispatch_format, combine};
}

comm_params params_of(const bench_shape& shape, const comm_params& like) {
  auto params = like;
  params.hidden_size = shape.hidden_size;
  params.top_k = shape.top_k;
  params.num_experts = shape.num_experts;
  params.dtype = shape.dtype;
  params.dispatch_format = shape.dispatch_format;
  return params;
}

std::string format_word(const std::optional<dispatch_format>& format) {
  return format ? std::string(to_string(*format)) : "none";
}

std::string shape_text(const bench_shape& shape) {
  auto text = "hidden " + std::to_string(shape.hidden_size) + ", top-" + std::to_string(shape.top_k) + " of " +
              std::to_string(shape.num_experts) + ", " +
              std::string(shape.dispatch_format ? to_string(*shape.dispatch_format) : to_string(shape.dtype));
  if (shape.low_precision_combine != low_precision::none) {
    text += ", combine " + std::string(to_string(shape.low_precision_combine));
  }
  return text;
}

nlohmann::ordered_json to_json(const bench_shape& shape) {
  nlohmann::ordered_json json;
  json["hidden_size"] = shape.hidden_size;
  json["top_k"] = shape.top_k;
  json["num_experts"] = shape.num_experts;
  json["dtype"] = to_string(shape.dtype);
  json["dispatch_format"] =
      shape.dispatch_format ? nlohmann::ordered_json(to_string(*shape.dispatch_format)) : nlohmann::ordered_json();
  json["low_precision_combine"] = to_string(shape.low_precision_combine);
  return json;
}

bench_shape bench_shape_from(const nlohmann::json& json) {
  const auto word = [&](const char* key) { return json.at(key).get<std::string>(); };
  bench_shape shape;
  shape.hidden_size = json.at("hidden_size").get<std::int64_t>();
  shape.top_k = json.at("top_k").get<std::int64_t>();
  shape.num_experts = json.at("num_experts").get<std::int64_t>();
  shape.dtype = known(dtype_from_string(word("dtype")), word("dtype"));
  if (!json.at("dispatch_format").is_null()) {
    shape.dispatch_format = known(dispatch_format_from_string(word("dispatch_format")), word("dispatch_format"));
  }
  shape.low_precision_combine =
      known(low_precision_from_string(word("low_precision_combine")), word("low_precision_combine"));
  return shape;
}

}  // namespace switchyard::harness
