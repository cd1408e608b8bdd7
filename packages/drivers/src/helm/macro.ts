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
  return yaml
    .split('\n')
    .map((line, index) =>
      line.replaceAll(macro, (whole: string, name: string, at: number) => {
        const value = variables.get(name);
        return value === undefined
          ? whole
          : inPlace(value, { line, at, length: whole.length, name, where: `${file}:${index + 1}` });
      }),
    )
    .join('\n');
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
  const quote = openQuote(line.slice(0, at));
  if (quote === '"') return JSON.stringify(value).slice(1, -1);
  if (quote === "'") {
    if (value.includes('\n'))
      throw invalid(`${where}: ${name} has several lines, which single quotes do not hold; use double quotes`);
    return value.replaceAll("'", "''");
  }
  const isWhole = /(?:^\s*(?:- )*|:\s+)$/.test(line.slice(0, at)) && /^\s*(?:#.*)?$/.test(line.slice(at + length));
  if (isWhole) return plainValue.test(value) ? value : JSON.stringify(value);
  // A part of a plain text, or a line of a block.
  const indent = /^\s*/.exec(line)?.[0] ?? '';
  return value.split('\n').join(`\n${indent}`);
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
