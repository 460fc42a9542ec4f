// Messages and ranks, whose code is loaded when somebody opens them.

import type { ComponentType } from "preact";

import { useLoaded } from "./api-cache";
import type { ViewProps } from "./view-props";

export function RanksPage(props: ViewProps) {
  const loaded = useLoaded("ranks", async (): Promise<{ View: ComponentType<ViewProps> }> => {
    const { RanksView } = await import("./ranks/ranks-view");
    return { View: RanksView };
  });
  if (loaded.error) return <p class="trouble">{loaded.error}</p>;
  if (!loaded.value) return <p class="waiting">loading the pictures</p>;
  const { View } = loaded.value;
  return <View {...props} />;
}
