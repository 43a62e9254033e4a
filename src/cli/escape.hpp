// Text that others have written, made fit to be shown: nothing in it can move the cursor, change colours or turn the reading direction.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace handoff::cli {

// Control characters, those that change the direction of text, and bytes that are no UTF-8 become \n, \t, \xNN or \u{NNNN}.
std::string shown(std::string_view text);
// The same for a text of several lines: a line feed stays one.
std::string shown_lines(std::string_view text);

// JSON on one line, to the letter but for white space between its parts and for what a terminal might obey, which is escaped.
std::string one_line(std::string_view json);

// How many characters it has, and its front of so many, with "..." if it was cut.
std::size_t columns_of(std::string_view text);
std::string cut_to(std::string_view text, std::size_t columns);

}  // namespace handoff::cli
