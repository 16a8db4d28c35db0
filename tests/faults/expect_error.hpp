#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "tutti/error.hpp"

namespace tutti::test {

/// Fails the test unless `call` throws an Error with that code and all of the words in its message.
template <typename Call>
void expect_error(ErrorCode code, std::initializer_list<std::string_view> words, Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(name(error.code()), name(code)) << error.what();
    for (const std::string_view word : words) {
      EXPECT_NE(std::string_view(error.what()).find(word), std::string_view::npos)
          << "\"" << word << "\" is not in: " << error.what();
    }
    return;
  }
  ADD_FAILURE() << "expected the error " << name(code) << ", but there was none";
}

}  // namespace tutti::test
