import { DriverError } from '../errors.ts';

/*
 * `davit.env.KEY` in values stands for a variable of the service. What it stands for is put in as text, in the way in which the place needs it,
 * so that a password with a quote or a colon in it is a value and not other YAML. Helm reads the result: its YAML is not ours.
 */

const macro = /\bdavit\.env\.([A-Za-z_]\w*)/g;

/** A scalar that means the same without quotes, whatever it is taken for. */
const plainValue = /^[A-Za-z0-9_./+-][A-Za-z0-9_./+@-]*$/;

/** Names that a text uses and that are none of the variables. Pure. */
export function unknownNames(text: string, variables: ReadonlyMap<string, string>): string[] {
  const names = [...text.matchAll(macro)].flatMap(([, name = '']) => (variables.has(name) ? [] : [name]));
  return [...new Set(names)];
}

export function hasMacro(text: string): boolean {
  return text.search(macro) !== -1;
}

/** A text that is no YAML: a value alone. An unknown name stays as it is written. Pure. */
export function replaced(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replaceAll(macro, (whole, name: string) => variables.get(name) ?? whole);
}

/** YAML with its variables. HELM_VALUES_INVALID where a value cannot stand in its place. Pure. */
export function replacedInYaml(yaml: string, variables: ReadonlyMap<string, string>, file: string): string {
  const lines = yaml.split('\n');
  const inBlock = blockLines(lines);
  return lines
    .map((line, index) =>
      line.replaceAll(macro, (whole: string, name: string, at: number) => {
        const value = variables.get(name);
        if (value === undefined) return whole;
        const where = `${file}:${index + 1}`;
        // Nobody reads a value there; one that could end the line is not put in.
        if (!inBlock.has(index) && isComment(line.slice(0, at))) return plainValue.test(value) ? value : whole;
        return inBlock.has(index) ? inText(value, line) : inPlace(value, { line, at, length: whole.length, name, where });
      }),
    )
    .join('\n');
}

/** Which lines are text as it stands, below a line that ends with `|` or `>`. */
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

/** Further lines of a value are as far in as the first one. */
function inText(value: string, line: string): string {
  return value.split('\n').join(`\n${/^\s*/.exec(line)?.[0] ?? ''}`);
}

interface Place {
  readonly line: string;
  readonly at: number;
  readonly length: number;
  readonly name: string;
  readonly where: string;
}

function inPlace(value: string, place: Place): string {
  const { line, at, length, name, where } = place;
  const [before, after] = [line.slice(0, at), line.slice(at + length)];
  const quote = openQuote(before);
  if (quote === '"') return JSON.stringify(value).slice(1, -1);
  if (quote === "'") {
    if (value.includes('\n'))
      throw invalid(`${where}: ${name} has several lines, which single quotes do not hold; use double quotes`);
    return value.replaceAll("'", "''");
  }
  if (plainValue.test(value)) return value;
  const isFlow = /[[{][^\]}]*$/.test(before);
  const begins = isFlow ? /[[{,:]\s*$/.test(before) : /(?:^\s*(?:- )*|:\s+)$/.test(before);
  const ends = isFlow ? /^\s*(?:[,\]}].*)?$/.test(after) : /^\s*(?:#.*)?$/.test(after);
  if (begins && ends) return JSON.stringify(value);
  throw invalid(`${where}: ${name} has signs that mean something in YAML; write the whole text in double quotes`);
}

/** Whether a line's beginning ends in a comment. */
function isComment(before: string): boolean {
  return [...before.matchAll(/(?<!\S)#/g)].some(({ index }) => openQuote(before.slice(0, index)) === null);
}

/** The quote that is open at the end of a line's beginning. */
function openQuote(before: string): '"' | "'" | null {
  let open: '"' | "'" | null = null;
  for (let index = 0; index < before.length; index += 1) {
    const sign = before[index];
    if (open === '"' && sign === '\\') index += 1;
    else if (open !== null && sign === open) open = null;
    // In the middle of a word it is an apostrophe.
    else if (open === null && (sign === '"' || sign === "'") && /(?:^|[\s[{,:])$/.test(before.slice(0, index))) open = sign;
  }
  return open;
}

function invalid(message: string): DriverError {
  return new DriverError({ cause: 'HELM_VALUES_INVALID', message });
}
