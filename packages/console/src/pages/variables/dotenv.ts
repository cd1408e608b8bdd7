/*
 * Reads the text of a .env file as shells and the usual libraries do: `export`, comments, three kinds of quotes, values
 * over several lines. Nothing is guessed: a line that cannot be read is named with its number.
 */

export interface DotenvEntry {
  readonly key: string;
  readonly value: string;
  /** Number of the line on which the entry begins, from 1. */
  readonly line: number;
}

export interface DotenvProblem {
  readonly line: number;
  readonly message: string;
  /** Whether the line was read all the same. */
  readonly isNote: boolean;
}

export interface Dotenv {
  /** One entry for each key, in the order of the text. */
  readonly entries: readonly DotenvEntry[];
  readonly problems: readonly DotenvProblem[];
}

const beginning = /^\s*(?:export\s+)?([^\s=:#'"]+)\s*=[ \t]*/;
const validKey = /^[A-Za-z_][A-Za-z0-9_]*$/;
const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

/** Returns the entries of the text, and what could not be read or deserves a look. */
export function parseDotenv(text: string): Dotenv {
  const lines = text.replace(/^\u{feff}/u, '').split(/\r\n|\r|\n/);
  const entries = new Map<string, DotenvEntry>();
  const problems: DotenvProblem[] = [];
  let at = 0;
  while (at < lines.length) {
    const found = entryAt(lines, at);
    const line = at + 1;
    if (found === null) {
      at += 1;
    } else if ('problem' in found) {
      problems.push({ line, message: found.problem, isNote: false });
      at += 1;
    } else {
      const { key, value, length } = found;
      const former = entries.get(key);
      if (former !== undefined)
        problems.push({ line, message: `${key} is also on line ${former.line}; this line counts.`, isNote: true });
      if (/\$\{?[A-Za-z_]/.test(value) && !found.isLiteral)
        problems.push({ line, message: `${key}: references are written {{KEY}} here; $ stays as it is.`, isNote: true });
      entries.delete(key);
      entries.set(key, { key, value, line });
      at += length;
    }
  }
  return { entries: [...entries.values()], problems };
}

type Found = { readonly key: string; readonly value: string; readonly length: number; readonly isLiteral: boolean };

/** Returns the entry that begins on a line; null for a line without one. */
function entryAt(lines: readonly string[], at: number): Found | { readonly problem: string } | null {
  const line = lines[at] ?? '';
  if (/^\s*(#|$)/.test(line)) return null;
  const match = beginning.exec(line);
  if (match === null) {
    return { problem: line.includes('=') ? 'The key before = cannot be read.' : 'There is no =; write KEY=value.' };
  }
  const [whole, key = ''] = match;
  if (!validKey.test(key)) {
    return { problem: `${key} is no key: letters, digits and _, and no digit at the beginning.` };
  }
  const rest = line.slice(whole.length);
  const quote = rest.charAt(0);
  if (quote !== '"' && quote !== "'" && quote !== '`') {
    return { key, value: rest.replace(/(^|\s)#.*$/s, '').trim(), length: 1, isLiteral: false };
  }
  return quoted([rest, ...lines.slice(at + 1)].join('\n'), quote, key);
}

function quoted(text: string, quote: string, key: string): Found | { readonly problem: string } {
  let value = '';
  for (let index = 1; index < text.length; index += 1) {
    const character = text.charAt(index);
    if (character === '\\' && quote === '"') {
      index += 1;
      const next = text.charAt(index);
      // A backslash before an unknown letter stays, as paths of Windows have it.
      value += escapes[next] ?? ('"\\$`\n'.includes(next) ? next : `\\${next}`);
    } else if (character === quote) {
      const after = /^[^\n]*/.exec(text.slice(index + 1))?.[0] ?? '';
      if (!/^\s*(#.*)?$/s.test(after)) return { problem: `There is text after the closing ${quote} of ${key}.` };
      return { key, value, length: text.slice(0, index).split('\n').length, isLiteral: quote !== '"' };
    } else value += character;
  }
  return { problem: `The value of ${key} begins with ${quote}, which is never closed.` };
}

/** Returns the text that `parseDotenv` reads as this entry. */
export function writeDotenv(key: string, value: string): string {
  if (/^[^\s'"`#\\$]*$/.test(value)) return `${key}=${value}`;
  if (!value.includes("'") && !value.includes('\r')) return `${key}='${value}'`;
  const escaped = value.replaceAll(/["\\$`]/g, String.raw`\$&`).replaceAll('\r', String.raw`\r`);
  return `${key}="${escaped}"`;
}
