#include "cli/table.hpp"

#include <algorithm>
#include <utility>

namespace handoff::cli {

namespace {

constexpr std::size_t gap = 2;

}  // namespace

Table::Table(std::vector<std::string> headings) {
  for (std::string& each : headings) headings_.emplace_back(std::move(each), Colour::bold);
}

void Table::add(std::vector<Cell> row) {
  row.resize(headings_.size(), Cell(""));
  for (std::size_t i = 0; i < row.size(); ++i) headings_[i].is_number |= row[i].is_number;
  rows_.push_back(std::move(row));
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (const Cell& each : headings_) widths.push_back(columns_of(each.shown_text));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], columns_of(row[i].shown_text));
    }
  }
  return widths;
}

std::string Table::line_of(const Output& output, const std::vector<Cell>& row,
                           const std::vector<std::size_t>& widths, std::size_t columns) const {
  std::string line;
  std::size_t used = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool is_last = i + 1 == row.size();
    std::string text = row[i].shown_text;
    if (columns > 0) text = cut_to(text, columns > used ? columns - used : 0);
    const std::size_t width = columns_of(text);
    const std::size_t spaces = widths[i] > width ? widths[i] - width : 0;
    if (row[i].is_number) line.append(spaces, ' ');
    line += output.paint(row[i].colour, text);
    if (!row[i].is_number && !is_last) line.append(spaces, ' ');
    if (!is_last) line.append(gap, ' ');
    used += std::max(widths[i], width) + gap;
  }
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

std::vector<std::string> Table::lines(const Output& output, std::size_t columns) const {
  const auto all_widths = widths();
  std::vector<std::string> lines{line_of(output, headings_, all_widths, columns)};
  for (const auto& row : rows_) lines.push_back(line_of(output, row, all_widths, columns));
  return lines;
}

void Table::print(Output& output) const {
  const std::size_t columns = output.is_terminal() ? output.columns() : 0;
  for (const std::string& each : lines(output, columns)) output.line("{}", each);
}

}  // namespace handoff::cli
