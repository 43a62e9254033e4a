// What the guide prints is what is printed.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "handoff/testing/simulate.hpp"
#include "sim/found.hpp"

namespace handoff::tests {

inline std::string guide() {
  std::ifstream file(HANDOFF_GUIDE);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Lines of the library's own files, and steps, change with every change to them, and the width of columns with them.
inline std::string without_numbers(const std::string& text) {
  std::string without;
  for (const char each : text) {
    const bool is_digit = each >= '0' && each <= '9';
    const bool is_one_more_space = each == ' ' && without.ends_with(' ');
    if (!is_digit && !is_one_more_space) without += each;
  }
  return without;
}

// The report of this body stands in the guide, but for numbers.
template <typename Body>
void expect_in_guide(Body body) {
  std::string report;
  ASSERT_TRUE(find({.runs = 10'000}, body, &report)) << "nothing was found";
  EXPECT_NE(without_numbers(guide()).find(without_numbers(report)), std::string::npos)
      << "docs/guide/simulation.md is to show:\n"
      << report;
}

}  // namespace handoff::tests
