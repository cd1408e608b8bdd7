import { encodedForms } from './encoded-forms.ts';
import { AppError } from './errors.ts';

const shown = '[REDACTED]';

export interface Redactor {
  (text: string): string;
  /** Approximate bytes of memory that the redactor holds. Omitted: next to none. */
  readonly bytes?: number;
}

/** Maximum number of characters of all values of one redactor together. */
const maxCharacters = 16 * 1024 * 1024;
/**
 * Minimum length of a value in characters. Shorter values are not redacted: replacing every `1` of a log would destroy
 * it.
 */
const shortestForm = 4;
const shortestLine = 8;
const blockLength = 32;
/** Bytes that an entry of a Map with a small array takes. */
const bytesOfStart = 100;
/** Minimum length of a form that is recognized by its blocks, so that neither time nor memory depends on its length. */
const longForm = 2 * blockLength;
/** Number of characters that are prepared before the event loop runs other work: some tens of milliseconds. */
const charactersAtOnce = 128 * 1024;

/**
 * Returns a function that replaces every occurrence of the given values by `[REDACTED]`: as plain, base64, base64url,
 * URL-encoded, JSON-escaped and hexadecimal text.
 * - Values of fewer than 4 characters are ignored.
 * - In a value with several lines (a private key), each line of at least 8 characters is also redacted by itself,
 *   because logs are redacted line by line.
 * - In a form of 64 or more characters, each run of 63 characters is recognized too. A value that is cut off or printed
 *   over several lines is therefore hidden except for at most 31 characters at each end.
 *
 * The function's running time depends on the text alone. It stores hashes of the values instead of the values. Throws
 * an AppError SECRETS_TOO_LARGE for more than 16,777,216 characters. No error contains a value.
 */
export async function redactor(values: Iterable<string>): Promise<Redactor> {
  const distinct = new Set(values);
  let characters = 0;
  for (const value of distinct) characters += value.length;
  if (characters > maxCharacters) throw tooLarge();
  const forms = new Forms();
  const seen = new Set<string>();
  let sincePause = 0;
  for (const value of distinct) {
    for (const part of partsOf(value)) {
      if (seen.has(part)) continue;
      seen.add(part);
      for (const form of new Set(encodedForms(part))) forms.add(form);
      sincePause += part.length;
      if (sincePause < charactersAtOnce) continue;
      sincePause = 0;
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }
  if (forms.isEmpty) return (text) => text;
  return Object.assign((text: string) => replaced(text, forms.find(text)), { bytes: forms.bytes });
}

function tooLarge(): AppError {
  const message = `The secrets together are larger than ${maxCharacters} characters, which is more than Davit can keep out of logs.`;
  return new AppError({ code: 'SECRETS_TOO_LARGE', message });
}

function partsOf(value: string): string[] {
  const whole = value.length < shortestForm ? [] : [value];
  const lines = value.split(/\r?\n/).map((line) => line.trim());
  return lines.length === 1 ? whole : [...whole, ...lines.filter((line) => line.length >= shortestLine)];
}

/** `[start, end)` in a text. */
type Range = readonly [start: number, end: number];

/**
 * Replaces ranges of a text. Overlapping ranges are merged, because the characters that two values share belong to
 * both.
 */
function replaced(text: string, ranges: Range[]): string {
  if (ranges.length === 0) return text;
  ranges.sort(([a], [b]) => a - b);
  let result = '';
  let end = 0;
  for (const [from, to] of ranges) {
    if (from >= end) result += text.slice(end, from) + shown;
    end = Math.max(end, to);
  }
  return result + text.slice(end);
}

/*
 * The hash of a run of characters is c[0] * f^(n-1) + ... + c[n-1] modulo 2^32. With the hashes of all prefixes of a
 * text, the hash of any of its runs takes one multiplication (Rabin and Karp).
 */
const factor = 0x01000193;
const otherFactor = 0x5bd1e995;
/** Powers of `factor` by exponent, from 0 to `longForm`. */
const powers = Int32Array.from({ length: longForm + 1 });
powers[0] = 1;
for (let exponent = 1; exponent <= longForm; exponent += 1) powers[exponent] = Math.imul(powers[exponent - 1] ?? 0, factor);

function hashOf(text: string, start: number, length: number, by: number): number {
  let hash = 0;
  for (let at = start; at < start + length; at += 1) hash = (Math.imul(hash, by) + text.charCodeAt(at) + 1) | 0;
  return hash;
}

/** Spreads the bits of a hash over its low ones. */
function mixed(hash: number): number {
  const spread = Math.imul(hash ^ (hash >>> 15), 0x9e3779b1);
  return spread ^ (spread >>> 13);
}

/** Buffer for the hashes of prefixes. All calls share it, because calls are synchronous. */
let prefixes = new Int32Array(64 * 1024);

function prefixHashes(text: string): Int32Array {
  if (text.length + 1 > prefixes.length && text.length < 1024 * 1024) prefixes = new Int32Array(2 * text.length);
  const hashes = text.length + 1 > prefixes.length ? new Int32Array(text.length + 1) : prefixes;
  let hash = 0;
  for (let at = 0; at < text.length; at += 1) {
    hash = (Math.imul(hash, factor) + text.charCodeAt(at) + 1) | 0;
    hashes[at + 1] = hash;
  }
  return hashes;
}

/**
 * The forms to find, identified by two hashes of 32 bits. Short forms are stored as a whole. Long forms are stored by
 * their blocks of 32 characters and their last 32 characters. A text that has both hashes by chance is redacted
 * needlessly.
 */
class Forms {
  readonly #hashes = new HashPairs();
  /** Lengths of short forms as a bit set of two words, by the hash of their first characters. */
  #lengths = new Uint32Array(2 * 1024);
  readonly #starts = new Map<number, [low: number, high: number]>();
  #hasBlocks = false;

  get isEmpty(): boolean {
    return this.#hashes.isEmpty;
  }

  get bytes(): number {
    return this.#hashes.bytes + this.#lengths.byteLength + this.#starts.size * bytesOfStart;
  }

  add(form: string): void {
    if (form.length < shortestForm) return;
    if (form.length < longForm) return this.#addShort(form);
    this.#hasBlocks = true;
    for (let at = 0; at + blockLength <= form.length; at += blockLength) this.#addRun(form, at, blockLength);
    this.#addRun(form, form.length - blockLength, blockLength);
  }

  find(text: string): Range[] {
    if (text.length < shortestForm) return [];
    const hashes = prefixHashes(text);
    const found = this.#findShort(text, hashes);
    return this.#hasBlocks ? [...found, ...this.#findBlocks(text, hashes)] : found;
  }

  #addShort(form: string): void {
    this.#addRun(form, 0, form.length);
    const start = hashOf(form, 0, shortestForm, factor);
    const lengths = this.#starts.get(start) ?? [0, 0];
    lengths[form.length >>> 5 === 0 ? 0 : 1] |= 1 << (form.length & 31);
    this.#starts.set(start, lengths);
    if (16 * this.#starts.size > this.#lengths.length) this.#growLengths();
    else this.#mark(start, lengths);
  }

  #mark(start: number, [low, high]: readonly [number, number]): void {
    const slot = (mixed(start) << 1) & (this.#lengths.length - 2);
    this.#lengths[slot] = (this.#lengths[slot] ?? 0) | low;
    this.#lengths[slot + 1] = (this.#lengths[slot + 1] ?? 0) | high;
  }

  #growLengths(): void {
    this.#lengths = new Uint32Array(4 * this.#lengths.length);
    for (const [start, lengths] of this.#starts) this.#mark(start, lengths);
  }

  #addRun(form: string, start: number, length: number): void {
    this.#hashes.add(hashOf(form, start, length, factor), hashOf(form, start, length, otherFactor));
  }

  #findShort(text: string, hashes: Int32Array): Range[] {
    const found: Range[] = [];
    const lengths = this.#lengths;
    const mask = lengths.length - 2;
    const startPower = powers[shortestForm] ?? 0;
    let end = 0;
    for (let at = 0; at + shortestForm <= text.length; at += 1) {
      const start = ((hashes[at + shortestForm] ?? 0) - Math.imul(hashes[at] ?? 0, startPower)) | 0;
      const slot = (mixed(start) << 1) & mask;
      const low = lengths[slot] ?? 0;
      const high = lengths[slot + 1] ?? 0;
      if (low === 0 && high === 0) continue;
      const length = this.#longestAt(text, { hashes, at, low, high, more: Math.max(end - at, 0) });
      if (length === 0) continue;
      end = at + length;
      found.push([at, end]);
    }
    return found;
  }

  /**
   * Returns the length of the longest short form that starts at `at` and is longer than `more`, or 0 if there is none.
   */
  #longestAt(text: string, { hashes, at, low, high, more }: Candidate): number {
    const most = Math.min(longForm - 1, text.length - at);
    for (let length = most; length > more && length >= shortestForm; length -= 1) {
      if ((((length >>> 5 === 0 ? low : high) >>> (length & 31)) & 1) === 0) continue;
      if (this.#isKnown(text, hashes, at, length)) return length;
    }
    return 0;
  }

  #findBlocks(text: string, hashes: Int32Array): Range[] {
    const found: Range[] = [];
    let from = 0;
    let to = -1;
    for (let at = 0; at + blockLength <= text.length; at += 1) {
      if (!this.#isKnown(text, hashes, at, blockLength)) continue;
      if (at > to) {
        if (to >= 0) found.push([from, to]);
        from = at;
      }
      to = at + blockLength;
    }
    if (to >= 0) found.push([from, to]);
    return found;
  }

  #isKnown(text: string, hashes: Int32Array, at: number, length: number): boolean {
    const hash = ((hashes[at + length] ?? 0) - Math.imul(hashes[at] ?? 0, powers[length] ?? 0)) | 0;
    return this.#hashes.hasFirst(hash) && this.#hashes.has(hash, hashOf(text, at, length, otherFactor));
  }
}

interface Candidate {
  readonly hashes: Int32Array;
  readonly at: number;
  /** Lengths of the forms that may start there, as bits: lengths under 32 in `low`, the others in `high`. */
  readonly low: number;
  readonly high: number;
  readonly more: number;
}

/**
 * A set of pairs of hashes with linear probing. A JavaScript Set takes ten times the memory, and some redactors have
 * millions of pairs.
 */
class HashPairs {
  /** Table of pairs, never more than half full. The pair 0, 0 marks a free slot. */
  #table = new Int32Array(2 * 64);
  #count = 0;

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  get bytes(): number {
    return this.#table.byteLength;
  }

  add(first: number, second: number): void {
    if (4 * (this.#count + 1) > this.#table.length) this.#grow();
    const table = this.#table;
    const mask = table.length - 2;
    for (let slot = (mixed(first) << 1) & mask; ; slot = (slot + 2) & mask) {
      if (table[slot] === first && table[slot + 1] === second) return;
      if (table[slot] !== 0 || table[slot + 1] !== 0) continue;
      table[slot] = first;
      table[slot + 1] = second;
      this.#count += 1;
      return;
    }
  }

  /**
   * Returns whether any pair starts with this hash. It is called for every position of a text, and mostly returns
   * false.
   */
  hasFirst(first: number): boolean {
    const table = this.#table;
    const mask = table.length - 2;
    for (let slot = (mixed(first) << 1) & mask; ; slot = (slot + 2) & mask) {
      if (table[slot] === 0 && table[slot + 1] === 0) return false;
      if (table[slot] === first) return true;
    }
  }

  has(first: number, second: number): boolean {
    const table = this.#table;
    const mask = table.length - 2;
    for (let slot = (mixed(first) << 1) & mask; ; slot = (slot + 2) & mask) {
      if (table[slot] === 0 && table[slot + 1] === 0) return false;
      if (table[slot] === first && table[slot + 1] === second) return true;
    }
  }

  #grow(): void {
    const former = this.#table;
    this.#table = new Int32Array(2 * former.length);
    this.#count = 0;
    for (let slot = 0; slot < former.length; slot += 2) {
      const first = former[slot] ?? 0;
      const second = former[slot + 1] ?? 0;
      if (first !== 0 || second !== 0) this.add(first, second);
    }
  }
}
