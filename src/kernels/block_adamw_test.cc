#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "hardware/machine.h"
#include "kernels/contract_cases.h"
#include "kernels/cuda/on_host/on_host.h"
#include "tensor/dynamic_map.h"

namespace assay {
namespace {

/// A parameter with its moments in codes, and the call that updates it in place.
struct CodedParameter {
  std::vector<float> weights, gradient, m_scale, v_scale;
  std::vector<std::uint8_t> m, v;
  Call call;

  CodedParameter(std::vector<float> start, std::int64_t block) : weights(std::move(start)), gradient(weights.size()) {
    const auto count = static_cast<std::int64_t>(weights.size());
    m.resize(weights.size());
    v.resize(weights.size());
    m_scale.resize(static_cast<std::size_t>((count + block - 1) / block));
    v_scale.resize(m_scale.size());
    const Argument floats = contract::dense(DType::f32, {count});
    const Argument codes = contract::dense(DType::u8, {count});
    const Argument scales = contract::dense(DType::f32, {static_cast<std::int64_t>(m_scale.size())});
    call.operation = &op::block_adamw;
    call.inputs = {floats,
                   floats,
                   codes,
                   codes,
                   scales,
                   scales,
                   contract::dense(DType::f32, {4}),
                   contract::dense(DType::s32, {2})};
    call.outputs = {floats, codes, codes, scales, scales, contract::dense(DType::s32, {1})};
    call.attributes.width = block;
    call.threads = 2;
  }

  void update(const Backend& backend, const MachineFacts& facts, const float (&hyper)[4]) {
    Offer offer = prepare(backend, call, facts);
    Prepared& prepared = std::get<Prepared>(offer);
    std::vector<std::byte> workspace(prepared.workspace_bytes);
    const std::int32_t seed[2] = {};
    std::int32_t lost = 0;
    const auto bytes = [](auto& data) { return reinterpret_cast<std::byte*>(std::data(data)); };
    const std::byte* inputs[] = {bytes(weights),
                                 bytes(gradient),
                                 bytes(m),
                                 bytes(v),
                                 bytes(m_scale),
                                 bytes(v_scale),
                                 reinterpret_cast<const std::byte*>(hyper),
                                 reinterpret_cast<const std::byte*>(seed)};
    std::byte* outputs[] = {bytes(weights), bytes(m),       bytes(v),
                            bytes(m_scale), bytes(v_scale), reinterpret_cast<std::byte*>(&lost)};
    prepared.kernel->run({inputs, outputs, workspace.data()});
  }
};

const Backend* const every_backend[] = {&reference_backend(), &cpu_backend(), &cuda_on_host_backend()};

/// tools/generate_optimizer_fixture.py: bitsandbytes' kernel by its definition, in numpy. A code may be the neighbour
/// where f32 and f64 see a value on two sides of a middle; the next step would carry that on, so that few may.
TEST(BlockAdamw, UpdatesAsBitsandbytesDefinesIt) {
  const std::string path = ASSAY_SOURCE_DIR "/tests/fixtures/block_adamw.json";
  const Json steps = parse_json(read_file(path), path).at("steps");
  const auto number = [&](const char* key) { return steps.at(key).get<double>(); };
  for (const Backend* backend : every_backend) {
    CodedParameter mine(steps.at("start").get<std::vector<float>>(), steps.at("block").get<std::int64_t>());
    mine.call.attributes.beta1 = number("beta1");
    mine.call.attributes.beta2 = number("beta2");
    mine.call.attributes.epsilon = number("eps");
    mine.call.attributes.weight_decay = number("weight_decay");
    double t = 0;
    for (const Json& gradient : steps.at("gradients")) {
      mine.gradient = gradient.get<std::vector<float>>();
      ++t;
      const float hyper[] = {static_cast<float>(number("lr")), static_cast<float>(1 - std::pow(number("beta1"), t)),
                             static_cast<float>(1 - std::pow(number("beta2"), t)), 1};
      mine.update(*backend, read_machine_facts(), hyper);
    }
    int other_codes = 0;
    for (std::size_t i = 0; i < mine.weights.size(); ++i) {
      EXPECT_NEAR(mine.weights[i], steps.at("w").at(i).get<double>(), 1e-4) << backend->name << " " << i;
      EXPECT_LE(std::abs(mine.m[i] - steps.at("m").at(i).get<int>()), 1) << backend->name << " " << i;
      EXPECT_LE(std::abs(mine.v[i] - steps.at("v").at(i).get<int>()), 1) << backend->name << " " << i;
      other_codes += mine.m[i] != steps.at("m").at(i).get<int>() ? 1 : 0;
      other_codes += mine.v[i] != steps.at("v").at(i).get<int>() ? 1 : 0;
    }
    EXPECT_LE(other_codes, 3) << backend->name;
    for (std::size_t b = 0; b < mine.m_scale.size(); ++b) {
      EXPECT_NEAR(mine.m_scale[b] / steps.at("m_scale").at(b).get<double>(), 1, 1e-2) << backend->name;
      EXPECT_NEAR(mine.v_scale[b] / steps.at("v_scale").at(b).get<double>(), 1, 1e-2) << backend->name;
    }
  }
}

/// What is not finite is seen in the scale, and in it alone: codes know no NaN. Other blocks are as they were.
TEST(BlockAdamw, ABlockThatIsNotFiniteGetsTheScaleNan) {
  for (const Backend* backend : every_backend) {
    CodedParameter mine(std::vector<float>(600, 1.0F), 256);
    mine.call.attributes.beta1 = 0.9;
    mine.call.attributes.beta2 = 0.99;
    std::fill(mine.gradient.begin(), mine.gradient.end(), 0.25F);
    mine.gradient[300] = std::numeric_limits<float>::infinity();
    mine.update(*backend, read_machine_facts(), {0.01F, 0.1F, 0.01F, 1});
    EXPECT_TRUE(std::isnan(mine.m_scale[1]) && std::isnan(mine.v_scale[1])) << backend->name;
    for (const std::size_t block : {0, 2}) {
      EXPECT_NEAR(mine.m_scale[block], 0.025, 1e-6) << backend->name;
      EXPECT_NEAR(mine.v_scale[block], 0.000625, 1e-8) << backend->name;
    }
    EXPECT_EQ(mine.m[0], 255) << "the largest of its block is 1 times the scale";
    EXPECT_EQ(mine.v[599], 255);
  }
}

}  // namespace
}  // namespace assay
