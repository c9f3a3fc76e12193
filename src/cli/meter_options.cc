#include "cli/meter_options.h"

namespace assay {

namespace {

constexpr const char* group = "Energy";

}  // namespace

void add_meter_options(CLI::App& command, EnergyRequest& request) {
  static const std::map<std::string, MeterUnit> units = {
      {"header", MeterUnit::by_header}, {"watts", MeterUnit::watts}, {"joules", MeterUnit::joules}};
  command
      .add_option("--meter", request.meters.name, "auto (default), none, or a name: rapl, rapl-psys, battery-BAT0, ...")
      ->group(group);
  command
      .add_option("--meter-command", request.meters.command,
                  "a program that prints lines of seconds and watts, or seconds and joules")
      ->group(group);
  add_choice(command, "--meter-unit", request.meters.unit, units, "what those lines hold (default: its header says)")
      ->group(group);
  command
      .add_option("--meter-url", request.meters.url, "a power plug in this network: Shelly or Tasmota, JSON by http")
      ->group(group);
  command.add_option("--price", request.price_per_kwh, "of a kWh, in your currency")
      ->check(between(0, 1e6))
      ->group(group);
  command.add_option("--carbon", request.carbon_g_per_kwh, "grams of CO2 a kWh")->check(between(0, 1e6))->group(group);
}

void add_energy_window_options(CLI::App& command, EnergyRequest& request) {
  command
      .add_option("--energy-uncertainty", request.uncertainty,
                  "share that energy windows are made long enough for (default: 20 updates of the meter, about 0.05)")
      ->check(between(1e-4, 1.0))
      ->group(group);
  command
      .add_option("--cool-down", request.cool_down_s,
                  "seconds of rest before windows that are for energy alone (default 1)")
      ->check(between(0, 3600))
      ->group(group);
}

}  // namespace assay
