#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "session/recorder.hpp"

/// A program for the tests of `tutti prof`: records calls by itself, as a source would.
/// prof_program CALLS [--wait FILE] [--exit CODE] [--kill SIGNAL] [--print TEXT]
namespace {

using namespace tutti::profiling;

int number(const char* text) {
  int value = 0;
  std::from_chars(text, text + std::strlen(text), value);
  return value;
}

struct Names {
  SourceId source = add_source("BACKEND_TEST", 11);
  NameId work = intern("work");
  NameId tick = intern("tick");
  NameId allreduce = intern("allreduce");
};

void add(const Names& names, Kind kind, NameId name, std::uint64_t bytes) {
  if (!is_recording()) return;
  const std::uint64_t now = now_ns();
  ContextId context = 0;
  if (kind == Kind::operation)
    context = add_context({.operation = "allreduce", .type = "float32", .backend = "test", .bytes = bytes, .ranks = 2});
  record({.kind = kind,
          .source = names.source,
          .name = name,
          .context = context,
          .begin_ns = now,
          .end_ns = now + 1000,
          .bytes = bytes});
}

// Records a call now and then until the file exists, so that whoever starts the recording late sees some.
void tick_until(const Names& names, const char* file) {
  std::puts("ready");
  std::fflush(stdout);
  while (access(file, F_OK) != 0) {
    add(names, Kind::host, names.tick, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

int main(int count, char** words) {
  const Names names;
  const int calls = count > 1 ? number(words[1]) : 0;
  for (int i = 0; i < calls; ++i) add(names, Kind::host, names.work, 8);
  if (calls > 0) {
    for (const std::uint64_t bytes : {1024, 1048576}) add(names, Kind::operation, names.allreduce, bytes);
  }
  int code = 0;
  for (int i = 2; i + 1 < count; i += 2) {
    const std::string_view option = words[i];
    const char* const value = words[i + 1];
    if (option == "--wait") tick_until(names, value);
    if (option == "--print") std::fputs(value, stdout);
    if (option == "--exit") code = number(value);
    if (option == "--kill") kill(getpid(), number(value));
  }
  return code;
}
