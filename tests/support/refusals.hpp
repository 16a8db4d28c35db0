#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <string>

#include "tutti/communicator.hpp"
#include "tutti/error.hpp"

namespace tutti::test {

/// Text of the error that `body` throws; the test fails unless the error has that code.
inline std::string error_of(const std::function<void()>& body, ErrorCode code) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

/// Text of the invalid_argument error of an allreduce on one rank, or "no error".
inline std::string refusal(const Communicator& comm, const Buffer& buffer, const Stream& stream) {
  try {
    comm.allreduce(buffer, {.stream = stream});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
    return error.what();
  }
  return "no error";
}

inline void expect_words(const std::string& text, std::initializer_list<std::string> words) {
  for (const std::string& word : words) EXPECT_NE(text.find(word), std::string::npos) << word << " is not in: " << text;
}

}  // namespace tutti::test
