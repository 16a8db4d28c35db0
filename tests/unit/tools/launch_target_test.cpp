#include "launch/launch_target.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "support/system/temporary_folder.hpp"
#include "tutti/info.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kRoot = "TUTTI_TEST_BLUE_ROOT";

spi::Probe usable(const spi::ProbeContext&) { return {.usable = true, .version = "Plain 1.2"}; }
spi::Probe unusable(const spi::ProbeContext&) { return {.reason = "no library"}; }

bool prints_blue(std::string_view text) { return text.find("Blue") != std::string_view::npos; }
bool prints_red(std::string_view text) { return text.find("Red") != std::string_view::npos; }

Words command(const spi::LaunchRequest& request) {
  return {request.program, request.version, std::to_string(request.ranks)};
}

std::vector<spi::LaunchVariable> variables(const spi::LaunchRequest& request) {
  return {{"BLUE_RANKS", std::to_string(request.ranks)}, {"LD_LIBRARY_PATH", request.root + "/lib", true}};
}

constexpr std::array<std::string_view, 1> kPrograms = {"no-such-launcher-anywhere"};
constexpr std::array<std::string_view, 2> kColours = {"red", "blue"};
constexpr std::array<spi::Launcher, 2> kLaunchers = {{{.product = "red",
                                                       .title = "Red MPI",
                                                       .programs = kPrograms,
                                                       .rank_variable = "RED_RANK",
                                                       .identifies = prints_red,
                                                       .command = command},
                                                      {.product = "blue",
                                                       .title = "Blue MPI",
                                                       .programs = kPrograms,
                                                       .rank_variable = "BLUE_RANK",
                                                       .root_variable = kRoot,
                                                       .root_program = "bin/start",
                                                       .identifies = prints_blue,
                                                       .command = command,
                                                       .variables = variables}}};

constexpr spi::BackendModule kPlain = {.name = "plain", .probe = usable};
constexpr spi::BackendModule kAbsent = {.name = "absent", .launched_through = "many:blue", .probe = unusable};
constexpr spi::BackendModule kGuest = {.name = "guest", .launched_through = "many:blue", .probe = usable};
constexpr spi::BackendModule kMany = {.name = "many",
                                      .variant = "colours",
                                      .products = kColours,
                                      .launchers = kLaunchers,
                                      .probe = unusable};  // outside a job
constexpr spi::BackendModule kNest = {.name = "nest", .nests = true, .probe = usable};

std::vector<BackendInfo> modules() {
  std::vector<BackendInfo> all;
  BackendInfo broken;
  broken.name = "many";
  broken.variant = "old";
  broken.location = "/lib/old.so";
  broken.reason = "was built for another interface";
  all.push_back(broken);
  for (const spi::BackendModule* module : {&kNest, &kMany, &kPlain, &kGuest, &kAbsent}) {
    BackendInfo info;
    info.name = module->name;
    info.variant = module->variant;
    info.module = module;
    all.push_back(info);
  }
  return all;
}

/// The launcher of "many:blue" exists as long as the object.
class BlueLauncher {
 public:
  explicit BlueLauncher(const std::string& output = "Blue 3.4.5") {
    path_ = folder_.add("bin/start", "#!/bin/sh\necho " + output + "\n");
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
    setenv(kRoot, folder_.path().c_str(), 1);
  }
  ~BlueLauncher() { unsetenv(kRoot); }
  BlueLauncher(const BlueLauncher&) = delete;
  BlueLauncher& operator=(const BlueLauncher&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string root() const { return folder_.path().string(); }

 private:
  test::TemporaryFolder folder_;
  std::string path_;
};

std::string refusal_of(std::string_view text) {
  try {
    (void)find_launch_target(text, modules());
    return "accepted";
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(LaunchTarget, BackendsOfTuttiComeFirstAndUnloadedFilesLast) {
  Words specs;
  for (const LaunchTarget& target : launch_targets(modules())) specs.push_back(target.shown());
  EXPECT_EQ(specs, (Words{"plain", "guest", "absent", "many:red", "many:blue", "nest[:SPEC]", "many:old"}));
  EXPECT_EQ(accepted_specs(modules()), "plain, guest, absent, many:red, many:blue, nest[:SPEC], many:old, many");
}

TEST(LaunchTarget, BackendWithoutALauncherIsStartedByTutti) {
  const LaunchTarget plain = find_launch_target("plain", modules());
  EXPECT_TRUE(plain.usable);
  EXPECT_EQ(plain.launcher, nullptr);
  EXPECT_EQ(plain.version, "Plain 1.2");
  EXPECT_EQ(launcher_command(plain, 2), Words{});
  const LaunchTarget absent = find_launch_target("absent", modules());
  EXPECT_FALSE(absent.usable);
  EXPECT_EQ(absent.reason, "no library");
  EXPECT_EQ(absent.version, "");
}

TEST(LaunchTarget, LauncherIsFoundInItsFolderAndIdentified) {
  const BlueLauncher blue;
  for (const char* text : {"many:blue", "many-blue", "many"}) {
    const LaunchTarget target = find_launch_target(text, modules());
    ASSERT_TRUE(target.usable) << target.reason;
    EXPECT_EQ(target.spec, "many:blue");
    EXPECT_EQ(target.module, &kMany);
    EXPECT_EQ(target.launcher, &kLaunchers[1]);
    EXPECT_EQ(target.root, blue.root());
    EXPECT_EQ(target.version, "3.4.5");
    EXPECT_EQ(launcher_command(target, 3), (Words{blue.path(), "3.4.5", "3"}));
  }
}

TEST(LaunchTarget, ReasonsNameTheMissingLauncher) {
  const std::string blue = find_launch_target("many:blue", modules()).reason;
  EXPECT_EQ(blue,
            "no launcher of Blue MPI found (looked for no-such-launcher-anywhere); set TUTTI_TEST_BLUE_ROOT to its "
            "folder");
  const LaunchTarget many = find_launch_target("many", modules());
  EXPECT_FALSE(many.usable);
  EXPECT_EQ(many.spec, "many");
  EXPECT_NE(many.reason.find("many:red: no launcher of Red MPI found"), std::string::npos) << many.reason;
  EXPECT_NE(many.reason.find("many:blue: " + blue), std::string::npos) << many.reason;
  const BlueLauncher green("Green 1.0");
  EXPECT_FALSE(find_launch_target("many:blue", modules()).usable) << "another launcher is in the folder";
}

TEST(LaunchTarget, ModuleThatCouldNotBeLoadedIsNotUsable) {
  const LaunchTarget target = find_launch_target("many:old", modules());
  EXPECT_FALSE(target.usable);
  EXPECT_EQ(target.reason, "/lib/old.so was built for another interface");
}

TEST(LaunchTarget, LauncherOfAnotherModuleStartsTheRanksIfItIsUsable) {
  const LaunchTarget alone = find_launch_target("guest", modules());
  EXPECT_TRUE(alone.usable);
  EXPECT_EQ(alone.launcher, nullptr);
  const BlueLauncher blue;
  const LaunchTarget target = find_launch_target("guest", modules());
  EXPECT_TRUE(target.usable);
  EXPECT_EQ(target.spec, "guest");
  EXPECT_EQ(target.module, &kGuest);
  EXPECT_EQ(target.launcher, &kLaunchers[1]);
  EXPECT_EQ(target.version, "Plain 1.2") << "the version of the library that carries the data";
  EXPECT_EQ(launcher_command(target, 2), (Words{blue.path(), "3.4.5", "2"}));
  EXPECT_FALSE(find_launch_target("absent", modules()).usable);
}

TEST(LaunchTarget, NestedSpecHasTheLauncherOfItsInnermostPart) {
  const BlueLauncher blue;
  for (const char* text : {"nest:many:blue", "nest-many-blue", "nest:many"}) {
    const LaunchTarget target = find_launch_target(text, modules());
    EXPECT_TRUE(target.usable) << target.reason;
    EXPECT_EQ(target.spec, "nest:many:blue");
    EXPECT_EQ(target.shown(), "nest:many:blue");
    EXPECT_EQ(target.module, &kNest);
    EXPECT_EQ(target.path, blue.path());
  }
  EXPECT_EQ(find_launch_target("nest:nest:guest", modules()).path, blue.path());
  EXPECT_EQ(find_launch_target("nest:nest:guest", modules()).spec, "nest:nest:guest");
  for (const char* text : {"nest", "nest:plain", "nest:auto"}) {
    const LaunchTarget target = find_launch_target(text, modules());
    EXPECT_TRUE(target.usable) << target.reason;
    EXPECT_EQ(target.spec, text);
    EXPECT_EQ(target.launcher, nullptr) << text;
  }
  const LaunchTarget red = find_launch_target("nest:many:red", modules());
  EXPECT_FALSE(red.usable);
  EXPECT_TRUE(red.reason.starts_with("many:red: no launcher of Red MPI")) << red.reason;
}

TEST(LaunchTarget, UnknownBackendIsRefusedWithTheAcceptedOnes) {
  for (const char* text : {"blue", "many:green", "plain:blue", "nest:green", "Many", "", "many:"}) {
    const std::string refusal = refusal_of(text);
    EXPECT_NE(refusal.find("accepted: " + accepted_specs(modules())), std::string::npos) << text << ": " << refusal;
    EXPECT_THROW((void)check_spec(text, modules()), UsageError) << text;
  }
  EXPECT_EQ(check_spec("nest-many-blue", modules()), "nest:many:blue");
  EXPECT_EQ(check_spec("many", modules()), "many");
}

TEST(LaunchTarget, NativeIsBuiltIn) {
  const LaunchTarget native = find_launch_target("native");
  EXPECT_TRUE(native.usable) << native.reason;
  EXPECT_EQ(native.spec, "native");
  EXPECT_EQ(native.launcher, nullptr);
  EXPECT_EQ(native.version, version());
  EXPECT_EQ(LaunchTarget{}.spec, "native");
}

TEST(LaunchTarget, EnvironmentOfAnOuterJobIsRemoved) {
  const BlueLauncher blue;
  ProcessEnvironment environment;
  environment.set("RANK", "3");
  environment.set("PMI_RANK", "3");
  environment.set("OMPI_COMM_WORLD_RANK", "3");
  environment.set("LD_LIBRARY_PATH", "/before");
  prepare_environment(find_launch_target("many:blue", modules()), 4, environment);
  EXPECT_EQ(environment.get("RANK"), "");
  EXPECT_EQ(environment.get("PMI_RANK"), "");
  EXPECT_EQ(environment.get("OMPI_COMM_WORLD_RANK"), "");
  EXPECT_EQ(environment.get("LD_LIBRARY_PATH"), blue.root() + "/lib:/before");
  EXPECT_EQ(environment.get("BLUE_RANKS"), "4");
}

TEST(LaunchTarget, FindsTheVersion) {
  EXPECT_EQ(extract_version("mpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs"), "4.1.4");
  EXPECT_EQ(extract_version("HYDRA build 3 details:\n Version:  4.0.2\n"), "4.0.2");
  EXPECT_EQ(extract_version("none here"), "");
}

}  // namespace
}  // namespace tutti::tools
