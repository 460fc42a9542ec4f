// Calls on files, whose code is loaded when somebody opens them.

import type { ComponentType } from "preact";

import { useLoaded } from "./api-cache";
import type { ViewProps } from "./view-props";

export function IoPage(props: ViewProps) {
  const loaded = useLoaded("io", async (): Promise<{ View: ComponentType<ViewProps> }> => {
    const { IoView } = await import("./io/io-view");
    return { View: IoView };
  });
  if (loaded.error) return <p class="trouble">{loaded.error}</p>;
  if (!loaded.value) return <p class="waiting">loading the pictures</p>;
  const { View } = loaded.value;
  return <View {...props} />;
}
