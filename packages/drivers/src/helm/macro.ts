import { DriverError } from '../errors.ts';

/*
 * In values, `davit.env.KEY` stands for a variable of the service. Its value is inserted as text, escaped as its
 * position requires, so that a password with a quote or a colon stays one value and does not become other YAML. Helm
 * parses the result: its YAML parser is not ours.
 */

const macro = /\bdavit\.env\.([A-Za-z_]\w*)/g;

/** A scalar that means the same without quotes, whatever type it is taken for. */
const plainValue = /^[A-Za-z0-9_./+-][A-Za-z0-9_./+@-]*$/;

/** Returns the names used in a text that are not variables. Pure. */
export function unknownNames(text: string, variables: ReadonlyMap<string, string>): string[] {
  const names = [...text.matchAll(macro)].flatMap(([, name = '']) => (variables.has(name) ? [] : [name]));
  return [...new Set(names)];
}

export function hasMacro(text: string): boolean {
  return text.search(macro) !== -1;
}

/** Replaces the macros of a text that is not YAML but a single value. An unknown name stays as written. Pure. */
export function replaced(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replaceAll(macro, (whole, name: string) => variables.get(name) ?? whole);
}

/**
 * Returns YAML with its macros replaced. Fails with HELM_VALUES_INVALID if a value cannot be inserted at its position.
 * Pure.
 */
export function replacedInYaml(yaml: string, variables: ReadonlyMap<string, string>, file: string): string {
  const lines = yaml.split('\n');
  const inBlock = blockLines(lines);
  return lines
    .map((line, index) =>
      line.replaceAll(macro, (whole: string, name: string, at: number) => {
        const value = variables.get(name);
        if (value === undefined) return whole;
        const where = `${file}:${index + 1}`;
        // Values in comments have no effect; a value that could end the line is not inserted.
        if (!inBlock.has(index) && isComment(line.slice(0, at))) return plainValue.test(value) ? value : whole;
        return inBlock.has(index) ? inText(value, line) : atPosition(value, { line, at, length: whole.length, name, where });
      }),
    )
    .join('\n');
}

/** Returns the lines that belong to block scalars, below a line that ends with `|` or `>`. */
function blockLines(lines: readonly string[]): ReadonlySet<number> {
  const found = new Set<number>();
  let above: number | null = null;
  for (const [index, line] of lines.entries()) {
    const indent = /^ */.exec(line)?.[0].length ?? 0;
    if (above !== null && (line.trim() === '' || indent > above)) {
      found.add(index);
      continue;
    }
    above = /(?:^|[:-]\s+)[|>][-+\d]*\s*(?:#.*)?$/.test(line) ? indent : null;
  }
  return found;
}

/** Indents further lines of a value as far as the first one. */
function inText(value: string, line: string): string {
  return value.split('\n').join(`\n${/^\s*/.exec(line)?.[0] ?? ''}`);
}

interface ValuePosition {
  readonly line: string;
  readonly at: number;
  readonly length: number;
  readonly name: string;
  readonly where: string;
}

function atPosition(value: string, position: ValuePosition): string {
  const { line, at, length, name, where } = position;
  const [before, after] = [line.slice(0, at), line.slice(at + length)];
  const quote = openQuote(before);
  if (quote === '"') return JSON.stringify(value).slice(1, -1);
  if (quote === "'") {
    if (value.includes('\n'))
      throw invalid(`${where}: ${name} has several lines, which single quotes cannot contain; use double quotes`);
    return value.replaceAll("'", "''");
  }
  if (plainValue.test(value)) return value;
  const isFlow = /[[{][^\]}]*$/.test(before);
  const begins = isFlow ? /[[{,:]\s*$/.test(before) : /(?:^\s*(?:- )*|:\s+)$/.test(before);
  const ends = isFlow ? /^\s*(?:[,\]}].*)?$/.test(after) : /^\s*(?:#.*)?$/.test(after);
  if (begins && ends) return JSON.stringify(value);
  throw invalid(`${where}: ${name} has characters with a meaning in YAML; put the whole text in double quotes`);
}

/** Returns whether the beginning of a line ends in a comment. */
function isComment(before: string): boolean {
  return [...before.matchAll(/(?<!\S)#/g)].some(({ index }) => openQuote(before.slice(0, index)) === null);
}

/** Returns the quote that is open at the end of the beginning of a line. */
function openQuote(before: string): '"' | "'" | null {
  let open: '"' | "'" | null = null;
  for (let index = 0; index < before.length; index += 1) {
    const sign = before[index];
    if (open === '"' && sign === '\\') index += 1;
    else if (open !== null && sign === open) open = null;
    // A quote in the middle of a word is an apostrophe.
    else if (open === null && (sign === '"' || sign === "'") && /(?:^|[\s[{,:])$/.test(before.slice(0, index))) open = sign;
  }
  return open;
}

function invalid(message: string): DriverError {
  return new DriverError({ cause: 'HELM_VALUES_INVALID', message });
}
