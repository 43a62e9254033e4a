// Rows under headings, each column as wide as it needs to be.
//
//   Table table({"ID", "QUEUE", "STATE", "NOTE"});
//   table.add({id, queue, {"done", Colour::green}, note});       // cells are escaped
//   table.print(session.out);
//
// On a terminal the last column is cut so that a row is a line; elsewhere nothing is cut.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/output.hpp"

namespace handoff::cli {

struct Cell {
  Cell(std::string text, Colour in = Colour::plain) : colour(in) {  // NOLINT: a text is a cell.
    shown_text = shown(text);
  }
  Cell(const char* text, Colour in = Colour::plain) : Cell(std::string(text), in) {}       // NOLINT
  Cell(std::string_view text, Colour in = Colour::plain) : Cell(std::string(text), in) {}  // NOLINT
  template <std::integral T>
  Cell(T number) : shown_text(std::to_string(number)), is_number(true) {}  // NOLINT

  std::string shown_text;
  Colour colour = Colour::plain;
  bool is_number = false;  // Stands at the right of its column.
};

class Table {
 public:
  explicit Table(std::vector<std::string> headings);
  void add(std::vector<Cell> row);
  bool is_empty() const { return rows_.empty(); }
  // The lines, cut to so many columns; 0: not cut.
  std::vector<std::string> lines(const Output& output, std::size_t columns) const;
  void print(Output& output) const;

 private:
  std::vector<std::size_t> widths() const;
  std::string line_of(const Output& output, const std::vector<Cell>& row,
                      const std::vector<std::size_t>& widths, std::size_t columns) const;

  std::vector<Cell> headings_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace handoff::cli
