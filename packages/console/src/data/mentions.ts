const reference = /\{\{[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*\}\}/g;
const word = /[a-z0-9][a-z0-9.-]*[a-z0-9]/g;
/** A host of one word counts only where an address has its host: elsewhere it may be any word. */
const authority = /(?:\/\/|@)([a-z0-9-]+)(?![a-z0-9.-])|^([a-z0-9-]+):\d{2,5}$/g;

export interface Mentions {
  /** The keys to which the value refers as `{{KEY}}`. */
  readonly keys: readonly string[];
  /** The words that can be a host with a name of its own, such as `z1a2b3c4d-postgresql` or `shop.example.org`. */
  readonly words: readonly string[];
  /** The words that stand where an address has its host, such as `api` in `http://api:8080`. */
  readonly authorities: readonly string[];
}

/** Returns what a value names, each once. */
export function mentionsIn(value: string): Mentions {
  const lower = value.toLowerCase();
  const once = (all: readonly string[]): string[] => [...new Set(all)];
  return {
    keys: once(Array.from(value.matchAll(reference), ([, key = '']) => key)),
    words: once(lower.match(word) ?? []),
    authorities: once(Array.from(lower.matchAll(authority), ([, inAddress, alone]) => inAddress ?? alone ?? '')),
  };
}
