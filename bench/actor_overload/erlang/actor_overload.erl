%% The work of ../workload.hpp with an Erlang process, whose mailbox has no bound.
-module(actor_overload).
-export([main/0]).

-define(HANDLING_TIME_US, 10).
-define(SENDING_TIME_US, 1).
-define(IS_OVER, 1).
-define(HANDLED, 2).
-define(SUM, 3).

main() ->
    bench:run(fun(Arguments) ->
        DurationUs = bench:number(Arguments, "seconds", 10) * 1_000_000,
        Counts = counters:new(3, [atomics]),
        Actor = spawn(fun() -> handle_slowly(Counts) end),
        Before = bench_memory:start_peak(),
        Sent = send_too_much(Actor, now_us(), DurationUs, 0),
        Growth = bench_memory:peak_growth_mib(Before),
        HandledInTime = counters:get(Counts, ?HANDLED),
        counters:put(Counts, ?IS_OVER, 1),
        wait_for(Counts, Sent),
        bench:check({Sent, Sent * (Sent + 1) div 2},
                    {counters:get(Counts, ?HANDLED), counters:get(Counts, ?SUM)}),
        bench:print([{messages_sent, Sent},
                     {messages_refused, 0},
                     {messages_handled_in_time, HandledInTime},
                     {peak_growth_mib, Growth}])
    end).

handle_slowly(Counts) ->
    receive
        Number ->
            spin(Counts, now_us() + ?HANDLING_TIME_US),
            counters:add(Counts, ?SUM, Number),
            counters:add(Counts, ?HANDLED, 1),
            handle_slowly(Counts)
    end.

spin(Counts, UntilUs) ->
    case counters:get(Counts, ?IS_OVER) =:= 0 andalso now_us() < UntilUs of
        true -> spin(Counts, UntilUs);
        false -> ok
    end.

send_too_much(Actor, BeganUs, DurationUs, Sent) ->
    case now_us() - BeganUs of
        Passed when Passed >= DurationUs -> Sent;
        Passed ->
            Due = max(Sent, Passed div ?SENDING_TIME_US),
            send(Actor, Sent + 1, Due),
            timer:sleep(1),
            send_too_much(Actor, BeganUs, DurationUs, Due)
    end.

send(_, Number, Last) when Number > Last -> ok;
send(Actor, Number, Last) ->
    Actor ! Number,
    send(Actor, Number + 1, Last).

wait_for(Counts, Handled) ->
    case counters:get(Counts, ?HANDLED) < Handled of
        true -> timer:sleep(1), wait_for(Counts, Handled);
        false -> ok
    end.

now_us() -> erlang:monotonic_time(microsecond).
