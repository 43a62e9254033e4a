// Boost.JSON itself, compiled here and nowhere else: nothing but its headers is needed to build.
#include <boost/json/src.hpp>
