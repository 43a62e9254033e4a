// How a job is made in the place where it will wait, so that a callable is not touched before it is known to be accepted.
#pragma once

#include <concepts>

#include "handoff/job.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// Makes a job in the place it is given. The caller's callable is touched only when there is room.
class JobMaker {
 public:
  template <typename Make>
    requires(!std::same_as<Make, JobMaker>)  // Or it would be taken for a copy.
  explicit JobMaker(Make& make)
      : make_(&make),
        call_([](void* object, Job* place) { (*static_cast<Make*>(object))(place); }) {}
  void operator()(Job* place) const { call_(make_, place); }

 private:
  void* make_;
  void (*call_)(void*, Job*);
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
