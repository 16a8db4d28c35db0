#include "sweep/rank/rank_facts.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "tutti/info.hpp"

namespace tutti::tools {
namespace {

TEST(RankFacts, ProcessIsCountedWithItsThreads) {
  const RankProcess before = this_process();
  EXPECT_EQ(before.pid, getpid());
  std::jthread other([](const std::stop_token& stop) {
    while (!stop.stop_requested()) std::this_thread::yield();
  });
  EXPECT_EQ(this_process().threads, before.threads + 1);
  EXPECT_EQ(this_process().host, before.host);
}

TEST(RankFacts, TextAndBack) {
  const RankProcess process{.host = "node1", .pid = 77, .threads = 3};
  EXPECT_EQ(process_from(to_text(process)), process);
  for (const char* text : {"", "node1", "node1 77", "node1 77 x", "node1 77 3 4"})
    EXPECT_FALSE(process_from(text)) << text;
}

TEST(RankFacts, BackendWithoutALibraryIsTheCore) {
  (void)version();  // the core library is loaded
  EXPECT_NE(library_of("native").find("libtutti.so"), std::string::npos) << library_of("native");
  EXPECT_EQ(library_of("no_such:backend"), library_of("native"));
}

TEST(RankFacts, LibraryIsTheInnermostThatIsLoaded) {
  ASSERT_NE(dlopen("libm.so.6", RTLD_NOW), nullptr);
  EXPECT_NE(library_of("c").find("libc"), std::string::npos);
  EXPECT_NE(library_of("c:m").find("libm"), std::string::npos);
  EXPECT_NE(library_of("c:absent").find("libc"), std::string::npos);
}

}  // namespace
}  // namespace tutti::tools
