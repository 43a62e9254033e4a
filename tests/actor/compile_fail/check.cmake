# Compiles a program that must not compile. Its first line says what the compiler has to say: `// error: ...`. That and all else it
# says must fit on a screen.
#
#   cmake -DCOMPILER=g++ -DINCLUDE=include -DPROGRAM=program.cpp -P check.cmake

set(most_lines 40)

file(READ ${PROGRAM} text)
if(NOT text MATCHES "^// error: ([^\n]+)\n")
  message(FATAL_ERROR "${PROGRAM} does not begin with `// error: ...`")
endif()
set(sentence "${CMAKE_MATCH_1}")

execute_process(COMMAND ${COMPILER} -std=c++23 -fsyntax-only -I${INCLUDE} ${PROGRAM}
  RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(code EQUAL 0)
  message(FATAL_ERROR "it compiles")
endif()
string(FIND "${said}" "${sentence}" found)
if(found EQUAL -1)
  message(FATAL_ERROR "the compiler does not say \"${sentence}\" but:\n${said}")
endif()
string(REGEX MATCHALL "\n" lines "${said}")
list(LENGTH lines count)
if(count GREATER most_lines)
  message(FATAL_ERROR "the compiler says ${count} lines, of which ${most_lines} fit on a screen:\n${said}")
endif()
message(STATUS "${count} lines")
