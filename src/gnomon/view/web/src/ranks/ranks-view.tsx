// Ranks of a parallel program: who sends messages to whom, and what each rank has of every value.

import { setParams, useRoute } from "../route";
import { useShortcuts } from "../shortcuts";
import "../styles/ranks.css";
import type { ViewProps } from "../view-props";
import { MessageView } from "./message-view";
import { StripView } from "./strip-view";

const PICTURES = [
  ["messages", "messages", "who sends how much to whom"],
  ["strips", "values of ranks", "one mark for each rank"],
] as const;
export type Picture = (typeof PICTURES)[number][0];

export function RanksView(props: ViewProps) {
  const { params } = useRoute();
  const picture: Picture = params["ranks"] === "strips" ? "strips" : "messages";
  const show = (name: Picture) => setParams({ ranks: name === "messages" ? null : name });
  useShortcuts({
    "[": () => show(picture === "messages" ? "strips" : "messages"),
    "]": () => show(picture === "messages" ? "strips" : "messages"),
  });
  const choice = (
    <span class="segments" role="group" aria-label="picture">
      {PICTURES.map(([name, label, title]) => (
        <button
          key={name}
          type="button"
          class={name === picture ? "is-here" : ""}
          aria-pressed={name === picture}
          title={`${title} ([ and ])`}
          onClick={() => show(name)}
        >
          {label}
        </button>
      ))}
    </span>
  );
  return (
    <div class="ranks-view">
      {picture === "messages" ? <MessageView {...props} choice={choice} /> : <StripView {...props} choice={choice} />}
    </div>
  );
}
