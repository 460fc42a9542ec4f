import { render } from "preact";
import { useEffect, useState } from "preact/hooks";

import { getState, type State } from "./api";
import "./main.css";

function Page() {
  const [state, setState] = useState<State | string>("");
  useEffect(() => {
    getState().then(setState, (error: Error) => setState(error.message));
  }, []);
  if (typeof state === "string") return <p>{state}</p>;
  return (
    <ul>
      {state.runs.map((run) => (
        <li key={run.id}>{run.title}</li>
      ))}
    </ul>
  );
}

const place = document.getElementById("view");
if (place) render(<Page />, place);
