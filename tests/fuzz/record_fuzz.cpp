// Records of a job's communication, and the parts that ranks leave.
#include <array>
#include <string>

#include "fuzz.hpp"
#include "record/record_check.hpp"
#include "record/record_printer.hpp"
#include "record/record_reader.hpp"
#include "tutti/error.hpp"

namespace tutti::fuzz {

namespace {

constexpr std::array<std::string_view, 4> kSeeds = {
    "tutti-record 1\nranks 2\ncommunicator 1 ranks=1,0 name=\"x y\"\ndefine 1 allreduce 4 float32 sum\nsequence 0-1 "
    "events=3\n#1 +1.5,2 =3\nrepeat 2\n#1\nend\n",
    "tutti-record 1\nranks any\nsequence all\nallreduce 8 int32 max async label=\"a\\x0a\" +3ms\nwait all =1\n",
    "tutti-record 1\nranks 3\nsequence 0\ngroup async\nsend 3 int8 to=1 tag=4\nalltoallv int8 in=1x3 "
    "out=1x3\nend\nwait "
    "0\nsequence 1-2\nbarrier\nreduce_scatterv 2 float8_e5m2 average in_place in=2x3\n",
    "tutti-record 1\npart rank=0 of=2\ncommunicator 3 key=ab rank=0 size=2 name=\"w\"\ndefine 1 barrier comm=3\n#1 +1 "
    "=2\nfinished\n"};
constexpr std::array<std::string_view, 30> kWords = {
    "define", "sequence", "repeat",     "group", "end",   "wait",  "all",   "ranks", "communicator", "part",
    "#1",     "+",        "=",          "-",     "\"",    "\\x",   "\n",    " ",     "comm=",        "out=1x",
    "x",      ",",        "4294967296", "65535", "1e308", "async", "tag=1", "root=", "label=",       "events="};

void try_record(std::string_view input) {
  const replay::JobRecord record = replay::read_record(input, "input");
  const std::string text = replay::to_text(record);
  require(replay::to_text(replay::read_record(text, "printed")) == text,
          "a record is another one after it was printed");
  // Bounded: a small file may stand for a billion events.
  std::uint64_t repeats = 1;
  for (const replay::Sequence& sequence : record.sequences) {
    for (const replay::Event& event : sequence.events) {
      if (event.kind == replay::EventKind::repeat) repeats *= std::min<std::uint64_t>(event.value, 1000);
    }
  }
  if (repeats <= 1000 && record.ranks <= 16) (void)replay::check(record, record.ranks == 0 ? 2 : 0);
}

}  // namespace

const Material material = {kSeeds, kWords};

void try_input(std::string_view input) {
  expect_value_or<Error>([&] { try_record(input); });
  expect_value_or<Error>([&] { (void)replay::read_part(input, "input"); });
}

}  // namespace tutti::fuzz
