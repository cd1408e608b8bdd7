import { isUtf8 } from 'node:buffer';
import { AppError } from '@davit/base';
import { parse } from 'secure-json-parse';

/**
 * Parses a JSON body. Returns undefined for an empty body. Rejects invalid JSON (naming the position), keys that would
 * change prototypes, and text that PostgreSQL cannot store.
 */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  if (!isUtf8(bytes)) throw new AppError({ code: 'MALFORMED_JSON', message: 'The body is not valid UTF-8.' });
  refuseDepth(bytes);
  const text = bytes.toString('utf8');
  const value = parseValue(text);
  // Only an escape can produce these: a raw NUL is not valid JSON, and half of a surrogate pair is not valid UTF-8.
  if (text.includes('\\u')) refuseUnstorable(value, '');
  return value;
}

/** Decodes a text body. Returns undefined for an empty body. Rejects text that PostgreSQL cannot store. */
export function parseText(bytes: Buffer): string | undefined {
  if (bytes.length === 0) return undefined;
  if (!isUtf8(bytes)) throw new AppError({ code: 'MALFORMED_REQUEST', message: 'The body is not valid UTF-8.' });
  const text = bytes.toString('utf8');
  refuseUnstorable(text, '');
  return text;
}

/**
 * Deepest nesting accepted. Functions that walk a value recurse once per level; no operation needs more than about ten.
 */
const maxLevels = 200;

function refuseDepth(bytes: Buffer): void {
  let levels = 0;
  let isText = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (isText && byte === 0x5c) at += 1; // A backslash escapes the next character.
    else if (byte === 0x22) isText = !isText;
    else if (!isText && (byte === 0x5b || byte === 0x7b)) levels += 1;
    else if (!isText && (byte === 0x5d || byte === 0x7d)) levels -= 1;
    if (levels <= maxLevels) continue;
    const message = `The body nests objects and lists more than ${maxLevels} levels deep. Make it flatter, or send the inner part as a text.`;
    throw new AppError({ code: 'MALFORMED_JSON', message });
  }
}

function parseValue(text: string): unknown {
  try {
    return parse(text, undefined, { protoAction: 'error', constructorAction: 'error' });
  } catch (error) {
    if (error instanceof SyntaxError && error.message.includes('forbidden prototype property')) {
      throw new AppError({ code: 'MALFORMED_JSON', message: 'The body has a key `__proto__` or `constructor.prototype`.' });
    }
    const at = firstFault(text);
    const before = text.slice(0, at).split('\n');
    const where = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
    const what = at >= text.length ? 'it ends too early' : `${JSON.stringify(text.charAt(at))} is not expected there`;
    throw new AppError({ code: 'MALFORMED_JSON', message: `The body is not valid JSON: at ${where}, ${what}.`, cause: error });
  }
}

/** Throws VALIDATION_FAILED for a string (key or value) that contains a NUL or half of a surrogate pair. */
export function refuseUnstorable(value: unknown, path: string): void {
  if (typeof value === 'string') {
    if (isStorable(value)) return;
    const message = 'must not contain the character U+0000 or half of a surrogate pair';
    throw new AppError({
      code: 'VALIDATION_FAILED',
      message: `${path === '' ? 'the body' : path} ${message}`,
      errors: [{ path, message }],
    });
  }
  if (typeof value !== 'object' || value === null) return;
  const prefix = path === '' ? '' : `${path}.`;
  if (Array.isArray(value)) {
    value.forEach((item, index) => refuseUnstorable(item, `${prefix}${index}`));
    return;
  }
  for (const [key, member] of Object.entries(value)) {
    if (!isStorable(key)) refuseUnstorable(key, `${prefix}${JSON.stringify(key)}`);
    refuseUnstorable(member, `${prefix}${key}`);
  }
}

function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

const blank = /[ \t\n\r]*/y;
const scalar =
  // JSON allows no control characters in strings.
  // oxlint-disable-next-line no-control-regex
  /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

type Expected = 'value' | 'firstItem' | 'firstKey' | 'key' | 'colon' | 'next' | 'end';

/**
 * Returns the offset of the first character that is not valid JSON. V8 does not always report it, and its message
 * quotes the body, which may hold a secret.
 */
function firstFault(text: string): number {
  const open: ('}' | ']')[] = [];
  let at = 0;
  let expected: Expected = 'value';
  const matches = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    if (!pattern.test(text)) return false;
    at = pattern.lastIndex;
    return true;
  };
  const afterValue = (): Expected => (open.length === 0 ? 'end' : 'next');
  const next = (character: string): Expected | undefined => {
    if (character === open.at(-1) && (expected === 'firstItem' || expected === 'firstKey' || expected === 'next')) {
      open.pop();
      at += 1;
      return afterValue();
    }
    if (expected === 'value' || expected === 'firstItem') {
      if (character !== '{' && character !== '[') return matches(scalar) ? afterValue() : undefined;
      open.push(character === '{' ? '}' : ']');
      at += 1;
      return character === '{' ? 'firstKey' : 'firstItem';
    }
    if (expected === 'firstKey' || expected === 'key') return character === '"' && matches(scalar) ? 'colon' : undefined;
    if (character !== (expected === 'colon' ? ':' : ',')) return undefined;
    at += 1;
    return expected === 'colon' || open.at(-1) === ']' ? 'value' : 'key';
  };
  for (;;) {
    matches(blank);
    if (at >= text.length || expected === 'end') return at;
    const following = next(text.charAt(at));
    if (following === undefined) return at;
    expected = following;
  }
}
