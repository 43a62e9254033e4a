// What the tasks of all contenders carry: 100 bytes of JSON.
#pragma once

#include <string>

namespace bench {

inline const std::string task_payload =
    R"({"to":"somebody@example.org","subject":"Welcome","text":"We are glad that you are with us now, truly."})";

}  // namespace bench
