// What the tests need: the real server as a process, a proxy that loses answers, and eventually().
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import * as net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const binary = process.env.HANDOFF_BINARY ?? "handoff";

// Polls until it is true, or gives up.
export async function eventually(fact, what = String(fact)) {
  const ends = Date.now() + 60_000;
  for (;;) {
    const is = await fact();
    if (is) return is;
    if (Date.now() > ends) throw new Error(`never came true: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

// A promise that is resolved from outside.
export function deferred() {
  let resolve;
  const promise = new Promise((set) => (resolve = set));
  return { promise, resolve };
}

export class Server {
  #folder = mkdtempSync(join(tmpdir(), "handoff-node-"));
  #process;
  #log = "";
  #options = [];
  url = "";
  ca; // Of its certificate, if it has one.

  static async start(test, { tls = false } = {}) {
    const server = new Server();
    test?.after(() => server.end());
    if (tls) server.#makeCertificate();
    await server.start();
    return server;
  }

  #makeCertificate() {
    const [key, cert] = ["key.pem", "cert.pem"].map((name) => join(this.#folder, name));
    execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert, "-days", "2",
      "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"], { stdio: "ignore" });
    this.#options = ["--tls-cert", cert, "--tls-key", key];
    this.ca = readFileSync(cert);
  }

  get store() {
    return `sqlite:${join(this.#folder, "handoff.db")}`;
  }
  get port() {
    return Number(new URL(this.url).port);
  }

  // The second time on the same port and store.
  async start() {
    this.#log = "";
    const listen = this.url === "" ? "127.0.0.1:0" : new URL(this.url).host;
    this.#process = spawn(binary, ["serve", "--listen", listen, "--store", this.store, ...this.#options], { stdio: ["ignore", "ignore", "pipe"] });
    let problem;
    this.#process.on("error", (error) => (problem = error));
    this.#process.stderr.on("data", (data) => (this.#log += data));
    await eventually(() => {
      if (problem ?? this.#process.exitCode !== null) throw new Error(`the server did not start: ${problem ?? this.#log}`);
      return /"url":"([^"]+)"/.test(this.#log);
    });
    this.url = /"url":"([^"]+)"/.exec(this.#log)[1];
  }

  async #stop(signal) {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.kill(signal);
    await ended;
  }
  kill() {
    return this.#stop("SIGKILL");
  }
  async end() {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

// Passes bytes on to the server, late if it is to. An answer to a request that `loses` names is lost: the server has given it, and the connection is cut.
export class Proxy {
  #server;
  #sockets = new Set();
  requests = []; // First lines.
  times = []; // When they came, in milliseconds.
  losses = 0;
  answers = 0; // Parts of answers that were passed on.
  loses = () => false;
  delayMs = 0; // Of what is sent to the server.

  static async start(test, port) {
    const proxy = new Proxy();
    proxy.#server = net.createServer((client) => proxy.#connect(client, port));
    await new Promise((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    test.after(() => {
      proxy.cut();
      proxy.#server.close();
    });
    return proxy;
  }

  // All connections, in both directions.
  cut() {
    for (const each of this.#sockets) each.destroy();
  }

  get url() {
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  #connect(client, port) {
    const upstream = net.connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    let losing = false;
    for (const each of [client, upstream]) {
      this.#sockets.add(each);
      each.on("error", () => {});
      each.on("close", () => {
        this.#sockets.delete(each);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on("data", (data) => {
      const line = data.toString("latin1").split("\r\n", 1)[0];
      if (line.endsWith("HTTP/1.1")) {
        this.requests.push(line);
        this.times.push(performance.now());
        losing = this.loses(line);
      }
      if (this.delayMs > 0) setTimeout(() => upstream.write(data), this.delayMs); // In order: timers of one time are.
      else upstream.write(data);
    });
    upstream.on("data", (data) => {
      if (!losing) {
        client.write(data);
        return void ++this.answers;
      }
      ++this.losses;
      client.destroy();
    });
  }
}
