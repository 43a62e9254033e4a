// As gmock_main, but for processes that tests start: see processes.hpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tasks/processes.hpp"

int main(int count, char** arguments) {
  handoff::tests::play_role_if_any(count, arguments);
  testing::InitGoogleMock(&count, arguments);
  return RUN_ALL_TESTS();
}
