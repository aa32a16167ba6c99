// SPDX-License-Identifier: Apache-2.0
// `tutti simulate`, run as people run it: figures that can be computed by hand, and bad input.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/temporary_folder.h"
#include "shell.h"

namespace tutti {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Outcome simulate(const std::string& arguments) {
  return shell(std::string(TUTTI_TEST_TOOL) + " simulate " + arguments);
}

nlohmann::json results(const std::string& arguments) {
  const Outcome outcome = simulate(arguments + " --json");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  return nlohmann::json::parse(outcome.output)["results"];
}

class SimulateTest : public ::testing::Test {
 protected:
  std::string scenario(const std::string& text) const {
    return "'" + folder_.write("scenario.toml", text) + "'";
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(SimulateTest, StaticOnEqualDevicesTakesWorkAndStartUp) {
  const auto found =
      results("--devices 1,4 --balancers static --slices 500 --rate 1000 --startup 0.125");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1]["devices"], 4);
  EXPECT_EQ(found[1]["slices"], 2000);
  for (const auto& one : found) {
    EXPECT_DOUBLE_EQ(one["seconds"], 0.625);
    EXPECT_DOUBLE_EQ(one["efficiency"], 0.8);
    EXPECT_EQ(one["packages"], one["devices"]);
    EXPECT_DOUBLE_EQ(one["balance"], 1);
    EXPECT_EQ(one["complete"], true);
  }
}

TEST_F(SimulateTest, AScenarioListsItsDevices) {
  const std::string file = scenario(
      "slices = 100\nbalancers = 'static'\nstartup = 0.0\n"
      "[[device]]\nrate = 100\n"
      "[[device]]\ncount = 2\nrate = 50\nfails_at = 0.25\n");
  const auto found = results(file);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]["devices"], 3);
  // Shares of 150, 75 and 75: both slow devices fail, and the fast one computes for three seconds.
  EXPECT_DOUBLE_EQ(found[0]["seconds"], 3);
  EXPECT_EQ(found[0]["idle_devices"], 2);
  // An option wins over the file.
  EXPECT_EQ(results(file + " --slices 10 --balancers dynamic,sigmoid")[1]["slices"], 30);
}

TEST_F(SimulateTest, ContentPassesTheLinksOfTheHosts) {
  // A hundred slices of each device, a second each; three of four devices are on another host.
  const std::string devices =
      "--devices 4 --hosts 4 --balancers static --slices 100 --rate 100 --startup 0 ";
  EXPECT_DOUBLE_EQ(results(devices)[0]["seconds"], 1);
  EXPECT_EQ(results(devices)[0]["hosts"], 4);
  EXPECT_DOUBLE_EQ(results(devices + "--latency 0.25")[0]["seconds"], 1.5);
  // Each link by itself: 100 slices. The one that all share: 300.
  EXPECT_DOUBLE_EQ(results(devices + "--link 0.01")[0]["seconds"], 2);
  EXPECT_DOUBLE_EQ(results(devices + "--shared-link 0.01")[0]["seconds"], 4);
  EXPECT_DOUBLE_EQ(results(devices + "--link 0.01 --shared-link 0.01")[0]["seconds"], 4);
  // On one host nothing of it counts; on two, two devices share a link.
  const std::string near =
      "--devices 4 --balancers static --slices 100 --rate 100 --startup 0 --link 0.01 ";
  EXPECT_DOUBLE_EQ(results(near + "--latency 1")[0]["seconds"], 1);
  EXPECT_DOUBLE_EQ(results(near + "--hosts 2")[0]["seconds"], 3);
}

TEST_F(SimulateTest, AHostFailsWithAllOfItsDevices) {
  const auto found = results(
      "--devices 4 --hosts 2 --balancers static --slices 100 --rate 100 --startup 0 "
      "--fail-host 1@0.5");
  // What the two of it had is computed by one device: two seconds more.
  EXPECT_DOUBLE_EQ(found[0]["seconds"], 3);
  EXPECT_EQ(found[0]["idle_devices"], 2);
  const std::string file = scenario(
      "slices = 100\nbalancers = 'static'\nstartup = 0.0\nlatency = 0.5\n"
      "[[device]]\nrate = 100\n"
      "[[device]]\nrate = 100\nhost = 7\n");
  EXPECT_DOUBLE_EQ(results(file)[0]["seconds"], 2);
  // Its package has been computed, but nobody has heard of it.
  EXPECT_DOUBLE_EQ(results(file + " --fail-host 7@1.75")[0]["seconds"], 2.75);
}

TEST_F(SimulateTest, TheSameSeedDrawsTheSame) {
  const std::string arguments = "--devices 3 --balancers sigmoid --spread 5 --error 2 --noise 0.5 ";
  const auto once = results(arguments + "--seed 7 --runs 3");
  EXPECT_EQ(once, results(arguments + "--seed 7 --runs 3"));
  EXPECT_NE(once, results(arguments + "--seed 8 --runs 3"));
}

TEST_F(SimulateTest, WhenAllDevicesFailNothingIsComplete) {
  const Outcome outcome = simulate("--devices 1 --balancers sigmoid --fail 0@0.01");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("no device was left"));
}

TEST_F(SimulateTest, TheObjectiveChoosesTheDevices) {
  const std::string file = scenario(
      "slices = 750\nbalancers = 'static'\nstartup = 0.0\n"
      "[[device]]\nrate = 1000\nbusy_watts = 220\nidle_watts = 20\n"
      "[[device]]\nrate = 500\nbusy_watts = 15\nidle_watts = 5\n");
  const auto time = results(file)[0];
  EXPECT_DOUBLE_EQ(time["seconds"], 1);
  EXPECT_DOUBLE_EQ(time["joules"], 235);
  EXPECT_DOUBLE_EQ(time["energy_delay"], 235);
  const auto energy = results(file + " --objective energy")[0];
  EXPECT_DOUBLE_EQ(energy["seconds"], 3);
  EXPECT_DOUBLE_EQ(energy["joules"], 105);
  EXPECT_EQ(energy["idle_devices"], 1);
  EXPECT_EQ(results(file + " --objective edp")[0]["energy_delay"], time["energy_delay"]);
  const Outcome text = simulate(file + " --objective energy");
  EXPECT_THAT(text.output, HasSubstr("EDP, J s"));
  EXPECT_THAT(text.output, HasSubstr(" 105 "));
  EXPECT_THAT(simulate("--devices 2 --balancers static").output, Not(HasSubstr("EDP")));
}

TEST_F(SimulateTest, BadInputIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"--devices 0", "devices '0'"},
      {"--devices 1025", "1 to 1024"},
      {"--devices 2,", "devices ''"},
      {"--balancers voodoo", "unknown balancer 'voodoo'"},
      {"--balancers single", "single does not split"},
      {"--load flat", "regular, middle, ramp"},
      {"--noise 1.5", "noise"},
      {"--spread 0.5", "spread"},
      {"--rate 0", "--rate"},
      {"--startup nan", "--startup"},
      {"--slices 0", "--slices"},
      {"--slices 99999999999", "slices"},
      {"--fail 2@1", "there are 2 devices"},
      {"--fail 0", "DEVICE@SECONDS"},
      {"--fail-host 1@1", "no device is there"},
      {"--fail-host 1", "HOST@SECONDS"},
      {"--devices 2 --hosts 3", "there are 2 devices"},
      {"--hosts 0", "hosts"},
      {"--latency -1", "--latency"},
      {"--link nan", "--link"},
      {"--shared-link -1", "--shared-link"},
      {"--objective joules --busy-watts 1", "there are time, energy, edp"},
      {"--objective energy", "busy_watts"},
      {"--busy-watts -1", "--busy-watts"},
      {"/nonexistent.toml", "/nonexistent.toml"},
  };
  for (const auto& [arguments, says] : cases) {
    const Outcome outcome = simulate(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_THAT(outcome.output, HasSubstr(says)) << arguments;
  }
}

TEST_F(SimulateTest, MistakesInAScenarioAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"slicez = 3\n", "unknown key 'slicez'"},
      {"slices =\n", ":1:"},
      {"slices = 0.5\n", "'slices' must be a whole number"},
      {"device = 3\n", "[[device]] tables"},
      {"[[device]]\nrate = -1\n", "'rate' must be"},
      {"[[device]]\nspeed = 1\n", "unknown key 'speed'"},
      {"[[device]]\ncount = 1025\n", "more than 1024 devices"},
      {"noise = 7\n", "noise"},
      {"hosts = 0\n", "'hosts' must be"},
      {"[[device]]\nhost = 1024\n", "host 1024"},
  };
  for (const auto& [text, says] : cases) {
    const Outcome outcome = simulate(scenario(text));
    EXPECT_EQ(outcome.code, 2) << text;
    EXPECT_THAT(outcome.output, HasSubstr(says)) << text;
  }
  EXPECT_EQ(simulate(scenario("[[device]]\nrate = 1\n") + " --devices 4").code, 2);
}

}  // namespace
}  // namespace tutti
