#include "command_line.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "usage_error.hpp"

namespace tutti::tools {
namespace {

class CommandLine : public testing::Test {
 protected:
  CommandLine() {
    CLI::App& command = add_command(*tutti_, {.name = "run", .summary = "runs", .usage = "u", .description = "d"});
    command.prefix_command();
    add_number(command, "-n,--number", number_, 1, 9, "help");
    add_value(command, "-v,--value", "TEXT", "help", [this](const std::string& text) {
      if (text == "bad") throw UsageError("accepted: good");
      values_.push_back(text);
    });
    command.add_flag("--quiet", quiet_, "help");
    command.callback([this, &command] { rest_ = command.remaining(); });
    add_command(*tutti_, {.name = "info", .summary = "informs", .usage = "u", .description = "d"});
    add_internal_command(*tutti_, "run-rank");
  }

  void read(std::vector<std::string> words) { parse(*tutti_, std::move(words), invocation_); }

  void expect_problem(const std::vector<std::string>& words, const std::string& part) {
    try {
      read(words);
      ADD_FAILURE() << "the words were accepted; expected an error with " << part;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
          << "\"" << part << "\" is not in: " << error.what();
    }
  }

  using Words = std::vector<std::string>;
  std::unique_ptr<CLI::App> tutti_ = make_command_line();
  Invocation invocation_;
  int number_ = 0;
  bool quiet_ = false;
  Words values_;
  Words rest_;
};

TEST_F(CommandLine, ReadsEverySpelling) {
  read({"run", "-n", "4", "--value=a", "-vb", "--value", "-c", "--quiet", "-n5"});
  EXPECT_EQ(number_, 5);
  EXPECT_EQ(values_, (Words{"a", "b", "-c"}));
  EXPECT_TRUE(quiet_);
  EXPECT_TRUE(rest_.empty());
}

TEST_F(CommandLine, LeavesTheProgramAlone) {
  const Words program = {"app", "-n", "7", "--", "[1,2]", "", "{x}", "--help", "++", "info"};
  Words words = {"run", "-n", "4", "--"};
  words.insert(words.end(), program.begin(), program.end());
  read(words);
  EXPECT_EQ(invocation_.program, program);
  EXPECT_EQ(number_, 4);
  EXPECT_TRUE(rest_.empty());
}

TEST_F(CommandLine, TheProgramMayBeginWithoutAMark) {
  read({"run", "-n", "4", "info", "-n", "7", "--help", "[1,2]"});
  EXPECT_EQ(rest_, (Words{"info", "-n", "7", "--help", "[1,2]"}));
  EXPECT_EQ(number_, 4);
}

TEST_F(CommandLine, MistakesNameWhatIsAccepted) {
  expect_problem({"run", "-n", "10"}, "--number: Value 10 not in range");
  expect_problem({"run", "-n", "10"}, "9");
  expect_problem({"run", "-n", "2.5"}, "9");
  expect_problem({"run", "-n"}, "--number");
  expect_problem({"run", "--value", "bad"}, "--value: accepted: good");
  expect_problem({"info", "--jsno"}, "unknown option --jsno");
  expect_problem({"info", "--hepl=3"}, "did you mean --help?");
  expect_problem({"info", "extra"}, "info: unexpected argument \"extra\"");
  expect_problem({"info", "--", "x"}, "tutti run");
  expect_problem({"inof"}, "did you mean \"tutti info\"?");
  expect_problem({"frobnicate"}, "unknown command \"frobnicate\"; accepted: run, info");
  expect_problem({"--verison"}, "did you mean --version?");
}

TEST_F(CommandLine, HelpShowsWhatIsForPeople) {
  const std::string general = tutti_->help();
  EXPECT_NE(general.find("  info  informs\n"), std::string::npos) << general;
  EXPECT_EQ(general.find("run-rank"), std::string::npos) << general;
  const std::string text = tutti_->get_subcommand("run")->help();
  EXPECT_EQ(text,
            "usage: u\n\nd\n\nOptions:\n"
            "  -n, --number N    help\n"
            "  -v, --value TEXT  help\n"
            "  --quiet           help\n"
            "  -h, --help        Show this text.\n\n");
}

}  // namespace
}  // namespace tutti::tools
