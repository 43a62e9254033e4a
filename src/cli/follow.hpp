// Follows something until it has ended, with a line that is drawn over itself on a terminal and written anew elsewhere.
#pragma once

#include <string>

#include "cli/session.hpp"

namespace handoff::cli {

class FollowLine {
 public:
  explicit FollowLine(Output& talk) : talk_(talk) {}
  ~FollowLine() {
    if (talk_.can_redraw() && !last_.empty()) clear_line(talk_);
  }

  // What is the same as before is not said again.
  void show(const std::string& text) {
    if (text == last_) return;
    last_ = text;
    if (talk_.can_redraw()) {
      talk_.write("\r" + cut_to(text, talk_.columns() - 1) + "\x1b[K");
    } else {
      talk_.line("{}", text);
    }
    talk_.flush();
  }

 private:
  Output& talk_;
  std::string last_;
};

}  // namespace handoff::cli
