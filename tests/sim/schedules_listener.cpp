// Says after how many schedules a failure was found, also if it ends the program: `found after 123 schedules by Suite.Name: what`. tools/mutants
// reads that line.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "handoff/testing/simulate.hpp"
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace handoff::tests {
namespace {

std::string test_that_runs = "no test";

void say_found(std::string_view what) {
  std::fprintf(stderr, "found after %llu schedules by %s: %.*s\n",
               static_cast<unsigned long long>(testing::schedules_so_far()), test_that_runs.c_str(),
               static_cast<int>(what.size()), what.data());
}

// The first line that tells something: of an exception, what it says.
std::string_view first_line(std::string_view message) {
  constexpr std::string_view before = "C++ exception with description \"";
  if (message.starts_with(before)) message.remove_prefix(before.size());
  return message.substr(0, message.find_first_of("\n\""));
}

class SchedulesListener : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo& test) override {
    test_that_runs = std::string(test.test_suite_name()) + "." + test.name();
  }
  // GoogleTest holds a lock meanwhile: it must not be asked anything.
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (result.failed()) say_found(first_line(result.message()));
  }
};

[[maybe_unused]] const bool is_listening = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new SchedulesListener);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback([] { say_found("the program broke down"); });
#endif
  return true;
}();

}  // namespace
}  // namespace handoff::tests
