#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/mpi/mpi_preload.hpp"
#include "command_line.hpp"
#include "launch/preload_list.hpp"
#include "launch/process.hpp"
#include "text/terminal.hpp"
#include "text/text.hpp"
#include "tutti/config.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

constexpr CommandText kText = {
    .name = "preload",
    .summary = "Run an unmodified program of MPI or NCCL over tutti.",
    .usage = "tutti preload mpi|nccl [options] -- COMMAND [ARGUMENT...]",
    .description =
        "Runs COMMAND, a program or its launcher, with one of tutti's adapters in front of its library. Nothing is "
        "recompiled. With \"mpi\" the collectives that gain are carried out by tutti, all others by MPI. With \"nccl\" "
        "tutti takes the place of NCCL; without CUDA the program runs on host memory.",
    .footer =
        "TUTTI_BACKEND chooses the backend. With mpi, TUTTI_PRELOAD_OPS and TUTTI_PRELOAD_MIN choose what is carried "
        "out,\nand TUTTI_PRELOAD=0 turns the adapter off.\n"
        "\nExamples:\n"
        "  tutti preload mpi -- mpirun -n 2 ./app             in front of a launcher\n"
        "  mpirun -n 2 tutti preload mpi -- ./app             inside it\n"
        "  tutti preload mpi --show -- mpirun -n 2 ./app      with a report of the calls\n"
        "  tutti preload mpi --share -- mpirun -n 2 ./app     with large blocks of memory shared\n"
        "  tutti preload mpi --print mpirun >> job.sh         lines for a job script\n"
        "  tutti preload nccl --show -- torchrun --nproc-per-node 2 train.py\n"};

struct PreloadOptions {
  std::string adapter;
  bool prints = false;
  bool shows = false;
  bool shares_memory = false;
};

/// Names of the adapter's files for a command, in the folder of the modules. Throws UsageError for an adapter that is
/// unknown.
std::vector<std::string> adapter_names(const PreloadOptions& options, const std::string& command,
                                       const ProcessEnvironment& environment) {
  const std::string& adapter = options.adapter;
  if (adapter == "mpi") {
    std::vector<std::string> names = mpi_table::adapter_libraries(mpi_library_of_job(command, environment.get("PATH")));
    if (options.shares_memory) names.emplace_back("libtutti_adapter_share.so");
    return names;
  }
  if (options.shares_memory) throw UsageError("preload: --share is for the adapter mpi");
  if (adapter == "nccl") return {"nccl/libnccl.so.2"};
  throw UsageError(concat("preload: adapter \"", adapter, "\" is unknown; accepted: mpi, nccl"));
}

/// Paths of the files. Throws UsageError for one that was not built.
std::vector<std::string> adapter_files(const std::vector<std::string>& names) {
  std::vector<std::string> files;
  for (const std::string& name : names) {
    files.push_back(concat(module_folder(), '/', name));
    std::error_code ignored;
    if (!std::filesystem::exists(files.back(), ignored))
      throw UsageError(concat("preload: file ", files.back(), " does not exist; it was not built"));
  }
  return files;
}

/// Lines for a script of sh.
std::string script_lines(const std::vector<std::string>& files, const PreloadOptions& options) {
  std::string text = concat("export LD_PRELOAD=", join(files, ":"), "${LD_PRELOAD:+:$LD_PRELOAD}\n",
                            "# Open MPI passes it to other hosts: mpirun -x LD_PRELOAD ...\n");
  if (options.shares_memory) text += "export TUTTI_PRELOAD_SHARE=1\n";
  if (options.shows) text += "export TUTTI_SHOW=1\n";
  return text;
}

[[noreturn]] void execute(const std::vector<std::string>& words, const ProcessEnvironment& environment) {
  const std::string program = find_program(words.front());
  std::vector<std::string> lines = environment.list();
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  std::vector<char*> variables;
  for (std::string& word : copies) arguments.push_back(word.data());
  for (std::string& line : lines) variables.push_back(line.data());
  arguments.push_back(nullptr);
  variables.push_back(nullptr);
  std::signal(SIGPIPE, SIG_DFL);  // which this command ignores
  execve(program.c_str(), arguments.data(), variables.data());
  throw ProgramError(126, concat(program, " cannot be executed: ", std::strerror(errno)));
}

int preload(PreloadOptions options, const std::vector<std::string>& words) {
  ProcessEnvironment environment;
  if (options.adapter == "mpi" && Config().flag("TUTTI_PRELOAD_SHARE")) options.shares_memory = true;
  const std::vector<std::string> names = adapter_names(options, words.empty() ? "mpirun" : words.front(), environment);
  if (words.empty() && !options.prints)
    throw UsageError(concat("preload: the command is missing; use tutti preload ", options.adapter, " -- COMMAND"));
  const std::vector<std::string> files = adapter_files(names);
  if (options.prints) {
    write_result(script_lines(files, options));
    return 0;
  }
  prepend_preloads(files, environment);
  if (options.shows) environment.set("TUTTI_SHOW", "1");
  if (options.shares_memory) environment.set("TUTTI_PRELOAD_SHARE", "1");
  // mpirun of Open MPI gives ranks on other hosts only what it is told to.
  if (environment.get("OMPI_MCA_mca_base_env_list").empty())
    environment.set("OMPI_MCA_mca_base_env_list", "LD_PRELOAD");
  execute(words, environment);
}

}  // namespace

void add_preload_command(CLI::App& tutti, Invocation& invocation) {
  CLI::App& command = add_command(tutti, kText);
  command.prefix_command();
  const auto options = std::make_shared<PreloadOptions>();
  command.add_option("ADAPTER", options->adapter, "Library that the program uses: mpi or nccl.")->required();
  command.add_flag("--print", options->prints, "Print the lines for a job script instead of running a command.");
  command.add_flag("--show", options->shows, "At the end print the calls that tutti carried out (TUTTI_SHOW=1).");
  command.add_flag("--share", options->shares_memory,
                   "With mpi: put large blocks of the program's memory into memory that the ranks share "
                   "(TUTTI_PRELOAD_SHARE=1), for large reductions in one pass.");
  command.callback([&command, &invocation, options] {
    invocation.exit_code = preload(*options, program_words(command, invocation));
  });
}

}  // namespace tutti::tools
