// Asks for a token.
import { useState } from "preact/hooks";
import { Field } from "../parts/field";

export function SignInPage({ refused, enter }: { refused: boolean; enter: (token: string) => Promise<void> }) {
  const [token, setToken] = useState("");
  return (
    <main class="gate">
      <h1>Handoff</h1>
      <p>This server wants to know who looks.</p>
      <form
        class="panel"
        aria-label="Sign in"
        onSubmit={(event) => {
          event.preventDefault();
          if (token.trim()) void enter(token);
        }}
      >
        <Field
          label="Token"
          type="password"
          value={token}
          onInput={setToken}
          autoFocus
          error={refused && token === "" ? "This token is unknown, over, or revoked." : undefined}
          hint="Kept for this tab only, until it is closed."
        />
        <button type="submit" class="primary" disabled={!token.trim()}>Open</button>
      </form>
      <p class="quiet">Make one with <code>handoff token create --name me --role admin</code></p>
    </main>
  );
}
