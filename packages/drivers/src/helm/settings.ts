import { DriverError } from '../errors.ts';
import type { HelmSetting, HelmValues } from '../helm-driver.ts';
import { helmSettingFault } from '../helm-setting-names.ts';
import { hasMacro, replaced } from './macro.ts';

/*
 * Arguments of `--set` would be in the process list, where every user of the machine can read them. The settings are
 * therefore written into an additional, last values file. A name with an index (`hosts[0].name`) cannot be written
 * there, as a list in a file replaces the whole list. The value of such a name is passed in a file of its own if it is
 * a string. Other values (a number, true) are passed on the command line, and must not come from a variable.
 */

type Json = unknown;

export interface Overlay {
  /** A values file, as JSON; null if it would be empty. */
  readonly file: string | null;
  /** String values for `--set-file`. */
  readonly texts: readonly HelmSetting[];
  /** Arguments `--set` and `--set-json`. */
  readonly words: readonly string[];
}

type Way = keyof Pick<HelmValues, 'set' | 'setString' | 'setJson'>;

/**
 * Returns the settings in Helm's order: JSON, then typed values, then strings. Fails with HELM_VALUES_INVALID. Pure.
 */
export function toOverlay(values: HelmValues, variables: ReadonlyMap<string, string>): Overlay {
  const tree: Record<string, Json> = {};
  const texts: HelmSetting[] = [];
  const words: string[] = [];
  const all = (['setJson', 'set', 'setString'] as const).flatMap((way) => values[way].map((setting) => ({ way, setting })));
  for (const { way, setting } of all) {
    const [name, written] = setting;
    // An argument or file path contains the name next to the value, and Helm must be able to separate the two.
    const fault = helmSettingFault(name);
    if (fault !== null) throw invalid(`${JSON.stringify(name.slice(0, 100))} is not a name of a value: ${fault}`);
    const value = valueOf(way, written, variables, name);
    const path = pathOf(name);
    if (path !== null) put(tree, path, value);
    else if (typeof value === 'string') texts.push([name, value]);
    else if (hasMacro(written))
      throw invalid(`${name} has an index and uses a variable in a value that is not a string: set it in a values file`);
    else words.push('--set-json', `${name}=${JSON.stringify(value)}`);
  }
  return { file: Object.keys(tree).length === 0 ? null : JSON.stringify(tree), texts, words };
}

function valueOf(way: Way, written: string, variables: ReadonlyMap<string, string>, name: string): Json {
  if (way === 'setJson') return jsonOf(replacedJson(written, variables), name);
  // The value of a variable is always a string, whatever it looks like. Only a literal can be a number.
  if (hasMacro(written)) return replaced(written, variables);
  const isTyped = way === 'set';
  const list = /^\{(.*)\}$/s.exec(written)?.[1];
  if (list === undefined) return typed(written, isTyped);
  return list === '' ? [] : list.split(/(?<!\\),/).map((item) => typed(item, isTyped));
}

function replacedJson(written: string, variables: ReadonlyMap<string, string>): string {
  const escaped = new Map([...variables].map(([name, value]) => [name, JSON.stringify(value).slice(1, -1)]));
  return replaced(written, escaped);
}

function jsonOf(text: string, name: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid(`the value of ${name} in set_json is not valid JSON`);
  }
}

/**
 * Converts a value to the type that `helm --set` gives it. A backslash removes the special meaning of the next
 * character.
 */
function typed(written: string, isTyped: boolean): Json {
  if (isTyped) {
    if (written === 'true' || written === 'false') return written === 'true';
    if (written === 'null') return null;
    if (/^(?:0|[+-]?[1-9]\d*)$/.test(written) && Number.isSafeInteger(Number(written))) return Number(written);
  }
  return written.replaceAll(/\\(.)/gs, '$1');
}

/** Returns the members of a name: `a.b\.c` has `a` and `b.c`; null if the name has an index. */
function pathOf(name: string): readonly string[] | null {
  if (/(?<!\\)\[/.test(name)) return null;
  return name.split(/(?<!\\)\./).map((part) => part.replaceAll(/\\(.)/g, '$1'));
}

function put(tree: Record<string, Json>, path: readonly string[], value: Json): void {
  let location = tree;
  for (const member of path.slice(0, -1)) {
    const next = own(location, member);
    const inner = isMap(next) ? next : {};
    if (inner !== next) define(location, member, inner);
    location = inner;
  }
  const last = path.at(-1) ?? '';
  const there = own(location, last);
  if (isMap(there) && isMap(value)) for (const [name, one] of Object.entries(value)) put(there, [name], one);
  else define(location, last, value);
}

function own(location: Record<string, Json>, member: string): Json {
  return Object.hasOwn(location, member) ? location[member] : undefined;
}

// `__proto__` is an ordinary name.
function define(location: Record<string, Json>, member: string, value: Json): void {
  Object.defineProperty(location, member, { value, enumerable: true, configurable: true, writable: true });
}

function isMap(value: Json): value is Record<string, Json> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(message: string): DriverError {
  return new DriverError({ cause: 'HELM_VALUES_INVALID', message });
}
