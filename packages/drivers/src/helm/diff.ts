import { fieldsOfObjects, type Fields } from './objects.ts';

/*
 * Lists the changes of an upgrade, by object and field. Values of Secrets and values below `env` in pods are left out.
 * All other values come from the chart, and the caller redacts secrets in them before it shows them. A value is
 * therefore shown whole or not at all, as redaction does not find half a secret.
 */

const longestValue = 1_000;
const hidden = '(hidden)';

/**
 * Returns a line for each difference between two manifests, in the order of the new one. Throws if one is not YAML.
 * Pure.
 */
export function manifestDiff(former: string, next: string): string[] {
  const before = objectsByName(former);
  const after = objectsByName(next);
  const changed = [...after].flatMap(([name, object]) => {
    const old = before.get(name);
    if (old === undefined) return [`+ ${name}`];
    const lines = fieldDiff(old, object, '', object['kind'] === 'Secret').map((line) => `    ${line}`);
    return lines.length === 0 ? [] : [`~ ${name}`, ...lines];
  });
  return [...changed, ...[...before.keys()].filter((name) => !after.has(name)).map((name) => `- ${name}`)];
}

function objectsByName(manifest: string): Map<string, Fields> {
  return new Map(fieldsOfObjects(manifest).map((object) => [nameOf(object), object]));
}

function nameOf(object: Fields): string {
  const metadata = isFields(object['metadata']) ? object['metadata'] : {};
  const namespace = typeof metadata['namespace'] === 'string' ? ` in ${metadata['namespace']}` : '';
  return `${String(object['kind'])} ${String(metadata['name'])}${namespace}`;
}

function fieldDiff(former: unknown, next: unknown, path: string, isHidden: boolean): string[] {
  if (JSON.stringify(former) === JSON.stringify(next)) return [];
  if (isFields(former) && isFields(next)) {
    const names = [...new Set([...Object.keys(former), ...Object.keys(next)])];
    return names.flatMap((name) =>
      fieldDiff(former[name], next[name], path === '' ? name : `${path}.${name}`, isHidden || isSecretField(next, name)),
    );
  }
  if (Array.isArray(former) && Array.isArray(next)) {
    const length = Math.max(former.length, next.length);
    return Array.from({ length }, (_, index) => fieldDiff(former[index], next[index], `${path}[${index}]`, isHidden)).flat();
  }
  return [`${path}: ${isHidden ? hidden : `${words(former)} -> ${words(next)}`}`];
}

/** Returns whether a field of the object may contain secrets, also in a Secret inside another object. */
function isSecretField(object: Fields, name: string): boolean {
  return name === 'env' || name === 'stringData' || (name === 'data' && object['kind'] === 'Secret');
}

function words(value: unknown): string {
  if (value === undefined) return '(none)';
  const text = JSON.stringify(shown(value));
  return text.length <= longestValue ? text : `(${text.length} characters)`;
}

/** Returns the visible form of a whole value, such as a new container. */
function shown(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shown);
  if (!isFields(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, isSecretField(value, name) ? hidden : shown(one)]));
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
