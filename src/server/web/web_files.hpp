// The dashboard: what web/ was built into, inside the program. tools/embed makes the file that has them.
#pragma once

#include <span>
#include <string_view>

namespace handoff::server {

struct WebFile {
  std::string_view path;  // "/assets/index-3f7a.js"
  std::string_view content_type;
  std::string_view hash;  // Of what is in it.
  std::string_view plain;
  std::string_view gzip;
};

// None, if it was built without npm.
std::span<const WebFile> web_files();

}  // namespace handoff::server
