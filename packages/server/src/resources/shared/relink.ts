/** Ids of copied records, mapped to the ids of their copies. */
export type IdMap = ReadonlyMap<string, string>;

// Matches ids as they occur in keys and host names: `APPLICATION_Z1A2B3C4D_HOST_INTERNAL`, `app-z1a2b3c4d`.
const shortIds = /(?<![A-Za-z0-9])([zZ])([0-9a-fA-F]{8})(?![A-Za-z0-9])/g;

/**
 * Returns a function that replaces short ids of copied records in a text by the short ids of their copies. Other parts
 * stay as they are.
 */
export function relinker(ids: IdMap): (text: string) => string {
  const short = new Map([...ids].map(([from, to]) => [from.slice(0, 8), to.slice(0, 8)]));
  return (text) =>
    text.replaceAll(shortIds, (written, letter: string, id: string) => {
      const copy = short.get(id.toLowerCase());
      if (copy === undefined) return written;
      return letter + (letter === 'Z' ? copy.toUpperCase() : copy);
    });
}
