import { canonicalJson } from '@davit/base';
import type { ReleaseFile, ReleaseValue, ValuePart } from '@davit/engine/port';
import type { BuiltIn } from './builtin.ts';
import { derivedId } from '../shared/derived-id.ts';
import { circle, groups, pieces, referenceKeys } from './references.ts';
import { level, rootId, type VariableRow } from './row.ts';

/**
 * A secret whose text references other variables. Its resolved text is stored as a version of its own when a release is
 * created. `references`: the values of the referenced keys.
 */
export interface DerivedSecret {
  readonly id: string;
  readonly baseId: string;
  readonly references: Readonly<Record<string, readonly ValuePart[]>>;
}

export interface Effective {
  readonly environment: readonly ReleaseValue[];
  readonly files: readonly ReleaseFile[];
  /** In an order in which each secret follows those that it references. */
  readonly derived: readonly DerivedSecret[];
  /** Cycles of keys whose texts refer back to themselves, as in A, B, A. Their references stay as written. */
  readonly circles: readonly (readonly string[])[];
}

type Content =
  | { readonly text: string }
  | { readonly secretId: string; readonly referenceKeys: readonly string[] }
  /** Content of a secret built-in variable. Users do not write such values, so they contain no references. */
  | { readonly parts: readonly ValuePart[] };

/** The value of a key at the service, before interpolation. */
interface Source {
  readonly content: Content;
  /** Path of a FILE. The process finds the content at this path, and the path in its environment. */
  readonly mountPath: string | null;
  readonly interpolates: boolean;
  readonly hasOwnFile: boolean;
}

// References can multiply: thirty lines of `{{A}}{{A}}` would fill any memory. A reference that would exceed this limit
// stays as written. No process could start with such a value anyway (Linux allows 128 KiB for one variable).
const longestValue = 1_048_576;
const maxParts = 1000;
const assumedSecretLength = 64;

/**
 * Returns the environment and files of a service's process (semantics 4.5 and 4.8):
 * - The narrowest scope of each key wins.
 * - An alias has the value of its target at this service.
 * - `{{KEY}}` is replaced, recursively, by the value that the process sees under that key.
 * - References to unknown keys, and cyclic references, stay as written.
 * - Secrets stay references to their versions.
 */
export function effective(rows: readonly VariableRow[], known: readonly BuiltIn[]): Effective {
  const sources = sourcesByKey(rows, known);
  const edges = edgesOf(sources);
  const resolver = new Resolver();
  const ordered = groups(edges);
  for (const group of ordered) {
    // The members of a group reference each other, so no member sees the others' values yet.
    const resolved = group.map((key) => [key, resolver.seen(sources.get(key))] as const);
    for (const [key, value] of resolved) resolver.learn(key, value);
  }
  const environment: ReleaseValue[] = [];
  const files = new Map<string, ReleaseFile>();
  // Wide scopes first: a narrower file at the same path replaces the wider one.
  for (const [key, source] of sources) {
    environment.push({ name: key, parts: resolver.known.get(key) ?? [] });
    const { mountPath } = source;
    if (mountPath !== null && source.hasOwnFile) files.set(mountPath, { path: mountPath, parts: resolver.content(source) });
  }
  return {
    environment: environment.sort((a, b) => compare(a.name, b.name)),
    files: [...files.values()].sort((a, b) => compare(a.path, b.path)),
    derived: [...resolver.derived.values()],
    circles: circlesIn(ordered, edges),
  };
}

/** Returns the cycle from a key back to itself, as in A, B, A, or undefined if there is none. */
export function circleOf(rows: readonly VariableRow[], known: readonly BuiltIn[], key: string): readonly string[] | undefined {
  return circle(edgesOf(sourcesByKey(rows, known)), key);
}

/** Returns all cycles, one for each group of keys that reference each other. */
export function circlesOf(rows: readonly VariableRow[], known: readonly BuiltIn[]): readonly (readonly string[])[] {
  const edges = edgesOf(sourcesByKey(rows, known));
  return circlesIn(groups(edges), edges);
}

type Edges = ReadonlyMap<string, readonly string[]>;

function circlesIn(all: readonly (readonly string[])[], edges: Edges): readonly (readonly string[])[] {
  const found = all.flatMap((group) => {
    const first = group.toSorted(compare)[0] ?? '';
    // Finding the cycle visits all keys reachable from this one, so the search runs only if there is a cycle.
    const leadsBack = group.length > 1 || edges.get(first)?.includes(first) === true;
    const way = leadsBack ? circle(edges, first) : undefined;
    return way === undefined ? [] : [way];
  });
  return found.sort((a, b) => compare(a[0] ?? '', b[0] ?? ''));
}

function edgesOf(sources: ReadonlyMap<string, Source>): Map<string, readonly string[]> {
  // Other variables see only the path of a file, so a file may reference any key, including its own path.
  return new Map([...sources].map(([key, source]) => [key, source.mountPath === null ? usedKeys(source) : []]));
}

function sourcesByKey(rows: readonly VariableRow[], known: readonly BuiltIn[]): Map<string, Source> {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const winners = new Map<string, VariableRow>();
  for (const row of rows.toSorted((a, b) => level(a) - level(b))) {
    // Deletes the key before setting it, so that the keys have the order of the winners' scopes.
    winners.delete(row.key);
    winners.set(row.key, row);
  }
  const usable = known.filter((builtIn) => !builtIn.isSetAtStart);
  const builtInByName = new Map(usable.map((builtIn) => [builtIn.name, builtInSource(builtIn)]));
  const sources = new Map(usable.map((builtIn) => [builtIn.key, builtInSource(builtIn)]));
  for (const [key, row] of winners) {
    const source = row.type === 'ALIAS' ? aliasSource(row, { byId, winners, builtInByName }) : ownSource(row, byId);
    // If the target of an alias is a built-in variable that no longer exists (such as without a public port), the key
    // is unset too.
    if (source !== undefined) sources.set(key, source);
  }
  return sources;
}

function builtInSource({ value, secret }: BuiltIn): Source {
  return {
    content: secret === null ? { text: value } : { parts: secret },
    mountPath: null,
    interpolates: false,
    hasOwnFile: false,
  };
}

function ownSource(row: VariableRow, byId: ReadonlyMap<string, VariableRow>): Source {
  const overridden = row.type === 'OVERRIDE' && row.target_id !== null ? byId.get(row.target_id) : undefined;
  const mountPath = row.mount_path ?? overridden?.mount_path ?? null;
  return {
    content:
      row.secret_value_id === null
        ? { text: row.value ?? '' }
        : { secretId: row.secret_value_id, referenceKeys: row.reference_keys ?? [] },
    mountPath,
    interpolates: mountPath === null || row.enable_interpolation_in_file === true,
    hasOwnFile: mountPath !== null,
  };
}

interface Lookup {
  readonly byId: ReadonlyMap<string, VariableRow>;
  readonly winners: ReadonlyMap<string, VariableRow>;
  readonly builtInByName: ReadonlyMap<string, Source>;
}

function aliasSource(alias: VariableRow, { byId, winners, builtInByName }: Lookup): Source | undefined {
  if (alias.target_builtin !== null) return builtInByName.get(alias.target_builtin);
  const target = alias.target_id === null ? undefined : byId.get(alias.target_id);
  if (target === undefined || target.type === 'ALIAS') return undefined;
  const winner = winners.get(target.key);
  const isOverridden = winner?.type === 'OVERRIDE' && rootId(winner) === rootId(target);
  return { ...ownSource(isOverridden ? winner : target, byId), hasOwnFile: false };
}

function usedKeys(source: Source): readonly string[] {
  if (!source.interpolates) return [];
  if ('parts' in source.content) return [];
  return 'text' in source.content ? referenceKeys(source.content.text) : source.content.referenceKeys;
}

class Resolver {
  /** The values that the process sees, by key. */
  readonly known = new Map<string, readonly ValuePart[]>();
  readonly derived = new Map<string, DerivedSecret>();

  learn(key: string, value: readonly ValuePart[]): void {
    this.known.set(key, value);
  }

  /** Returns the value that other variables see. For a file this is its path. */
  seen(source: Source | undefined): readonly ValuePart[] {
    if (source === undefined) return [];
    return source.mountPath === null ? this.content(source) : [source.mountPath];
  }

  content({ content, interpolates }: Source): readonly ValuePart[] {
    if ('parts' in content) return content.parts;
    if ('secretId' in content) {
      return [{ secret: interpolates ? this.#secretId(content.secretId, content.referenceKeys) : content.secretId }];
    }
    if (!interpolates) return content.text === '' ? [] : [content.text];
    return joined(pieces(content.text), (key) => this.known.get(key));
  }

  #secretId(baseId: string, keys: readonly string[]): string {
    const references: Record<string, readonly ValuePart[]> = {};
    for (const key of keys) {
      const value = this.known.get(key);
      if (value !== undefined) references[key] = value;
    }
    if (Object.keys(references).length === 0) return baseId;
    const id = derivedId('derived secret', baseId, canonicalJson(references));
    this.derived.set(id, { id, baseId, references });
    return id;
  }
}

/**
 * Replaces references by their values. A reference without a value, or one that would make the whole too long, stays as
 * written.
 */
export function joined(
  text: ReturnType<typeof pieces>,
  valueOf: (key: string) => readonly ValuePart[] | undefined,
): readonly ValuePart[] {
  const parts: ValuePart[] = [];
  let length = text.reduce((sum, piece) => sum + ('text' in piece ? piece.text.length : piece.written.length), 0);
  const push = (part: ValuePart): void => {
    const last = parts.at(-1);
    if (typeof part === 'string' && typeof last === 'string') parts[parts.length - 1] = last + part;
    else if (part !== '') parts.push(part);
  };
  for (const piece of text) {
    if ('text' in piece) {
      push(piece.text);
      continue;
    }
    const value = valueOf(piece.key);
    const grown = length + (value === undefined ? 0 : lengthOf(value) - piece.written.length);
    if (value === undefined || grown > longestValue || parts.length + value.length > maxParts) {
      push(piece.written);
      continue;
    }
    length = grown;
    value.forEach(push);
  }
  return parts;
}

function lengthOf(parts: readonly ValuePart[]): number {
  return parts.reduce((sum, part) => sum + (typeof part === 'string' ? part.length : assumedSecretLength), 0);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
