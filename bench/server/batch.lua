-- A hundred tasks in one request.
local task = '{"queue":"load","kind":"welcome","payload":{"user":42,"template":"welcome","language":"en"}}'
local all = {}
for i = 1, 100 do all[i] = task end
wrk.method = "POST"
wrk.body = "[" .. table.concat(all, ",") .. "]"
wrk.headers["Content-Type"] = "application/json"
