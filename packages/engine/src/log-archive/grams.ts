/*
 * The filter of a segment: which sequences of four bytes ("grams") occur in which of its frames. A search reads only
 * the entries of the grams of its text, and decompresses only frames that have all of them. Of a text of a dozen
 * characters that does not occur, nearly no frame has all, even if the lines are full of random ids.
 *
 * The filter has an entry for each of 65,536 hashes: a bit for each frame, in one or two bytes. Letters A to Z count as
 * a to z, so that one filter serves searches with and without case.
 */

export const gramEntries = 65_536;
const gramLength = 4;
const newline = 10;
// One entry costs a search of a segment some 10 µs.
const maxGrams = 12;

function hash(gram: number): number {
  return Math.imul(gram, 0x9e_37_79_b1) >>> 16;
}

function fold(byte: number): number {
  return byte >= 65 && byte <= 90 ? byte + 32 : byte;
}

/** Notes the grams of a frame. `entryBytes`: 1 or 2. */
export function addGrams(grams: Uint8Array, entryBytes: number, frame: number, text: Uint8Array): void {
  const offset = frame >> 3;
  const bit = 1 << (frame & 7);
  let gram = 0;
  let length = 0;
  for (const byte of text) {
    gram = (gram >>> 8) | (fold(byte) << 24);
    length = byte === newline ? 0 : length + 1;
    if (length >= gramLength) {
      const at = hash(gram) * entryBytes + offset;
      grams[at] = (grams[at] ?? 0) | bit;
    }
  }
}

/** Returns the entries of texts that all occur in each wanted line; empty if the filter does not help. */
export function entriesOf(texts: readonly string[]): number[] {
  const entries = new Set<number>();
  for (const text of texts) {
    // Case-insensitive comparisons change only ASCII letters to ASCII letters, so only these runs have grams.
    for (const [run] of text.matchAll(/[\0-\t\v-\u007F]+/g)) {
      const bytes = Buffer.from(run, 'latin1').map(fold);
      for (let at = 0; at + gramLength <= bytes.length; at += 1) entries.add(hash(Buffer.from(bytes).readInt32LE(at)));
    }
  }
  const all = [...entries];
  const step = Math.max(1, all.length / maxGrams);
  return Array.from({ length: Math.min(all.length, maxGrams) }, (_, index) => all[Math.floor(index * step)] ?? 0);
}

const quantifier = /^(?:[*?]|\{\d*(?:,\d*)?\})/;
/** Escapes of an expression that mean the character itself. */
const escapedPunctuation = /^\\[^\p{L}\p{N}]/u;

/**
 * Returns texts that occur in everything that a regular expression matches. Recognizes only plain characters outside of
 * groups; empty if there are alternatives outside of groups.
 */
export function requiredTexts(expression: string): string[] {
  const found: string[] = [];
  let text = '';
  const end = (): void => {
    found.push(text);
    text = '';
  };
  let at = 0;
  while (at < expression.length) {
    const rest = expression.slice(at);
    const character = rest[0] ?? '';
    if (character === '|') return [];
    if (quantifier.test(rest)) {
      text = text.slice(0, -1);
      end();
      at += quantifier.exec(rest)?.[0].length ?? 1;
    } else if (character === '(' || character === '[') {
      end();
      at += character === '(' ? groupLength(rest) : classLength(rest);
      at += quantifier.exec(expression.slice(at))?.[0].length ?? 0;
    } else if (character === '\\') {
      const literal = escapedPunctuation.exec(rest)?.[0];
      if (literal === undefined) {
        end();
        // The digits of an escape such as \x41 must not count as text.
        at += /^\\(?:x[\dA-Fa-f]{2}|u[\dA-Fa-f]{4}|c[A-Za-z]|k<[^>]*>|\d+|[^])/.exec(rest)?.[0].length ?? 2;
      } else {
        text += literal.slice(1);
        at += literal.length;
      }
    } else {
      if ('.^$+'.includes(character)) end();
      else text += character;
      at += 1;
    }
  }
  end();
  return found.filter((one) => one.length >= gramLength);
}

function classLength(rest: string): number {
  return /^\[(?:\\[^]|[^\]\\])*\]?/.exec(rest)?.[0].length ?? 1;
}

function groupLength(rest: string): number {
  let depth = 0;
  let at = 0;
  while (at < rest.length) {
    const character = rest[at];
    if (character === '\\') at += 1;
    else if (character === '[') at += classLength(rest.slice(at)) - 1;
    else if (character === '(') depth += 1;
    else if (character === ')') depth -= 1;
    at += 1;
    if (depth === 0) return at;
  }
  return at;
}
