import { canonicalJson } from '@davit/base';
import type { ReleaseConfig, ValuePart } from '../model.ts';

/** One setting of a release. */
export interface ReleaseField {
  /** Names of the settings that lead to the value, joined by dots: `ports.p80.internal_port`, `variables.MODE`. */
  readonly path: string;
  /** Texts as they are, everything else as JSON; null: the value contains a secret. */
  readonly value: string | null;
  /** Equal fields have equal marks. The mark of a secret value names versions of secrets, and is never shown. */
  readonly mark: string;
}

/** A difference between two releases in one setting. */
export interface FieldChange {
  readonly path: string;
  readonly kind: 'ADDED' | 'CHANGED' | 'REMOVED';
}

/** The parts of a release that its settings are read from. */
export interface ReleaseContent {
  readonly config: ReleaseConfig;
  readonly commit: { readonly id: string } | null;
  /** Digest of the image; null: unknown, or given up. */
  readonly imageId: string | null;
}

/** Settings whose members have names that users chose. These names stay as they are. */
const namedByUsers: ReadonlySet<string> = new Set(['metadata', 'headers', 'config', 'extraArguments']);
/** Words of the API for settings that have another name, or a unit, in a release. */
const words: Readonly<Record<string, string>> = {
  environment: 'variables',
  cpuMillicores: 'cpu',
  memoryMiB: 'memory',
  sizeGiB: 'size',
  storageGiB: 'storage',
};
/** Lists whose elements are `[name, value]`. */
const pairLists: ReadonlySet<string> = new Set(['set', 'set_string', 'set_json']);

/**
 * Returns the settings of a release, sorted by path. Settings that are not set are left out. The ids of ports are left
 * out; the ids of volumes stay, because another volume has other data.
 */
export function fieldsOf({ config, commit, imageId }: ReleaseContent): readonly ReleaseField[] {
  const { version: _version, ports, volumes, ...rest } = config;
  const found = [
    ...fieldsIn('', rest),
    ...fieldsIn(
      'ports',
      ports.map(({ id: _id, ...port }) => port),
    ),
    ...volumes.flatMap(({ mountPath, ...volume }) => fieldsIn(`volumes.${mountPath}`, volume)),
    ...(commit === null ? [] : [plain('commit', commit.id)]),
    // The commit says more about an image that is built.
    ...(imageId === null || commit !== null ? [] : [plain('image_digest', imageId)]),
  ];
  return found.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

/**
 * Returns the settings that differ, sorted by path. The digest of an image is compared only if both releases have one:
 * a release of which the image was given up still ran the same image.
 */
export function changedFields(before: readonly ReleaseField[], after: readonly ReleaseField[]): readonly FieldChange[] {
  const former = new Map(before.map(({ path, mark }) => [path, mark]));
  const next = new Map(after.map(({ path, mark }) => [path, mark]));
  return [...new Set([...former.keys(), ...next.keys()])].sort().flatMap((path): FieldChange[] => {
    const [old, now] = [former.get(path), next.get(path)];
    if (old === now || (path === 'image_digest' && (old === undefined || now === undefined))) return [];
    return [{ path, kind: old === undefined ? 'ADDED' : now === undefined ? 'REMOVED' : 'CHANGED' }];
  });
}

function fieldsIn(path: string, value: unknown, isByUser = false): ReleaseField[] {
  if (value === null || value === undefined || value === '') return [];
  if (Array.isArray(value)) return fieldsOfList(path, value);
  if (typeof value !== 'object') return [plain(path, value)];
  return Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
    const word = isByUser ? name : wordOf(name);
    const at = path === '' ? word : `${path}.${word}`;
    if (pairLists.has(name) && Array.isArray(member)) return pairs(at, member);
    return fieldsIn(at, member, isByUser || namedByUsers.has(name));
  });
}

/** Names of events of jobs have capitals only, and stay. */
function wordOf(name: string): string {
  if (!/^[a-z]/.test(name)) return name;
  return words[name] ?? name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function fieldsOfList(path: string, list: readonly unknown[]): ReleaseField[] {
  if (list.length === 0) return [];
  if (list.every((element) => typeof element !== 'object' || element === null)) return [plain(path, list)];
  const known = new Set<string>();
  return list.flatMap((element, index) => {
    const { name: given, rest } = named(element);
    // Two elements of one name are distinguished by their position.
    const name = given === null || known.has(given) ? String(index) : given;
    known.add(name);
    const parts = partsOf(rest);
    return parts === null ? fieldsIn(`${path}.${name}`, rest) : [ofParts(`${path}.${name}`, parts)];
  });
}

/** Returns the element without the member that names it in its list. */
function named(element: unknown): { readonly name: string | null; readonly rest: unknown } {
  if (typeof element !== 'object' || element === null || Array.isArray(element)) return { name: null, rest: element };
  const { name, ...rest }: { name?: unknown } = element;
  if (typeof name === 'string') return { name, rest };
  const { path, ...others }: { path?: unknown } = element;
  return typeof path === 'string' ? { name: path, rest: others } : { name: null, rest: element };
}

function partsOf(value: unknown): readonly ValuePart[] | null {
  if (typeof value !== 'object' || value === null || !('parts' in value)) return null;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only values and files of a release have parts
  return value.parts as readonly ValuePart[];
}

function ofParts(path: string, parts: readonly ValuePart[]): ReleaseField {
  const texts = parts.flatMap((part) => (typeof part === 'string' ? [part] : []));
  const isSecret = texts.length < parts.length;
  return isSecret ? { path, value: null, mark: `secret ${canonicalJson(parts)}` } : plain(path, texts.join(''));
}

function pairs(path: string, list: readonly unknown[]): ReleaseField[] {
  const values = new Map(
    list.flatMap((pair) => (Array.isArray(pair) ? [[String(pair[0]), String(pair[1] ?? '')] as const] : [])),
  );
  return [...values].map(([name, value]) => plain(`${path}.${name}`, value));
}

function plain(path: string, value: unknown): ReleaseField {
  const text = typeof value === 'string' ? value : canonicalJson(value);
  return { path, value: text, mark: `plain ${text}` };
}
