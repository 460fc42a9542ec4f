// The call graph, whose code is loaded when somebody opens it.

import type { ComponentType } from "preact";

import { useLoaded } from "./api-cache";
import type { ViewProps } from "./view-props";

export function CallGraphPage(props: ViewProps) {
  const loaded = useLoaded("callgraph", async (): Promise<{ View: ComponentType<ViewProps> }> => {
    const { GraphView } = await import("./callgraph/graph-view");
    return { View: GraphView };
  });
  if (loaded.error) return <p class="trouble">{loaded.error}</p>;
  if (!loaded.value) return <p class="waiting">loading the picture</p>;
  const { View } = loaded.value;
  return <View {...props} />;
}
