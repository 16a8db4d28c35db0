#include "command_line.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "launch/launch_target.hpp"
#include "text/table.hpp"
#include "text/terminal.hpp"
#include "text/text.hpp"
#include "tutti/info.hpp"
#include "tutti/spi/printable.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

// Of what the user wrote, in a message.
constexpr std::size_t kLongestWord = 200;
constexpr std::size_t kLongestMessage = 1500;

// CLI11 marks the negative name of a flag: "--no-color{false}".
std::string option_names(const CLI::Option& option) {
  std::vector<std::string> names = split(option.get_name(false, true), ',');
  for (std::string& name : names) name = name.substr(0, name.find('{'));
  return join(names, ", ");
}

// "-n, --ranks N". CLI11 appends the accepted range to the type name for its error messages; the help omits it.
std::string left_column(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.empty() ? option_names(option) : concat(option_names(option), ' ', type.substr(0, type.find(':')));
}

std::vector<const CLI::App*> public_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::string section(const std::string& title, const Table& table) {
  const Terminal terminal(STDOUT_FILENO);
  return concat('\n', title, ":\n", table.render(terminal, terminal.columns()));
}

const CLI::App& called(const CLI::App& tutti) {
  const std::vector<CLI::App*> commands = tutti.get_subcommands();
  return commands.empty() ? tutti : *commands.front();
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string /*name*/, CLI::AppFormatMode /*mode*/) const {
  std::string out = concat("usage: ", usage_, "\n\n");
  for (const std::string& line : wrap(description_, Terminal(STDOUT_FILENO).columns())) out += line + "\n";
  if (const auto commands = public_commands(*app); !commands.empty()) {
    Table table({{""}, {""}});
    for (const CLI::App* command : commands) table.add({command->get_name(), command->get_description()});
    out += section("Commands", table);
  }
  Table table({{""}, {""}});
  const CLI::Option* help = app->get_help_ptr();
  for (const CLI::Option* option : app->get_options()) {
    if (option != help) table.add({left_column(*option), option->get_description()});
  }
  table.add({left_column(*help), help->get_description()});
  return concat(out, section("Options", table), '\n', app->get_footer());
}

std::unique_ptr<CLI::App> make_command_line() {
  auto tutti = std::make_unique<CLI::App>("", "tutti");
  tutti->set_help_flag("-h,--help", "Show this text.");
  tutti->set_version_flag("--version", concat("tutti ", version()), "Show the version.");
  tutti->require_subcommand(0, 1);
  tutti->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  tutti->formatter(std::make_shared<HelpFormatter>(
      "tutti COMMAND [options]",
      concat("tutti ", version(),
             ": one interface for collective communication over MPI, oneCCL, NCCL or tutti's own engine.")));
  tutti->footer(
      "Run tutti COMMAND --help for the options of a command.\n"
      "\nExamples:\n"
      "  tutti run -n 4 -- ./app                start 4 ranks of ./app on this machine\n"
      "  tutti run -n 4 --backend mpi -- ./app  start them with an installed MPI\n"
      "  tutti sweep                            compare the speed of all usable backends\n"
      "  tutti topo                             show devices, links, and the device of each rank\n"
      "  tutti info --config                    list all settings with their values and sources\n"
      "\nExit codes:\n"
      "  0 success   1 failure   2 invalid command line   130 interrupted by Ctrl-C\n"
      "  tutti run exits with the code of the first rank that fails; see tutti run --help.\n");
  return tutti;
}

CLI::App& add_command(CLI::App& tutti, const CommandText& text) {
  CLI::App& command = *tutti.add_subcommand(std::string(text.name), std::string(text.summary));
  command.formatter(std::make_shared<HelpFormatter>(std::string(text.usage), std::string(text.description)));
  command.footer(std::string(text.footer));
  return command;
}

void list_backends_in_help(CLI::App& command) {
  // Called only for the help, because modules must be loaded for it.
  command.footer([]() -> std::string {
    std::string out = "Backends:\n";
    for (const std::string& line : wrap(accepted_specs(), Terminal(STDOUT_FILENO).columns() - 2))
      out += concat("  ", line, '\n');
    return out;
  });
}

CLI::App& add_internal_command(CLI::App& tutti, const std::string& name) {
  return *tutti.add_subcommand(name)->group("");
}

CLI::Option& add_value(CLI::App& app, const std::string& names, const std::string& placeholder, const std::string& help,
                       std::function<void(const std::string&)> set) {
  const std::function<void(const std::string&)> store = [names, set = std::move(set)](const std::string& text) {
    try {
      set(text);
    } catch (const std::exception& error) {
      throw CLI::ValidationError(names, error.what());
    }
  };
  return *app.add_option_function(names, store, help)->type_name(placeholder)->trigger_on_parse();
}

void refuse_word(const CLI::App& app, const std::string& given) {
  const std::string word = spi::printable(given, kLongestWord);
  const bool option = word.starts_with('-');
  std::vector<std::string> known;
  if (option) {
    for (const CLI::Option* candidate : app.get_options()) {
      for (const std::string& name : split(candidate->get_name(false, true), ',')) known.push_back(name);
    }
  } else {
    for (const CLI::App* command : public_commands(app)) known.push_back(command->get_name());
  }
  const std::string name = option ? word.substr(0, word.find('=')) : word;
  const std::string guess(nearest(name, std::vector<std::string_view>(known.begin(), known.end())));
  if (option) throw UsageError(concat("unknown option ", name, guess.empty() ? "" : " (did you mean " + guess + "?)"));
  if (known.empty()) throw UsageError(concat(app.get_name(), ": unexpected argument \"", word, '"'));
  if (word == "test") throw UsageError("tutti has no command \"test\"; run ./tutti test in the source tree");
  throw UsageError(concat("unknown command \"", word, "\"; ",
                          guess.empty() ? "accepted: " + join(known, ", ") : "did you mean \"tutti " + guess + "\"?"));
}

std::vector<std::string> program_words(const CLI::App& command, const Invocation& invocation) {
  std::vector<std::string> program = command.remaining();
  if (!program.empty() && program.front().starts_with('-')) refuse_word(command, program.front());
  if (!program.empty() && !invocation.program.empty()) program.emplace_back("--");
  program.insert(program.end(), invocation.program.begin(), invocation.program.end());
  return program;
}

void parse(CLI::App& tutti, std::vector<std::string> words, Invocation& invocation) {
  if (!words.empty() && words.front() == "help") words.front() = "--help";
  // Keep the program's words away from CLI11, which would split a word such as "[1,2]".
  const auto marker = std::ranges::find(words, "--");
  if (marker != words.end()) {
    constexpr std::array<std::string_view, 5> kStarters = {"run", "run-rank", "prof", "preload", "record"};
    if (std::ranges::find(kStarters, words.front()) == kStarters.end())
      throw UsageError(
          "only \"tutti run\", \"tutti preload\", \"tutti prof\" and \"tutti record\" take a program after \"--\"");
    invocation.program.assign(marker + 1, words.end());
    words.erase(marker, words.end());
  }
  std::ranges::reverse(words);  // CLI11 expects reverse order
  try {
    tutti.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    invocation.exit_code = write_all(STDOUT_FILENO, tutti.help()) ? 0 : kExitFailure;
  } catch (const CLI::CallForVersion& asked) {
    invocation.exit_code = write_all(STDOUT_FILENO, concat(asked.what(), '\n')) ? 0 : kExitFailure;
  } catch (const CLI::ExtrasError&) {
    // Name only the first unknown word: the words after an unknown option may be its value.
    refuse_word(tutti.remaining().empty() ? called(tutti) : tutti, tutti.remaining(true).front());
  } catch (const CLI::ParseError& error) {
    throw UsageError(spi::printable(error.what(), kLongestMessage));
  }
}

}  // namespace tutti::tools
