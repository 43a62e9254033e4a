#include "page.hpp"

#include <array>

namespace chat::page {

namespace {

constexpr std::string_view html = R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Handoff chat</title>
<link rel="stylesheet" href="/chat.css">
<script defer src="/chat.js"></script>

<main>
  <header>
    <h1>Handoff chat</h1>
    <p id="where">not connected</p>
  </header>
  <ol id="lines" aria-live="polite"></ol>
  <form id="form" autocomplete="off">
    <input id="text" maxlength="2000" placeholder="Your name" aria-label="Your name" autofocus>
    <button>Enter</button>
  </form>
</main>
)";

constexpr std::string_view css =
    R"(:root { color-scheme: light dark; --accent: #2f6fde; --quiet: #7a8494; }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; }
@media (prefers-color-scheme: light) { body { background: #eef1f5; } main { background: #fff; } }
@media (prefers-color-scheme: dark) { body { background: #14171c; } main { background: #1d2128; } }
main { display: flex; flex-direction: column; height: 100vh; max-width: 44rem; margin: 0 auto;
       box-shadow: 0 0 2rem #0002; }
header { display: flex; align-items: baseline; gap: 1rem; padding: .75rem 1.25rem;
         border-bottom: 1px solid #8883; }
h1 { margin: 0; font-size: 1.15rem; }
#where { margin: 0 0 0 auto; color: var(--quiet); font-size: .9rem; }
#lines { flex: 1; margin: 0; padding: 1rem 1.25rem; overflow-y: auto; list-style: none; }
#lines li { margin-bottom: .35rem; overflow-wrap: anywhere; }
#lines b { margin-right: .6rem; }
#lines .notice { color: var(--quiet); font-size: .9rem; }
#lines .own b { color: var(--accent); }
form { display: flex; gap: .6rem; padding: .9rem 1.25rem; border-top: 1px solid #8883; }
input { flex: 1; min-width: 0; padding: .55rem .8rem; font: inherit; border: 1px solid #8886;
        border-radius: .5rem; background: transparent; color: inherit; }
input:focus { outline: 2px solid var(--accent); outline-offset: -1px; border-color: transparent; }
button { padding: .55rem 1.1rem; font: inherit; border: 0; border-radius: .5rem; color: #fff;
         background: var(--accent); cursor: pointer; }
)";

constexpr std::string_view js = R"('use strict';
// What others say is put into the page as text, never as HTML.
const get = id => document.getElementById(id);
const lines = get('lines'), text = get('text'), where = get('where'), button = document.querySelector('button');
const query = new URLSearchParams(location.search);
let name = '', room = '', members = 0;

function add(kind, who, what) {
  const atEnd = lines.scrollTop + lines.clientHeight >= lines.scrollHeight - 30;
  const line = document.createElement('li');
  line.className = kind;
  if (who) line.appendChild(document.createElement('b')).textContent = who;
  line.append(what);
  lines.append(line);
  while (lines.childElementCount > 500) lines.firstChild.remove();
  if (atEnd) lines.scrollTop = lines.scrollHeight;
}
const notice = what => add('notice', '', what);

function showWhere() {
  where.textContent = room ? `${name} in ${room}, ${members} here` : name;
}

// The words of messages.hpp.
const heard = {
  welcome(rest) {
    name = rest;
    text.placeholder = 'Say something, or /join a-room';
    text.setAttribute('aria-label', 'Your message');
    button.textContent = 'Send';
    socket.send('join ' + (query.get('room') || 'lobby'));
  },
  joined(rest) {
    [room, members] = rest.split(' ');
    members = Number(members);
    notice(`You are in ${room}.`);
  },
  said(rest) {
    const space = rest.indexOf(' ');
    const who = rest.slice(0, space);
    add(who === name ? 'own' : '', who, rest.slice(space + 1));
  },
  came(rest) { members++; notice(`${rest} has come.`); },
  left(rest) { members--; notice(`${rest} has left.`); },
  sorry(rest) { notice(`Sorry, ${rest}.`); },
};

const socket = new WebSocket(`ws://${location.host}/chat`);
socket.onopen = () => {
  where.textContent = 'connected';
  if (query.get('name')) socket.send('login ' + query.get('name'));
  else notice('Who are you? Any name of up to 20 letters and digits will do.');
};
socket.onmessage = ({data}) => {
  for (const line of data.split('\n')) {
    const space = line.indexOf(' ');
    const word = line.slice(0, space);
    if (Object.hasOwn(heard, word)) heard[word](line.slice(space + 1));
  }
  showWhere();
};
socket.onclose = ({reason}) => {
  where.textContent = 'not connected';
  notice(`The connection has ended${reason ? ': ' + reason : ''}. Reload the page to come back.`);
};

get('form').onsubmit = event => {
  event.preventDefault();
  const said = text.value.trim();
  if (!said || socket.readyState !== WebSocket.OPEN) return;
  if (!name) socket.send('login ' + said);
  else if (said.startsWith('/join ')) socket.send('join ' + said.slice(6).trim());
  else socket.send('say ' + said);
  text.value = '';
};
)";

constexpr std::array files{File{"/", "text/html; charset=utf-8", html},
                           File{"/chat.css", "text/css; charset=utf-8", css},
                           File{"/chat.js", "text/javascript; charset=utf-8", js}};

}  // namespace

std::optional<File> find(std::string_view path) {
  path = path.substr(0, path.find('?'));
  for (const File& each : files) {
    if (each.path == path) return each;
  }
  return std::nullopt;
}

}  // namespace chat::page
