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

/** Returns the references between services, those of the whole environment last. */
export function referencesOf(all: readonly Seen[], { publicly, byName }: Hosts): Reference[] {
  const hosts = new Map([...publicly, ...internalHosts(all)]);
  const references = all.flatMap((seen) => {
    const resolver = new Resolver(seen, hosts, byName);
    const byTarget = new Map<string, Set<string>>();
    for (const variable of seen.variables.filter((one) => isOwn(one, seen))) {
      for (const to of resolver.targetsOf(variable)) {
        if (to !== seen.serviceId) byTarget.set(to, (byTarget.get(to) ?? new Set()).add(variable.key));
      }
    }
    return [...byTarget].map(([to, keys]) => ({ from: seen.serviceId, to, keys: [...keys].toSorted() }));
  });
  return references.toSorted((one, other) => Number(one.from === null) - Number(other.from === null));
}

function isOwn({ scope }: Variable, { serviceId }: Seen): boolean {
  if (scope === 'BUILT_IN') return false;
  return (scope === 'ENVIRONMENT' || scope === 'PROJECT') === (serviceId === null);
}

/** Returns the service of each internal host, as the built-in variables have them. */
function internalHosts(all: readonly Seen[]): Map<string, string> {
  const hosts = new Map<string, string>();
  for (const { variables } of all) {
    for (const { scope, key, value, service_id: id } of variables) {
      if (scope !== 'BUILT_IN' || id === undefined || value === null || value === '' || !key.endsWith('_HOST_INTERNAL')) continue;
      hosts.set(value.toLowerCase(), id);
    }
  }
  return hosts;
}

const deepest = 10;

class Resolver {
  readonly #hosts: ReadonlyMap<string, string>;
  readonly #byName: ReadonlyMap<string, string>;
  readonly #byId: ReadonlyMap<string, Variable>;
  /** The variable that the process gets for each key. */
  readonly #byKey = new Map<string, Variable>();

  constructor(seen: Seen, hosts: ReadonlyMap<string, string>, byName: ReadonlyMap<string, string>) {
    this.#hosts = hosts;
    this.#byName = byName;
    this.#byId = new Map(seen.variables.map((variable) => [variable.id, variable]));
    for (const variable of seen.variables.toSorted((one, other) => widthOf(other) - widthOf(one))) {
      this.#byKey.set(variable.key, variable);
    }
  }

  /** Returns the services from which the value of a variable comes. */
  targetsOf(variable: Variable, depth = 0): readonly string[] {
    if (depth > deepest) return [];
    if (variable.scope === 'BUILT_IN') return this.#providerOf(variable);
    const { aliased_variable: aliased } = variable;
    if (aliased !== undefined) {
      const target = this.#byId.get(aliased.id) ?? this.#byKey.get(aliased.key);
      return target === undefined || target.id === variable.id ? [] : this.targetsOf(target, depth + 1);
    }
    if (variable.value === null) return [];
    const isReplaced = variable.mount_path === null || variable.enable_interpolation_in_file === true;
    const { keys, words, authorities } = mentionsIn(variable.value);
    const ofKeys = isReplaced ? keys.flatMap((key) => this.#ofKey(key, variable, depth)) : [];
    const ofWords = words.flatMap((word) => this.#hosts.get(word) ?? []);
    return [...ofKeys, ...ofWords, ...authorities.flatMap((name) => this.#byName.get(name) ?? [])];
  }

  #ofKey(key: string, from: Variable, depth: number): readonly string[] {
    const target = this.#byKey.get(key);
    return target === undefined || target.id === from.id ? [] : this.targetsOf(target, depth + 1);
  }

  /** A database is named by its variables. An output has the first eight digits of its service's id in its key. */
  #providerOf({ service_id: id, key }: Variable): readonly string[] {
    if (id !== undefined) return [id];
    const short = /_Z([0-9A-F]{8})_/.exec(key)?.[1]?.toLowerCase();
    return short === undefined ? [] : [...this.#byName.values()].filter((one) => one.startsWith(short));
  }
}

/** Returns how wide the scope of a variable is: the narrowest one of a key applies. */
function widthOf({ scope }: Variable): number {
  const widths: Readonly<Record<string, number>> = { ENVIRONMENT: 1, PROJECT: 2, BUILT_IN: 3 };
  return widths[scope] ?? 0;
}
