// Reads the text format of Prometheus, and believes nothing: each family has its HELP and TYPE before its samples and all of these together, no sample is there twice, and a
// histogram adds up.
//
//   const Exposition metrics(text);
//   EXPECT_THAT(metrics.problems, IsEmpty());
//   metrics.value("handoff_tasks", R"({queue="q",state="ready"})")
#pragma once

#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace handoff::tests {

class Exposition {
 public:
  explicit Exposition(const std::string& text) {
    if (!text.ends_with('\n')) problems.push_back("the last line does not end");
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) read(line);
    end_family();
  }

  // Nothing if there is none.
  std::optional<double> value(const std::string& name, const std::string& labels = "") const {
    const auto found = samples_.find(name + labels);
    return found == samples_.end() ? std::nullopt : std::optional(found->second);
  }
  std::string type(const std::string& family) const {
    const auto found = types_.find(family);
    return found == types_.end() ? "" : found->second;
  }

  std::vector<std::string> problems;

 private:
  void read(const std::string& line) {
    static const std::regex help(R"(# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) [^\n]+)");
    static const std::regex type(
        R"(# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram|summary|untyped))");
    static const std::regex sample(
        R"(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\]|\\["\\n])*",?)*\})? ([-+0-9.eE]+|[+-]Inf|NaN))");
    std::smatch parts;
    if (std::regex_match(line, parts, help)) return begin_family(parts[1]);
    if (std::regex_match(line, parts, type)) return take_type(parts[1], parts[2]);
    if (std::regex_match(line, parts, sample)) return take_sample(parts[1], parts[2], parts[3]);
    problems.push_back("cannot be read: " + line);
  }

  void begin_family(const std::string& name) {
    end_family();
    family_ = name;
    if (!families_.insert(name).second) problems.push_back("is there twice: " + name);
  }
  void take_type(const std::string& name, const std::string& type) {
    if (name != family_) problems.push_back("a TYPE without its HELP: " + name);
    types_[name] = type;
    if (type == "counter" && !name.ends_with("_total")) {
      problems.push_back("a counter that does not end in _total: " + name);
    }
  }

  void take_sample(const std::string& name, const std::string& labels, const std::string& number) {
    const std::string kind = type(family_);
    const bool is_part =
        name == family_ + "_bucket" || name == family_ + "_sum" || name == family_ + "_count";
    if (kind == "histogram" ? !is_part : name != family_) {
      problems.push_back("a sample outside of its family: " + name);
    }
    char* end = nullptr;
    const double value = std::strtod(number.c_str(), &end);
    if (end == nullptr || *end != '\0') problems.push_back("no number: " + number);
    if (!samples_.emplace(name + labels, value).second) {
      problems.push_back("is there twice: " + name + labels);
    }
    if (kind == "counter" && !(value >= 0)) problems.push_back("counts down: " + name);
    if (kind == "histogram") take_part(name, labels, value);
  }

  struct Histogram {
    double bound = -INFINITY;
    double below = 0;
    bool has_end = false;
    std::optional<double> sum{};
    std::optional<double> count{};
  };

  // By its labels without the bound.
  void take_part(const std::string& name, std::string labels, double value) {
    static const std::regex bound(R"re(,?le="([^"]*)"\}$)re");
    std::smatch le;
    if (name.ends_with("_bucket")) {
      if (!std::regex_search(labels, le, bound)) return problems.push_back("no le: " + labels);
      const std::string text = le[1];
      const double next = text == "+Inf" ? INFINITY : std::strtod(text.c_str(), nullptr);
      labels = labels.substr(0, static_cast<std::size_t>(le.position(0)));
      labels = labels == "{" ? "" : labels + "}";
      Histogram& histogram = histograms_[labels];
      if (next <= histogram.bound) problems.push_back("bounds do not rise: " + name + labels);
      if (value < histogram.below) problems.push_back("buckets do not rise: " + name + labels);
      histogram.bound = next;
      histogram.below = value;
      histogram.has_end = next == INFINITY;
    } else if (name.ends_with("_sum")) {
      histograms_[labels].sum = value;
    } else {
      histograms_[labels].count = value;
    }
  }

  void end_family() {
    if (!family_.empty() && type(family_).empty()) problems.push_back("no TYPE: " + family_);
    for (const auto& [labels, each] : histograms_) {
      if (!each.has_end || !each.sum || each.count != each.below) {
        problems.push_back("does not add up: " + family_ + labels);
      }
    }
    histograms_.clear();
  }

  std::string family_;
  std::set<std::string> families_;
  std::map<std::string, std::string> types_;
  std::map<std::string, double> samples_;
  std::map<std::string, Histogram> histograms_;  // Of this family.
};

}  // namespace handoff::tests
