// Names of backends: NAME[:REST].
#include <array>

#include "fuzz.hpp"
#include "tutti/backend_spec.hpp"
#include "tutti/error.hpp"

namespace tutti::fuzz {

namespace {

constexpr std::array<std::string_view, 8> kSeeds = {"auto", "native",          "mpi-openmpi", "mpi:mpich",
                                                    "ccl",  "outer:mpi:intel", "a_b:c-9",     ""};
constexpr std::array<std::string_view, 14> kWords = {":",   "-", "_",    "::", "auto", "native", "mpi",
                                                     "ccl", " ", "\x7f", "\n", "A",    "\xff",   "\xc3\xa9"};

}  // namespace

const Material material = {kSeeds, kWords};

void try_input(std::string_view input) {
  try {
    const BackendSpec spec = parse_backend_spec(input);
    require(parse_backend_spec(spec.text()) == spec, "a spec parses to another one when it is printed");
    require(spec.text().size() == input.size(), "a spec has lost a part");
    require(!spec.name.empty() && spec.name.find_first_of(":-") == std::string::npos, "the name is not one word");
    if (!spec.rest.empty()) (void)parse_backend_spec(spec.rest);
  } catch (const Error& error) {
    require(error.code() == ErrorCode::config, "the error has another code than config");
    require_printable(error.what());
  }
}

}  // namespace tutti::fuzz
