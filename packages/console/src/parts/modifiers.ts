interface Modifiers {
  readonly altKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly shiftKey: boolean;
}

/** Returns whether a key is held that gives a key or a click a meaning of the browser, as "back" or a new tab. */
export function hasModifier({ altKey, ctrlKey, metaKey, shiftKey }: Modifiers): boolean {
  return altKey || ctrlKey || metaKey || shiftKey;
}

/** Returns whether a click follows a link in this tab: with the first button, and without a modifier. */
export function isPlainClick(event: Modifiers & { readonly button: number }): boolean {
  return event.button === 0 && !hasModifier(event);
}
