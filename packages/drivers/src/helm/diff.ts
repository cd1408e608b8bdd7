import { fieldsOfObjects, type Fields } from './objects.ts';

/*
 * What an upgrade would change, by object and field. Values of Secrets stay out of it, and so does what is below `env` in pods; all others
 * are what the chart says, redacted once more by whoever shows them: so a value is told whole or not at all, as half a secret is not found.
 */

const longestValue = 1_000;
const hidden = '(hidden)';

/** Two manifests, a line for each difference, in the order of the new one. Throws where one is no YAML. Pure. */
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

/** Whether a field of the object has what may be secret: of a Secret inside of another object, too. */
function isSecretField(object: Fields, name: string): boolean {
  return name === 'env' || name === 'stringData' || (name === 'data' && object['kind'] === 'Secret');
}

function words(value: unknown): string {
  if (value === undefined) return '(none)';
  const text = JSON.stringify(shown(value));
  return text.length <= longestValue ? text : `(${text.length} characters)`;
}

/** What is told of a value as a whole, such as a container that is new. */
function shown(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shown);
  if (!isFields(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, isSecretField(value, name) ? hidden : shown(one)]));
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
