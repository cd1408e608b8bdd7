import { canonicalJson } from '@davit/base';
import type { ReleaseConfig } from '../model.ts';

const fields = [
  'name',
  'source',
  'entrypoint',
  'arguments',
  'ports',
  'volumes',
  'hostnames',
  'cpuMillicores',
  'memoryMiB',
  'instances',
  'scaling',
  'readiness',
  'liveness',
  'job',
] as const;

/**
 * Returns the names of the settings that differ between two configurations. Values are left out because they may be
 * secret.
 */
export function changesBetween(former: ReleaseConfig | null, next: ReleaseConfig): string[] {
  if (former === null) return [];
  const differing = fields.filter((field) => canonicalJson(former[field]) !== canonicalJson(next[field]));
  return [
    ...differing,
    ...namedChanges('variable', former.environment, next.environment),
    ...namedChanges(
      'file',
      former.files.map((file) => ({ name: file.path, parts: file.parts })),
      next.files.map((file) => ({ name: file.path, parts: file.parts })),
    ),
  ];
}

interface Named {
  readonly name: string;
  readonly parts: unknown;
}

function namedChanges(what: string, former: readonly Named[], next: readonly Named[]): string[] {
  const before = new Map(former.map((entry) => [entry.name, canonicalJson(entry.parts)]));
  const after = new Map(next.map((entry) => [entry.name, canonicalJson(entry.parts)]));
  return [
    ...[...after].flatMap(([name, value]) =>
      !before.has(name) ? [`${what} ${name} added`] : before.get(name) !== value ? [`${what} ${name} changed`] : [],
    ),
    ...[...before.keys()].filter((name) => !after.has(name)).map((name) => `${what} ${name} removed`),
  ];
}
