import { loadAll } from 'js-yaml';

/*
 * What an upgrade would change, by object and field. Values of Secrets stay out of it, and so do those of environment variables in pods; all others
 * are what the chart says, redacted once more by whoever shows them.
 */

type Fields = Readonly<Record<string, unknown>>;

const longestValue = 120;

/** Two manifests, a line for each difference, in the order of the new one. Throws where one is no YAML. Pure. */
export function manifestDiff(former: string, next: string): string[] {
  const before = objectsByName(former);
  const after = objectsByName(next);
  const changed = [...after].flatMap(([name, object]) => {
    const old = before.get(name);
    if (old === undefined) return [`+ ${name}`];
    const lines = fieldDiff(old, object, '').map((line) => `    ${hidden(name) ? line.replace(/: .*$/s, ': (hidden)') : line}`);
    return lines.length === 0 ? [] : [`~ ${name}`, ...lines];
  });
  return [...changed, ...[...before.keys()].filter((name) => !after.has(name)).map((name) => `- ${name}`)];
}

function hidden(name: string): boolean {
  return name.startsWith('Secret ');
}

function objectsByName(manifest: string): Map<string, Fields> {
  const objects = loadAll(manifest).flatMap((document) => (isFields(document) ? [document] : []));
  return new Map(objects.map((object) => [nameOf(object), object]));
}

function nameOf(object: Fields): string {
  const metadata = isFields(object['metadata']) ? object['metadata'] : {};
  const namespace = typeof metadata['namespace'] === 'string' ? ` in ${metadata['namespace']}` : '';
  return `${String(object['kind'])} ${String(metadata['name'])}${namespace}`;
}

function fieldDiff(former: unknown, next: unknown, path: string): string[] {
  if (JSON.stringify(former) === JSON.stringify(next)) return [];
  if (isFields(former) && isFields(next)) {
    const names = [...new Set([...Object.keys(former), ...Object.keys(next)])];
    return names.flatMap((name) => fieldDiff(former[name], next[name], path === '' ? name : `${path}.${name}`));
  }
  if (Array.isArray(former) && Array.isArray(next)) {
    const length = Math.max(former.length, next.length);
    return Array.from({ length }, (_, index) => fieldDiff(former[index], next[index], `${path}[${index}]`)).flat();
  }
  const isVariable = /\.env\[\d+\]\.value$/.test(path);
  return [`${path}: ${isVariable ? '(changed)' : `${words(former)} -> ${words(next)}`}`];
}

function words(value: unknown): string {
  if (value === undefined) return '(none)';
  const text = JSON.stringify(value);
  return text.length <= longestValue ? text : `${text.slice(0, longestValue)}…`;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
