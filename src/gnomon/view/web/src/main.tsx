import { render } from "preact";

import { App } from "./app";
import "./styles/theme.css";
import "./styles/shell.css";
import "./styles/rows.css";
import "./styles/tree.css";
import "./styles/source.css";
import "./styles/table.css";
import "./styles/metrics.css";
import "./styles/pages.css";
import { applyTheme } from "./theme";

applyTheme();
const root = document.getElementById("view");
if (root) render(<App />, root);
