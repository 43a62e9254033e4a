import { render } from "preact";
import { open } from "./api/session";
import { App } from "./app";
import { startRouting } from "./parts/route";
import { startTheme } from "./parts/theme";
import "./style.css";

startTheme();
startRouting();
const root = document.getElementById("app");
if (root) render(<App />, root);
void open();
