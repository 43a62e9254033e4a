// Names the flavour of the library a translation unit is compiled for.
//
// Flavours differ in layout or behaviour, so each lives in an inline namespace of its own: mixing two
// of them in one program is a link error instead of a crash.
#pragma once

#if defined(HANDOFF_SIMULATED) && HANDOFF_SIMULATED
#define HANDOFF_FLAVOUR v1_sim
#elif defined(HANDOFF_WEAK_MEMORY) && HANDOFF_WEAK_MEMORY  // For tests/weak_memory only.
#define HANDOFF_FLAVOUR v1_weak
#elif defined(HANDOFF_CHECKED) && HANDOFF_CHECKED
#if defined(HANDOFF_PORTABLE_PARK) && HANDOFF_PORTABLE_PARK
#define HANDOFF_FLAVOUR v1_checked_portable
#else
#define HANDOFF_FLAVOUR v1_checked
#endif
#elif defined(HANDOFF_PORTABLE_PARK) && HANDOFF_PORTABLE_PARK
#define HANDOFF_FLAVOUR v1_portable
#else
#define HANDOFF_FLAVOUR v1
#endif

namespace handoff::inline HANDOFF_FLAVOUR::detail {

#if defined(HANDOFF_CHECKED) && HANDOFF_CHECKED
inline constexpr bool checked_build = true;
#else
inline constexpr bool checked_build = false;
#endif

#if defined(HANDOFF_SIMULATED) && HANDOFF_SIMULATED
inline constexpr bool simulated_build = true;
#else
inline constexpr bool simulated_build = false;
#endif

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
