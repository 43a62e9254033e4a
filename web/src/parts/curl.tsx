// The same with curl, to be pasted into a shell.
import { toJson } from "../api/raw";
import { storedToken } from "../api/session";
import { Code } from "./basics";

export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

interface CurlParts {
  origin: string;
  path: string;
  method?: string;
  body: unknown;
  hasToken: boolean; // The token itself is never shown.
}

export function curlLine({ origin, path, method, body, hasToken }: CurlParts): string {
  const how = method ? ` -X ${method}` : "";
  const token = hasToken ? ' -H "Authorization: Bearer $HANDOFF_TOKEN"' : "";
  return `curl${how} ${origin}${path}${token} -H 'Content-Type: application/json' \\\n  -d ${quoted(toJson(body))}`;
}

export function Curl(props: { path: string; method?: string; body: unknown }) {
  const text = curlLine({ ...props, origin: location.origin, hasToken: storedToken() !== "" });
  return <Code label="The same with curl" text={text} />;
}
