%% The work of ../workload.hpp with Erlang processes, whose mailboxes have no bound.
-module(actor_fan_in).
-export([main/0]).

main() ->
    bench:run(fun(Arguments) ->
        Senders = bench:number(Arguments, "senders", 100),
        Messages = bench:number(Arguments, "messages", 5_000_000),
        Main = self(),
        Receiver = spawn(fun() -> Main ! {sum, take(Messages, 0)} end),
        Pids = [spawn(fun() -> receive start -> send(Receiver, First, Senders, Messages) end end)
                || First <- lists:seq(1, Senders)],

        Before = bench_memory:start_peak(),
        Stopwatch = bench_rate:start(),
        [Pid ! start || Pid <- Pids],
        Sum = receive {sum, Taken} -> Taken end,
        Rate = bench_rate:stop(Stopwatch, Messages),
        Growth = bench_memory:peak_growth_mib(Before),
        bench:check({Messages, Messages * (Messages + 1) div 2}, {Messages, Sum}),
        bench:print(Rate ++ [{peak_growth_mib, Growth}])
    end).

send(_, Number, _, Last) when Number > Last -> ok;
send(Receiver, Number, Step, Last) ->
    Receiver ! Number,
    send(Receiver, Number + Step, Step, Last).

take(0, Sum) -> Sum;
take(Left, Sum) -> receive Number -> take(Left - 1, Sum + Number) end.
