import { inParallel, messageOf } from '@davit/base';
import type { AddressedService, ClusterAddresses } from '../driver.ts';
import { DriverError } from '../errors.ts';
import type { Ownership, Workload } from '../workload.ts';
import { addressesIn, macOf, rulesFor } from './address-rules.ts';
import { keepAddress } from './bridge.ts';
import { call, EngineRefusal } from './engine-api.ts';
import { runInside } from './exec.ts';
import { holderImage } from './holder-image.ts';
import { addressOf, inspect, listSummaries, type Scope, type Summary } from './instances.ts';
import { label, serviceLabels } from './labels.ts';
import { bridgeName, holderName, networkName } from './names.ts';
import { translated } from './refusals.ts';

/*
 * Each service has an address in its environment's network that stays while instances come and go. A container that
 * does nothing, its holder, has the names and the address of the service, and translates the address to those of
 * instances, with rules of nftables in its own network namespace. One transaction replaces the rules, so every new
 * connection meets either the former rules or the new ones; connections that exist keep their instance.
 *
 * The whole address is translated, so all ports and protocols are. Instances see the address of the service as the
 * sender, because their replies must come back through the holder.
 */

const atOnce = 4;
/** How many further addresses are tried if the engine has given the chosen one to another container. */
const attemptsForAddress = 8;

/** `$1`: the rules. Flows of UDP never end, so they would stay with a former instance. */
const applyScript = 'nft "$1" && { conntrack -D -p udp >/dev/null 2>&1 || :; }';

interface Holder {
  readonly id: string;
  /** The rules that this process has applied since the holder started; null if unknown. */
  rules: string | null;
  readonly names: string;
}

/** The service of a holder, and its names. */
type Named = Pick<AddressedService, 'owner' | 'hostnames'>;

/** The addresses of services on one engine. See `ClusterAddresses`. */
export class Addresses implements ClusterAddresses {
  readonly #scope: Scope;
  /** The holders that run, by service. */
  readonly #holders = new Map<string, Holder>();
  readonly #underWay = new Map<string, Promise<unknown>>();
  #image: Promise<string> | null = null;
  /** Why this engine can have no holders; null if it can, or if that is not known yet. */
  #hindrance: string | null = null;

  constructor(scope: Scope) {
    this.#scope = scope;
  }

  /**
   * Makes sure that the service has an address. Returns false if this engine cannot have any; then the instances need
   * the names themselves. The address of a new holder leads to the instances that run already.
   */
  async ensure(workload: Workload, log: (line: string) => void, signal: AbortSignal): Promise<boolean> {
    if (workload.hasAddress !== true) return false;
    const { service } = workload.owner;
    if (this.#holders.has(service)) return true;
    if (this.#hindrance === null) {
      try {
        await this.#inTurn(service, async () => {
          const holder = await this.#running(workload, null, signal);
          if (holder.rules === null)
            await this.#set(holder, await this.#addressesOf(await this.#instances(service, signal), signal), signal);
        });
        return true;
      } catch (error) {
        if (signal.aborted || !(error instanceof HolderRefused)) throw error;
        this.#hindrance = error.message;
      }
    }
    log(`Names of the service lead to its instances themselves, whose addresses change with each deployment: ${this.#hindrance}`);
    return false;
  }

  /** Leads the address of a service that nothing serves to the instances that have just been started. */
  async pointIdle(workload: Workload, signal: AbortSignal): Promise<void> {
    const { service } = workload.owner;
    const running = await this.#instances(service, signal);
    const isServed = running.some(({ Labels }) => Labels?.[label.rollout] !== workload.rollout);
    if (isServed || (workload.firstInstance ?? 0) > 0) return;
    const addresses = await this.#addressesOf(running, signal);
    await this.#inTurn(service, async () => this.#set(await this.#running(workload, null, signal), addresses, signal));
  }

  async #instances(service: string, signal: AbortSignal): Promise<Summary[]> {
    const all = await listSummaries(this.#scope, 'instance', { service }, signal);
    return all.filter(({ State }) => State === 'running');
  }

  async #addressesOf(instances: readonly Summary[], signal: AbortSignal): Promise<string[]> {
    const found = await inParallel(instances, atOnce, ({ Id }) => inspect(this.#scope.docker, Id, signal));
    return found.flatMap((one) => (one === null ? [] : (addressOf(one) ?? [])));
  }

  async point(services: readonly AddressedService[], signal: AbortSignal): Promise<void> {
    const [first, ...others] = services;
    if (first === undefined) return;
    const selector = others.length === 0 ? { service: first.owner.service } : {};
    try {
      const listed = await listSummaries(this.#scope, 'address', selector, signal);
      const byService = new Map(listed.map((one) => [one.Labels?.[label.service] ?? '', one]));
      const failures: unknown[] = [];
      await inParallel(services, atOnce, async (one) => {
        const { service } = one.owner;
        const found = byService.get(service);
        if (found === undefined) this.#holders.delete(service);
        // A service of an earlier version of Davit gets an address with its next deployment.
        if (found === undefined && one.instances.every(({ isAddressed }) => isAddressed !== true)) return;
        const addresses = one.instances.flatMap(({ address }) => address ?? []);
        await this.#inTurn(service, () => this.#point(one, addresses, found ?? 'GONE', signal)).catch((error: unknown) =>
          failures.push(error),
        );
      });
      if (failures.length > 0) throw failures[0];
    } catch (error) {
      throw translated(error, 'The address of a service could not be pointed at its instances');
    }
  }

  /** Forgets a container that has exited. */
  ended(container: string): void {
    for (const [service, { id }] of this.#holders) if (id === container) this.#holders.delete(service);
  }

  async #point(
    service: AddressedService,
    addresses: readonly string[],
    seen: Summary | 'GONE',
    signal: AbortSignal,
  ): Promise<void> {
    const { owner, isCurrent } = service;
    const known = this.#holders.get(owner.service);
    if (isCurrent !== undefined) {
      const isDone = known?.names === namesOf(service) && isUp(seen, known) && known.rules === rulesFor(addresses);
      if (isDone || !(await isCurrent())) return;
    }
    await this.#set(await this.#running(service, seen, signal), addresses, signal);
  }

  async #set(holder: Holder, addresses: readonly string[], signal: AbortSignal): Promise<void> {
    const rules = rulesFor(addresses);
    holder.rules = null;
    await this.#apply(holder.id, rules, signal);
    holder.rules = rules;
  }

  async #apply(id: string, rules: string, signal: AbortSignal): Promise<void> {
    const { code, output } = await runInside(this.#scope.docker, id, ['/bin/sh', '-c', applyScript, 'sh', rules], signal);
    if (code !== 0) throw new DriverError({ cause: 'ENGINE_FAILED', message: `nft failed: ${output.trim()}`, retryable: true });
  }

  /**
   * Returns the holder of the service, running. Creates and starts it if necessary.
   *
   * @param seen what a list has just shown. Null if nothing was listed: then a running holder keeps the names that it
   * has, which are those of the release that serves.
   */
  async #running(named: Named, seen: Summary | 'GONE' | null, signal: AbortSignal): Promise<Holder> {
    const { service } = named.owner;
    const known = this.#holders.get(service);
    const names = namesOf(named);
    if (known !== undefined && (seen === null || (known.names === names && isUp(seen, known)))) return known;
    this.#holders.delete(service);
    const found = await inspect(this.#scope.docker, holderName(named.owner), signal);
    const has = found?.Config.Labels[label.names];
    if (found !== null && has !== undefined && (has === names || (seen === null && found.State.Running))) {
      if (!found.State.Running) await this.#start(named.owner, found.Id, signal);
      return this.#keep(service, { id: found.Id, rules: null, names: has });
    }
    // The names of a container cannot be changed. The new holder takes over the address.
    const taken = found === null ? null : (found.Config.Labels[label.address] ?? null);
    if (found !== null) await this.#remove(found.Id, signal);
    return this.#keep(service, { id: await this.#create(named, { names, taken }, signal), rules: null, names });
  }

  #keep(service: string, holder: Holder): Holder {
    this.#holders.set(service, holder);
    return holder;
  }

  async #create(
    { owner, hostnames }: Named,
    { names, taken }: { names: string; taken: string | null },
    signal: AbortSignal,
  ): Promise<string> {
    const image = await this.#imageOnce(signal);
    const network = networkName(owner);
    const choices = taken === null ? await this.#choices(owner, signal) : [taken];
    for (let attempt = 0; ; attempt += 1) {
      const address = choices[attempt];
      const body = holderBody({ owner, hostnames, names, network, image, address });
      let id: string | null = null;
      try {
        const query = { name: holderName(owner) };
        const made = await call<{ readonly Id: string }>(this.#scope.docker, {
          method: 'POST',
          path: '/containers/create',
          query,
          body,
          signal,
        });
        id = made.body.Id;
        await this.#start(owner, id, signal);
        // The rules of a new holder lead nowhere: a connection is refused at once.
        await this.#apply(id, rulesFor([]), signal);
        return id;
      } catch (error) {
        if (id !== null) await this.#remove(id, AbortSignal.timeout(30_000)).catch(() => undefined);
        if (signal.aborted || isNetworkMissing(error)) throw error;
        if (isAddressTaken(error) && attempt + 1 < choices.length) continue;
        throw new HolderRefused(messageOf(error));
      }
    }
  }

  async #start(owner: Ownership, id: string, signal: AbortSignal): Promise<void> {
    await call(this.#scope.docker, { method: 'POST', path: `/containers/${id}/start`, signal, accept: [304] });
    await keepAddress(bridgeName(owner));
  }

  async #remove(id: string, signal: AbortSignal): Promise<void> {
    const query = { force: 'true', v: 'true' };
    await call(this.#scope.docker, { method: 'DELETE', path: `/containers/${id}`, query, signal, accept: [404, 409] });
  }

  async #imageOnce(signal: AbortSignal): Promise<string> {
    this.#image ??= holderImage(this.#scope.docker, signal);
    try {
      return await this.#image;
    } catch (error) {
      this.#image = null;
      throw signal.aborted ? error : new HolderRefused(messageOf(error));
    }
  }

  /**
   * Returns addresses for a new holder, best first. The first one depends only on the id of the service, so that a
   * holder that somebody has removed gets its address again. The list is empty if the network has no range for them, as
   * networks of earlier versions: the engine then chooses an address.
   */
  async #choices(owner: Ownership, signal: AbortSignal): Promise<string[]> {
    const path = `/networks/${networkName(owner)}`;
    const answer = await call<{ readonly Labels?: Readonly<Record<string, string>> | null }>(this.#scope.docker, {
      method: 'GET',
      path,
      signal,
      accept: [404],
    });
    const range = answer.status === 404 ? undefined : answer.body.Labels?.[label.addresses];
    if (range === undefined) return [];
    const holders = await listSummaries(this.#scope, 'address', { environment: owner.environment }, signal);
    const used = new Set(holders.map(({ Labels }) => Labels?.[label.address]));
    return addressesIn(range, owner.service, used, attemptsForAddress);
  }

  #inTurn<Result>(service: string, action: () => Promise<Result>): Promise<Result> {
    const done = (this.#underWay.get(service) ?? Promise.resolve()).then(action);
    const settled = done
      .catch(() => undefined)
      .finally(() => {
        if (this.#underWay.get(service) === settled) this.#underWay.delete(service);
      });
    this.#underWay.set(service, settled);
    return done;
  }
}

/** The engine or this machine cannot have holders, whatever is tried again. */
class HolderRefused extends Error {}

function namesOf({ hostnames }: Named): string {
  return [...new Set(hostnames)].toSorted().join(' ');
}

function isUp(seen: Summary | 'GONE', { id }: Holder): boolean {
  return seen !== 'GONE' && seen.Id === id && seen.State === 'running';
}

function isAddressTaken(error: unknown): boolean {
  return (
    error instanceof EngineRefusal &&
    /address already in use|requested ip address|IPAM error|already allocated/i.test(error.words)
  );
}

// Docker reports a missing network when the container starts, Podman when it is created.
export function isNetworkMissing(error: unknown): boolean {
  return error instanceof EngineRefusal && /network \S+ not found|unable to find network|network not found/i.test(error.words);
}

interface HolderInput extends Named {
  readonly names: string;
  readonly network: string;
  readonly image: string;
  readonly address: string | undefined;
}

function holderBody({ owner, hostnames, names, network, image, address }: HolderInput): object {
  // Neighbours remember which MAC address has an address. A new holder with another one would be unreachable for them
  // for minutes.
  const mac = address === undefined ? {} : { MacAddress: macOf(address) };
  return {
    Image: image,
    ...mac,
    Entrypoint: ['/bin/sleep', 'infinity'],
    Labels: {
      ...serviceLabels(owner, 'address'),
      [label.names]: names,
      ...(address !== undefined && { [label.address]: address }),
    },
    // As process 1, sleep ignores SIGTERM.
    StopSignal: 'SIGKILL',
    HostConfig: {
      NetworkMode: network,
      ReadonlyRootfs: true,
      SecurityOpt: ['no-new-privileges'],
      CapDrop: ['ALL'],
      CapAdd: ['NET_ADMIN'],
      Sysctls: { 'net.ipv4.ip_forward': '1' },
      RestartPolicy: { Name: 'no' },
      LogConfig: { Type: 'json-file', Config: { 'max-size': '1m' } },
    },
    NetworkingConfig: {
      EndpointsConfig: {
        [network]: {
          Aliases: [...new Set(hostnames)],
          ...mac,
          ...(address !== undefined && { IPAMConfig: { IPv4Address: address } }),
        },
      },
    },
  };
}
