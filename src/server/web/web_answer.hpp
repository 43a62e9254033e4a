// How a file of the dashboard is answered: compressed if the client can read that, not at all if it has it already, and with headers by which a browser lets nothing else in.
#pragma once

#include "server/http/message.hpp"
#include "server/web/web_files.hpp"

namespace handoff::server {

Response web_answer(const WebFile& file, const Request& request);
// For a program that was built without: it says how to get one.
Response page_without_dashboard();

// "gzip, br;q=0.5": whether that is among them, and not refused by q=0.
bool accepts_gzip(std::string_view accept_encoding);
// If-None-Match: a list of tags, or all.
bool has_tag(std::string_view if_none_match, std::string_view tag);

}  // namespace handoff::server
