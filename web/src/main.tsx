import { render } from "preact";
import { App } from "./app";
import { keepJoinCode } from "./join/join-code";
import { startRouter } from "./lib/router";
import { startTheme } from "./lib/theme";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/ui.css";
import "./styles/shell.css";
import "./styles/forms.css";
import "./styles/access.css";
import "./styles/audit.css";
import "./styles/webhooks.css";
import "./styles/projects.css";
import "./styles/charts.css";
import "./styles/gallery.css";
import "./styles/staged.css";

const root = document.getElementById("app");
if (root) {
  startTheme();
  keepJoinCode();
  window.addEventListener("hashchange", keepJoinCode);
  startRouter();
  render(<App />, root);
}
