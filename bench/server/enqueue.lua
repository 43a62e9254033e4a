-- What wrk sends: a task as a producer would.
wrk.method = "POST"
wrk.body = '{"queue":"email","kind":"welcome","payload":{"user":42,"template":"welcome","language":"en"}}'
wrk.headers["Content-Type"] = "application/json"
