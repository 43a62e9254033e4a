#include "call_stack.hpp"

#if defined(HANDOFF_CHECKED) && HANDOFF_CHECKED

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/core.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {

std::string demangled(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free);
  return status == 0 ? name.get() : symbol;
}

std::string describe(void* frame) {
  Dl_info info{};
  if (dladdr(frame, &info) == 0) return fmt::format("{}", frame);
  if (info.dli_sname != nullptr) return demangled(info.dli_sname);
  const auto offset =
      reinterpret_cast<std::uintptr_t>(frame) - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  return fmt::format("{}+{:#x}", info.dli_fname, offset);
}

}  // namespace

CallStack CallStack::here() {
  CallStack stack;
  const int size = backtrace(stack.frames_.data(), static_cast<int>(capacity));
  stack.size_ = size > 0 ? static_cast<std::size_t>(size) : 0;
  return stack;
}

std::string CallStack::to_string() const {
  constexpr std::size_t own_frames = 2;  // here() and the checker that called it.
  std::string lines;
  for (std::size_t i = own_frames; i < size_; ++i) {
    lines += fmt::format("      {}\n", describe(frames_[i]));
  }
  return lines;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail

#endif
