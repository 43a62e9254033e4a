// Light or dark as the system says, until somebody chooses.
import { Signal } from "../live/signal";

type Theme = "light" | "dark";
const key = "handoff.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

const stored = localStorage.getItem(key);
let chosen: Theme | undefined = stored === "light" || stored === "dark" ? stored : undefined;
const current = (): Theme => chosen ?? (system.matches ? "dark" : "light");

export const theme = new Signal<Theme>(current());

function apply(): void {
  theme.set(current());
  document.documentElement.dataset["theme"] = theme.value;
}

export function startTheme(): void {
  system.addEventListener("change", apply);
  apply();
}

export function toggleTheme(): void {
  chosen = theme.value === "dark" ? "light" : "dark";
  localStorage.setItem(key, chosen);
  apply();
}
