/** Returns the message of something that was thrown, which may be no error at all. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
