// The pictures, whose code is loaded when somebody opens them.

import type { ComponentType } from "preact";

import { useLoaded } from "./api-cache";
import type { ViewProps } from "./view-props";

export function FlamePage(props: ViewProps) {
  const loaded = useLoaded("flame", async (): Promise<{ View: ComponentType<ViewProps> }> => {
    const { FlameView } = await import("./flame/flame-view");
    return { View: FlameView };
  });
  if (loaded.error) return <p class="trouble">{loaded.error}</p>;
  if (!loaded.value) return <p class="waiting">loading the pictures</p>;
  const { View } = loaded.value;
  return <View {...props} />;
}
