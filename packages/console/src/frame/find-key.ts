const isMac = navigator.userAgent.includes('Mac');
/** The name of the shortcut that opens the finder. */
export const findKey = isMac ? '⌘K' : 'Ctrl K';

/** Returns whether the shortcut is pressed. On a Mac Ctrl K is left to text fields, where it deletes to the end. */
export function isFindKey({ key, metaKey, ctrlKey, altKey, shiftKey }: KeyboardEventInit): boolean {
  return key?.toLowerCase() === 'k' && (isMac ? metaKey && !ctrlKey : ctrlKey && !metaKey) === true && !altKey && !shiftKey;
}
