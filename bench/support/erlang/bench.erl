%% What every Erlang contender needs: its arguments, one line of JSON for its result, a message if it failed.
-module(bench).
-export([run/1, number/3, check/2, print/1]).

%% Calls Measure with the arguments of the command line, "--name value" pairs, and ends the program.
run(Measure) ->
    try
        Measure(pairs(init:get_plain_arguments())),
        halt(0)
    catch
        throw:Message -> fail(Message);
        Class:Reason:Stack -> fail(io_lib:format("~p:~0p at ~0p", [Class, Reason, Stack]))
    end.

%% The value of an argument: a whole number of at least 1.
number(Arguments, Name, Otherwise) ->
    case Arguments of
        #{Name := Text} ->
            case string:to_integer(Text) of
                {Number, ""} when Number > 0 -> Number;
                _ -> throw(["--", Name, " must be a whole number of at least 1, got ", Text])
            end;
        _ -> Otherwise
    end.

%% Fails unless both pairs of a count and a sum are the same.
check({Given, Sum}, {Given, Sum}) -> ok;
check({Given, GivenSum}, {Ran, RanSum}) ->
    throw(io_lib:format("given ~b jobs with sum ~b, run ~b with sum ~b", [Given, GivenSum, Ran, RanSum])).

%% Prints pairs of a key and a number.
print(Result) ->
    Version = ["\"version\": \"OTP ", erlang:system_info(otp_release), "\""],
    io:put_chars([${, lists:join(", ", [Version | [member(Pair) || Pair <- Result]]), "}\n"]).

member({Key, Value}) when is_integer(Value) -> io_lib:format("\"~s\": ~b", [Key, Value]);
member({Key, Value}) -> io_lib:format("\"~s\": ~.9f", [Key, Value]).

pairs([]) -> #{};
pairs(["--" ++ Name, Value | Rest]) -> (pairs(Rest))#{Name => Value};
pairs([Other | _]) -> throw(["expected --name value, got ", Other]).

fail(Message) ->
    io:put_chars(standard_error, ["error: ", Message, "\n"]),
    halt(1).
