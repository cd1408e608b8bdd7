import type { Service } from '../../words.ts';
import { advancedWords } from './advanced.ts';
import { isList, isSame, valueAt, withValueAt, type Json } from '../../data/paths.ts';
import type { Control } from '../../parts/control.ts';
import type { Section, Setting } from './setting.ts';
import { sections } from './table.ts';

/** A setting that was edited: its new value, and the value that it had when the edit began. */
export interface Edited {
  readonly value: Json;
  readonly base: Json;
}

/** The edits that are not saved, by the paths of their settings. */
export type Draft = ReadonlyMap<string, Edited>;

type Stored = { readonly [name: string]: Json };

/** The paths of advanced settings in a draft; their names have dots of their own. */
const advancedPrefix = 'advanced:';

/** Returns the sections of a service, with those of its advanced settings last. */
export function sectionsOf({ service_type: type }: Service, record: Stored, advanced: Stored): Section[] {
  const own = sections.filter(
    ({ kinds, needs }) => kinds.includes(type) && (needs === undefined || valueAt(record, needs) !== undefined),
  );
  const groups = Map.groupBy(Object.keys(advanced), (name) => groupOf(name));
  const further = [...groups].map(([title, names]): Section => {
    return { title, kinds: [type], settings: names.map((name) => advancedSetting(name, advanced[name])) };
  });
  return [...own, ...further];
}

function groupOf(name: string): string {
  const group = name.split('.')[0] ?? '';
  if (group === 'build') return 'Advanced: build';
  return group === 'network' ? 'Advanced: gateway' : 'Advanced: process';
}

function advancedSetting(name: string, value: Json): Setting {
  const words = advancedWords[name];
  const control: Control = words?.control ?? (typeof value === 'boolean' ? { kind: 'switch' } : { kind: 'text' });
  return { path: `${advancedPrefix}${name}`, label: words?.label ?? name, help: words?.help ?? name, control };
}

/** Returns the value of a setting as it is stored. */
export function storedValue({ path, from }: Pick<Setting, 'path' | 'from'>, record: Stored, advanced: Stored): Json {
  if (path.startsWith(advancedPrefix)) return advanced[path.slice(advancedPrefix.length)];
  return valueAt(record, from ?? path);
}

/** Returns the draft with another value for a setting; a value as it is stored removes the edit. */
export function withSetting(draft: Draft, path: string, value: Json, stored: Json): Draft {
  const next = new Map(draft);
  const base = draft.has(path) ? draft.get(path)?.base : stored;
  if (isSame(value, stored)) next.delete(path);
  else next.set(path, { value, base });
  return next;
}

export function withoutSetting(draft: Draft, path: string): Draft {
  const next = new Map(draft);
  next.delete(path);
  return next;
}

/** Returns whether somebody else changed a setting since its edit began. */
export function isInConflict(edited: Edited | undefined, stored: Json): boolean {
  return edited !== undefined && !isSame(edited.base, stored);
}

/** Returns the bodies of the requests that save a draft; null for one that is not needed. */
export function bodiesOf(draft: Draft, record: Stored): { readonly service: object | null; readonly advanced: object | null } {
  let service: Json = {};
  const advanced: Record<string, Json> = {};
  for (const [path, { value }] of draft) {
    const sent = value === '' || value === undefined ? null : value;
    if (path.startsWith(advancedPrefix)) advanced[path.slice(advancedPrefix.length)] = sent;
    else {
      const top = path.split('.')[0] ?? path;
      const hasTop = valueAt(service, top) !== undefined;
      // Fields are left out or replaced as a whole, so that an edit inside one sends all of it.
      const base: Json = hasTop || top === path ? service : withValueAt(service, top, requestOf(top, record));
      service = withValueAt(base, path, sent);
    }
  }
  const isEdited = [...draft.keys()].some((path) => !path.startsWith(advancedPrefix));
  return {
    service: isEdited && typeof service === 'object' ? service : null,
    advanced: Object.keys(advanced).length > 0 ? advanced : null,
  };
}

/** Returns a member of a record in the shape that requests have. */
function requestOf(top: string, record: Stored): Json {
  const value = record[top];
  if (top === 'git_repository') return repository(value);
  const chart = valueAt(record, 'source.repository');
  if (top === 'source' && chart !== undefined && chart !== null) {
    const { chart_name, chart_version } = object(chart);
    return { helm_repository: { chart_name, chart_version, repository: valueAt(chart, 'repository.id') } };
  }
  const isWrapped = top === 'terraform_files_source' || (top === 'source' && valueAt(record, 'source.git') !== undefined);
  return cleaned(isWrapped ? valueAt(value, 'git') : value);
}

/** Returns a copy without what records have in addition to requests: details of repositories and registries. */
function cleaned(value: Json): Json {
  if (isList(value)) return value.map(cleaned);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([name]) => name !== 'registry');
  return Object.fromEntries(
    members.map(([name, member]) => [name, name === 'git_repository' ? repository(member) : cleaned(member)]),
  );
}

function repository(value: Json): Json {
  const { url, branch, root_path, git_token_id } = object(value);
  return { url, branch, root_path, git_token_id };
}

function object(value: Json): Stored {
  return typeof value === 'object' && value !== null && !isList(value) ? value : {};
}

/** Returns the folders of volumes that an edit takes out. */
export function lostVolumes({ value, base }: Edited): string[] {
  const ids = (list: Json): readonly Json[] => (isList(list) ? list.map((one) => object(one)['id']) : []);
  const kept = new Set(ids(value));
  return (isList(base) ? base : [])
    .map(object)
    .filter(({ id }) => !kept.has(id))
    .map(({ mount_point: path }) => (typeof path === 'string' ? path : ''));
}
