import type { Variable } from '../pages/variables/draft.ts';
import { mentionsIn } from './mentions.ts';

/*
 * Which services refer to which: by an alias of a variable that another service provides, by `{{KEY}}` in a value, or
 * by the address of another service in a value. The API shows no values of secrets, so references in those are unknown.
 */

/** The variables that a service sees, or, if `serviceId` is null, those of the environment. */
export interface Seen {
  readonly serviceId: string | null;
  readonly variables: readonly Variable[];
}

export interface Reference {
  /** The service that refers to another one; null: every service of the environment sees the variables. */
  readonly from: string | null;
  readonly to: string;
  /** The keys of the variables that refer to it. */
  readonly keys: readonly string[];
}

/** How services are reached. */
export interface Hosts {
  /** The ids of services by the hosts of their public addresses. */
  readonly publicly: ReadonlyMap<string, string>;
  /** The ids of all services by their names in small letters, by which they reach each other. */
  readonly byName: ReadonlyMap<string, string>;
}

/** The names in a value, before it is known whose names these are. */
interface Names {
  /** The ids of services whose built-in variables the value has. */
  readonly services: readonly string[];
  /** The beginnings of ids of services whose outputs the value has. */
  readonly outputs: readonly string[];
  /** Words that may be hosts with names of their own. */
  readonly words: readonly string[];
  /** Words that stand where an address has its host. */
  readonly authorities: readonly string[];
}

/** The part of the variables of a service that is kept: it is small, however many built-in variables there are. */
export interface Digest {
  readonly serviceId: string | null;
  /** The internal hosts of services, and their ids. */
  readonly hosts: readonly (readonly [host: string, serviceId: string])[];
  /** The own variables that name something, by their keys. */
  readonly names: readonly (readonly [key: string, names: Names])[];
}

/** Returns what decides about the references of a service. */
export function digestOf(seen: Seen): Digest {
  const resolver = new Resolver(seen);
  const own = seen.variables.filter((one) => isOwn(one, seen));
  const names = own.map((one): Digest['names'][number] => [one.key, joined(resolver.namesIn(one))]);
  return {
    serviceId: seen.serviceId,
    hosts: internalHosts(seen),
    names: names.filter(([, found]) => Object.values(found).some((list) => list.length > 0)),
  };
}

/** Returns the references between services, those of the whole environment last. */
export function referencesOf(all: readonly Digest[], { publicly, byName }: Hosts): Reference[] {
  const hosts = new Map([...publicly, ...all.flatMap((one) => one.hosts)]);
  const references = all.flatMap(({ serviceId, names }) => {
    const byTarget = new Map<string, Set<string>>();
    for (const [key, found] of names) {
      const targets = [
        ...found.services,
        ...found.outputs.flatMap((short) => [...byName.values()].filter((id) => id.startsWith(short))),
        ...found.words.flatMap((word) => hosts.get(word) ?? []),
        ...found.authorities.flatMap((name) => byName.get(name) ?? []),
      ];
      for (const to of targets) if (to !== serviceId) byTarget.set(to, (byTarget.get(to) ?? new Set()).add(key));
    }
    return [...byTarget].map(([to, keys]) => ({ from: serviceId, to, keys: [...keys].toSorted() }));
  });
  return references.toSorted((one, other) => Number(one.from === null) - Number(other.from === null));
}

const nothing: Names = { services: [], outputs: [], words: [], authorities: [] };

function joined(all: readonly Names[]): Names {
  const once = (of: (names: Names) => readonly string[]): string[] => [...new Set(all.flatMap(of))];
  return {
    services: once((one) => one.services),
    outputs: once((one) => one.outputs),
    words: once((one) => one.words),
    authorities: once((one) => one.authorities),
  };
}

function isOwn({ scope }: Variable, { serviceId }: Seen): boolean {
  if (scope === 'BUILT_IN') return false;
  return (scope === 'ENVIRONMENT' || scope === 'PROJECT') === (serviceId === null);
}

/** Returns the service of each internal host, as the built-in variables have them. */
function internalHosts({ variables }: Seen): Digest['hosts'] {
  return variables.flatMap(({ scope, key, value, service_id: id }) => {
    const isHost = scope === 'BUILT_IN' && key.endsWith('_HOST_INTERNAL');
    return !isHost || id === undefined || value === null || value === '' ? [] : [[value.toLowerCase(), id] as const];
  });
}

const deepest = 10;

class Resolver {
  readonly #byId: ReadonlyMap<string, Variable>;
  /** The variable that the process gets for each key. */
  readonly #byKey = new Map<string, Variable>();

  constructor(seen: Seen) {
    this.#byId = new Map(seen.variables.map((variable) => [variable.id, variable]));
    for (const variable of seen.variables.toSorted((one, other) => widthOf(other) - widthOf(one))) {
      this.#byKey.set(variable.key, variable);
    }
  }

  /** Returns what the value of a variable names, also by the variables to which it refers. */
  namesIn(variable: Variable | undefined, depth = 0): readonly Names[] {
    if (variable === undefined || depth > deepest) return [];
    if (variable.scope === 'BUILT_IN') return [providerOf(variable)];
    const { aliased_variable: aliased } = variable;
    if (aliased !== undefined) {
      const target = this.#byId.get(aliased.id) ?? this.#byKey.get(aliased.key);
      return target?.id === variable.id ? [] : this.namesIn(target, depth + 1);
    }
    if (variable.value === null) return [];
    const isReplaced = variable.mount_path === null || variable.enable_interpolation_in_file === true;
    const { keys, words, authorities } = mentionsIn(variable.value);
    const ofKeys = isReplaced ? keys.flatMap((key) => this.#ofKey(key, variable, depth)) : [];
    return [...ofKeys, { ...nothing, words, authorities }];
  }

  #ofKey(key: string, from: Variable, depth: number): readonly Names[] {
    const target = this.#byKey.get(key);
    return target?.id === from.id ? [] : this.namesIn(target, depth + 1);
  }
}

/** A database is named by its variables. An output has the first eight digits of its service's id in its key. */
function providerOf({ service_id: id, key }: Variable): Names {
  if (id !== undefined) return { ...nothing, services: [id] };
  const short = /_Z([0-9A-F]{8})_/.exec(key)?.[1]?.toLowerCase();
  return short === undefined ? nothing : { ...nothing, outputs: [short] };
}

/** Returns how wide the scope of a variable is: the narrowest one of a key applies. */
function widthOf({ scope }: Variable): number {
  const widths: Readonly<Record<string, number>> = { ENVIRONMENT: 1, PROJECT: 2, BUILT_IN: 3 };
  return widths[scope] ?? 0;
}
