// A library whose own thread ends the process, as those of oneCCL do.
#include <exception>
#include <stdexcept>
#include <thread>

extern "C" void fail_with(const char* text) {
  try {
    throw std::runtime_error(text);
  } catch (const std::exception&) {
    std::terminate();
  }
}

extern "C" void fail_in_thread(const char* text) { std::thread(&fail_with, text).detach(); }
