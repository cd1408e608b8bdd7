/** Announces a change that no field makes, as fields do: a dialog asks before what was entered is lost. */
export function announceInput(element: Element): void {
  element.dispatchEvent(new Event('input', { bubbles: true }));
}
