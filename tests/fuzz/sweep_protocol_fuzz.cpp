// Lines that the ranks of a sweep send to the command.
#include <array>
#include <string>

#include "fuzz.hpp"
#include "sweep/protocol.hpp"

namespace tutti::fuzz {

namespace {

using namespace tutti::tools;

constexpr std::array<std::string_view, 13> kSeeds = {"rank 3 host",
                                                     "setting 0 CCL_ATL=mpi",
                                                     "begin 7",
                                                     "alive 7",
                                                     "note 7 copies",
                                                     "observed 7 1.5 2e3",
                                                     "device 7 1 2.5 0",
                                                     "ok 7 1.5 2.5",
                                                     "wrong 7 element 5 is 3",
                                                     "failed rank 1 died",
                                                     "failed",
                                                     "ok 18446744073709551615",
                                                     ""};
constexpr std::array<std::string_view, 18> kWords = {
    "rank", "setting", "begin",  "alive", "note", "observed", "device",
    "ok",   "wrong",   "failed", " ",     "  ",   "0",        "18446744073709551616",
    "nan",  "1e999",   "\n",     "\xff"};

}  // namespace

const Material material = {kSeeds, kWords};

void try_input(std::string_view input) {
  const auto message = decode(input);
  if (!message) return;
  require(message->text.size() <= input.size() && input.ends_with(message->text),
          "the text is not the end of the line");
  const std::string line = encode(*message);  // outlives the message, which refers to it
  const auto again = decode(line);
  require(again && again->word == message->word && again->number == message->number && again->text == message->text,
          "a message decodes to another one when it is encoded");
}

}  // namespace tutti::fuzz
