import { misused } from './errors.ts';

/** Returns the variables of a .env file. A later line of the same key wins. Refuses lines that are no variable. */
export function parseEnvironmentFile(text: string): Map<string, string> {
  const found = new Map<string, string>();
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    if (/^\s*(#|$)/.test(line)) continue;
    // `.` does not match the line separators of Unicode, which end no line of such a file.
    const match = /^\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*=\s*([^\r]*)$/.exec(line);
    if (match === null) throw misused(`Line ${at + 1} is not of the form KEY=value.`);
    const [, key = '', rest = ''] = match;
    const quote = /^["']/.exec(rest)?.[0];
    if (quote === undefined) {
      found.set(key, rest.replace(/(^|\s+)#.*$/s, '').trimEnd());
      continue;
    }
    let quoted = rest.slice(1);
    const begun = at;
    while (endOf(quoted, quote) === -1) {
      at += 1;
      if (at >= lines.length) throw misused(`The quotation mark in line ${begun + 1} has no end.`);
      quoted += `\n${lines[at]}`;
    }
    const value = quoted.slice(0, endOf(quoted, quote));
    if (!/^\s*(#.*)?$/s.test(quoted.slice(value.length + 1))) {
      throw misused(`Line ${at + 1} has text after the quotation mark that ends the value of ${key}.`);
    }
    found.set(key, quote === '"' ? unescaped(value) : value);
  }
  return found;
}

/** Returns where the quoted text ends; -1 if its end is not in the text. */
function endOf(text: string, quote: string): number {
  for (let at = 0; at < text.length; at += 1) {
    if (quote === '"' && text[at] === '\\') at += 1;
    else if (text[at] === quote) return at;
  }
  return -1;
}

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

function unescaped(text: string): string {
  // A backslash before another letter stays, as paths of Windows have it. The console reads such files in the same way.
  return text.replaceAll(/\\([\s\S])/g, (all, letter: string) => escapes[letter] ?? ('"\\$`\n'.includes(letter) ? letter : all));
}

/** Returns a line of a .env file, which `parseEnvironmentFile` reads back. */
export function environmentLine(key: string, value: string): string {
  if (/^[\w./:@%+,-]*$/.test(value)) return `${key}=${value}`;
  // Other readers, such as a shell, replace $NAME and `command` between double quotation marks.
  if (/[$`]/.test(value) && !/['\r\n]/.test(value)) return `${key}='${value}'`;
  return `${key}="${value
    .replaceAll(/[\\"]/g, String.raw`\$&`)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('\r', String.raw`\r`)
    .replaceAll('\t', String.raw`\t`)}"`;
}
