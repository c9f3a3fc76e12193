#include "formats/fuzzing.h"
#include "text/jinja/render.h"

/// Any bytes as a template are refused by one line or give a text, in bounded steps.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return assay::expect_sound_or_refused(data, size, [](std::span<const std::byte> bytes) {
    const std::string_view source(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const std::string name = "fuzz";
    assay::jinja::RenderOptions options;
    options.budget = {.steps = 100'000, .text_bytes = std::size_t{1} << 20};
    const assay::jinja::Site site{name, 1, options.budget};
    const auto text = [&](const char* of) { return assay::jinja::of_text(site, of); };
    const assay::jinja::Value message =
        assay::jinja::of_members(site, {{"role", text("user")}, {"content", text("é a\n")}});
    options.variables = {{"messages", assay::jinja::of_items(site, {message, message})},
                         {"bos_token", text("<s>")},
                         {"add_generation_prompt", {true}}};
    const std::string made = assay::jinja::render(source, name, options);
    assay::touch(std::as_bytes(std::span(made.data(), made.size())));
  });
}
