#include "launch/host_list.hpp"

#include <gtest/gtest.h>

namespace tutti {
namespace {

using Hosts = std::vector<std::string>;

TEST(HostList, PlainNames) {
  EXPECT_EQ(expand_host_list("n1"), Hosts({"n1"}));
  EXPECT_EQ(expand_host_list("login,n1.example.org"), Hosts({"login", "n1.example.org"}));
}

TEST(HostList, RangesKeepTheirZerosAndOrder) {
  EXPECT_EQ(expand_host_list("n[1-3,07-09],m5"), Hosts({"n1", "n2", "n3", "n07", "n08", "n09", "m5"}));
  EXPECT_EQ(expand_host_list("n[099-101]"), Hosts({"n099", "n100", "n101"}));
  EXPECT_EQ(expand_host_list("n[7,3]"), Hosts({"n7", "n3"}));
  EXPECT_EQ(expand_host_list("127.0.0.[1-2]"), Hosts({"127.0.0.1", "127.0.0.2"}));
}

TEST(HostList, SeveralBracketsAndText) {
  EXPECT_EQ(expand_host_list("r[0-1]n[1-2]-ib"), Hosts({"r0n1-ib", "r0n2-ib", "r1n1-ib", "r1n2-ib"}));
}

TEST(HostList, MalformedTextsGiveNothing) {
  for (const char* text : {"",
                           ",",
                           "n1,",
                           ",n1",
                           "n[",
                           "n]",
                           "n[]",
                           "n[1",
                           "n1]",
                           "n[1-]",
                           "n[-1]",
                           "n[3-1]",
                           "n[1,,2]",
                           "n[a-c]",
                           "n[[1]]",
                           "n[1]]",
                           "[",
                           "n[1-2-3]",
                           "n[12345678901]",
                           "n[1-2",
                           "n[1],m["}) {
    EXPECT_TRUE(expand_host_list(text).empty()) << text;
  }
}

TEST(HostList, HugeListsAreRefused) {
  EXPECT_TRUE(expand_host_list("n[0-999999999]").empty());
  EXPECT_TRUE(expand_host_list("n[0-9999][0-9999]").empty());
  EXPECT_TRUE(expand_host_list("n[1-3],m[1-3]", 5).empty());
  // A name that no host can have, a million times, would take gigabytes.
  const std::string long_name(200000, 'n');
  EXPECT_TRUE(expand_host_list(long_name + "[0-999999]").empty());
  EXPECT_TRUE(expand_host_list(long_name).empty());
  EXPECT_TRUE(expand_host_list(std::string(250, 'n') + "[0-999999]").empty());
  EXPECT_EQ(expand_host_list(std::string(250, 'n') + "[0-9]").size(), 10U);
  EXPECT_EQ(expand_host_list("n[1-3],m[1-2]", 5).size(), 5U);
}

TEST(HostList, Counts) {
  EXPECT_EQ(count_at("2(x3),1", 0), 2);
  EXPECT_EQ(count_at("2(x3),1", 2), 2);
  EXPECT_EQ(count_at("2(x3),1", 3), 1);
  EXPECT_EQ(count_at("2(x3),1", 4), std::nullopt);
  EXPECT_EQ(count_at("16", 0), 16);
  for (const char* text : {"", "x", "2(", "2(x", "2(x)", "2(x0)", "(x2)", "2(x2", "2,,3", "99999999999"}) {
    EXPECT_EQ(count_at(text, 0), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace tutti
