#include "cli/program.hpp"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "handoff/process_pool.hpp"
#include "handoff/testing/eventually.hpp"

namespace handoff::tests {

using namespace std::chrono_literals;

namespace {

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> command_line(const std::vector<std::string>& arguments) {
  std::vector<std::string> all{HANDOFF_PROGRAM};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

// For execve(), which does not write to them.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& each : texts) pointers.push_back(const_cast<char*>(each.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

// -- Beside the test ------------------------------------------------------------------------------

Background::Background(const std::vector<std::string>& arguments, const std::string& store,
                       std::filesystem::path folder) {
  static std::atomic<int> count{0};
  const std::string number = std::to_string(++count);
  out_ = folder / ("out-" + number);
  err_ = folder / ("err-" + number);
  const auto all = command_line(arguments);
  const auto pointers = pointers_to(all);
  const std::string variable = "HANDOFF_STORE=" + store;
  std::vector<char*> environment{const_cast<char*>(variable.c_str())};
  for (char** each = environ; *each != nullptr; ++each) environment.push_back(*each);
  environment.push_back(nullptr);
  id_ = ::fork();
  if (id_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  ::dup2(::open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), STDOUT_FILENO);
  ::dup2(::open(err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), STDERR_FILENO);
  ::execve(pointers[0], pointers.data(), environment.data());
  ::_exit(127);
}

Background::~Background() {
  if (id_ < 0) return;
  ::kill(id_, SIGKILL);
  ::waitpid(id_, nullptr, 0);
}

void Background::signal(int number) const { ::kill(id_, number); }

Ended Background::wait() {
  int status = 0;
  ::waitpid(std::exchange(id_, -1), &status, 0);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {.code = code, .out = content(out_), .err = content(err_)};
}

std::string Background::err() const { return content(err_); }

// -- On a terminal --------------------------------------------------------------------------------

Terminal::Terminal(const std::vector<std::string>& arguments, const std::string& store,
                   const std::vector<std::string>& environment) {
  std::vector<std::string> all{"HANDOFF_STORE=" + store, "TERM=xterm", "PATH=/usr/bin:/bin"};
  all.insert(all.end(), environment.begin(), environment.end());
  const auto words = command_line(arguments);
  const auto pointers = pointers_to(words);
  const auto variables = pointers_to(all);
  winsize size{.ws_row = 40, .ws_col = 120, .ws_xpixel = 0, .ws_ypixel = 0};
  id_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
  if (id_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::execve(pointers[0], pointers.data(), variables.data());
  ::_exit(127);
}

Terminal::~Terminal() {
  if (id_ >= 0) {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
  ::close(terminal_);
}

void Terminal::type(const std::string& keys) const {
  if (::write(terminal_, keys.data(), keys.size()) < 0) throw std::runtime_error("cannot type");
}

bool Terminal::read() {
  std::array<char, 4096> bytes;
  const ssize_t count = ::read(terminal_, bytes.data(), bytes.size());
  if (count > 0) shown_.append(bytes.data(), static_cast<std::size_t>(count));
  return count > 0;  // Once it has ended, reading fails.
}

void Terminal::wait_for(const std::string& text) {
  while (shown_.find(text) == std::string::npos) {
    if (!read()) throw std::runtime_error("it ended without: " + text + "; it showed: " + shown_);
  }
}

void Terminal::wait_until_it_waits() const {
  testing::eventually([&] {
    const std::string stat = content("/proc/" + std::to_string(id_) + "/stat");
    return stat.find(") S ") != std::string::npos;
  });
}

int Terminal::wait() {
  while (read()) {
  }
  int status = 0;
  ::waitpid(std::exchange(id_, -1), &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// -- From beginning to end ------------------------------------------------------------------------

CliTest::CliTest() {
  std::string pattern = (std::filesystem::temp_directory_path() / "handoff-cli-XXXXXX").string();
  folder = ::mkdtemp(pattern.data());
  store = "sqlite:" + path("tasks.db");
}

CliTest::~CliTest() { std::filesystem::remove_all(folder); }

Ended CliTest::run(const std::vector<std::string>& arguments, const std::string& input,
                   const std::vector<std::string>& environment) const {
  ProcessPool pool{{.processes = 1}};
  ProcessCommand command{.arguments = command_line(arguments), .input = input};
  command.environment = environment;
  command.environment.push_back("HANDOFF_STORE=" + store);  // Of two, the first one counts.
  command.directory = folder.string();
  command.timeout = 100s;
  const auto result = pool.run(command);
  if (!result) throw std::runtime_error("the program was refused");
  if (result->end == ProcessEnd::killed)
    return {128 + result->signal, result->output, result->errors};
  if (result->end != ProcessEnd::exited) throw std::runtime_error(result->to_string());
  return {result->exit_code, result->output, result->errors};
}

std::string CliTest::enqueue(const std::string& kind, const std::vector<std::string>& more) const {
  std::vector<std::string> arguments{"enqueue", kind};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Ended ended = run(arguments);
  EXPECT_EQ(ended.code, 0) << ended.err;
  return ended.out.substr(0, ended.out.find('\n'));
}

Ended CliTest::work(const std::string& script, const std::vector<std::string>& options) const {
  std::vector<std::string> arguments{"work", "--until-idle"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  for (const std::string& each :
       {std::string("--"), std::string("sh"), std::string("-c"), script}) {
    arguments.push_back(each);
  }
  return run(arguments);
}

tasks::Task CliTest::task(const std::string& id) const {
  return open().get(tasks::TaskId::parse(id).value()).value();
}

void CliTest::write(const std::string& name, const std::string& text) const {
  std::ofstream(path(name), std::ios::binary) << text;
}

std::string CliTest::read(const std::string& name) const { return content(path(name)); }

// -- JSON -----------------------------------------------------------------------------------------

tasks::JsonDocument json_of(const std::string& text) {
  auto document = tasks::JsonDocument::parse(text);
  if (!document) throw std::runtime_error(document.error().to_string() + " in: " + text);
  return *std::move(document);
}

std::vector<tasks::JsonDocument> json_lines(const std::string& text) {
  std::vector<tasks::JsonDocument> documents;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) documents.push_back(json_of(line));
  return documents;
}

std::string text_at(const tasks::JsonDocument& document, const std::string& member) {
  const auto found = document.root().member(member);
  if (!found) throw std::runtime_error("there is no member " + member);
  return found->kind() == tasks::JsonKind::string ? std::string(found->string())
                                                  : found->json().text();
}

}  // namespace handoff::tests
