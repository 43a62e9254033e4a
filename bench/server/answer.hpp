// What every contender answers, whatever it is asked: 202 with these.
#pragma once

namespace bench {

inline constexpr const char* location = "/v1/tasks/0192d3c4-0000-7000-8000-000000000000";
inline constexpr const char* body =
    R"({"id":"0192d3c4-0000-7000-8000-000000000000","state":"ready","duplicate":false})";

}  // namespace bench
