/** Returns whether a text has control characters (including line breaks and tabs). */
export function hasControlCharacter(text: string): boolean {
  // oxlint-disable-next-line no-control-regex
  return /[\u0000-\u001f\u007f]/.test(text);
}
