import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { messageOf, pause } from '@davit/base';
import type { Gateway, RouteTable, RouteTraffic } from '../gateway.ts';
import { DriverError, RoutesLeftOutError } from '../errors.ts';
import { certificateFile, certificateFolder } from './certificates.ts';
import { changesTo } from './changes.ts';
import { settingsFingerprint, toConfiguration, type GatewaySettings } from './haproxy-config.ts';
import { checkedTable } from '../shared/route-table.ts';
import { failure, HaproxyProcess } from './haproxy-process.ts';
import { isPortTaken, newPorts, refuseUnavailable } from './ports.ts';
import { refuseOwnHosts, withOwnRoutes } from './own-routes.ts';
import { refusedRoutes, withoutRoutes } from './refused.ts';
import { ownPorts, refuseBadOptions, type GatewayOptions } from './options.ts';
import type { Serving } from './runtime-api.ts';
import { TrafficCounter } from './traffic.ts';
import { bootId, emptyTable, storedFiles, storedTable, toStored, unprivilegedUser } from './state.ts';

/** A gateway that can stop supervising its process without ending the process. */
export interface LocalGateway extends Gateway {
  /** Stops checking whether the process lives. The process keeps running. */
  detach(): void;
}

const superviseMilliseconds = 1000;
const rounds = 4;
const keyFile = 'handover.key';
const tableFile = 'table.json';
const rootFile = 'stays-root';
const withoutLua =
  'HAProxy was built without Lua: public databases accept TLS of PostgreSQL clients only with sslnegotiation=direct';

/**
 * Creates the gateway of this machine: HAProxy 2.6 or later in a separate process. `start` and `apply` fail with
 * GATEWAY_FAILED or PORT_TAKEN. If only some routes cannot be served (a TCP port is taken, or HAProxy refuses a value),
 * all others are served before `apply` fails with RoutesLeftOutError; `start` only logs that error. While the object
 * lives, a HAProxy that has died is restarted within about a second, with its last table.
 */
export function createGateway(options: GatewayOptions): LocalGateway {
  return new HaproxyGateway(options);
}

class HaproxyGateway implements LocalGateway {
  private readonly options: GatewayOptions;
  private readonly folder: string;
  private readonly haproxy: HaproxyProcess;
  private settings: GatewaySettings | null = null;
  private table: RouteTable = emptyTable;
  /** Routes that HAProxy refused in the last check, by id. */
  private refused: ReadonlyMap<string, DriverError> = new Map();
  private queue: Promise<void> = Promise.resolve();
  private waiting: { table: RouteTable; readonly done: Promise<void> } | null = null;
  private supervisor: NodeJS.Timeout | null = null;
  private isSupervising = false;
  private isRunning: boolean | null = null;
  private readonly counter = new TrafficCounter();
  private isCounting = false;

  constructor(options: GatewayOptions) {
    this.options = options;
    this.folder = resolve(options.stateFolder);
    this.haproxy = new HaproxyProcess(this.folder, options.program ?? 'haproxy');
  }

  async start(): Promise<void> {
    this.isRunning = false;
    await this.enqueue(async () => {
      await this.prepare();
      await this.converge(this.table).catch((error: unknown) => this.logLeftOut(error));
    });
    this.isRunning = true;
    this.supervisor ??= setInterval(() => void this.supervise(), superviseMilliseconds).unref();
  }

  isUp(): boolean | null {
    return this.isRunning;
  }

  check(table: RouteTable): void {
    this.checked(table);
  }

  private checked(table: RouteTable): RouteTable {
    refuseOwnHosts(table, this.options.ownRoutes ?? []);
    return checkedTable(table, this.options.port, this.options.httpsPort);
  }

  async apply(table: RouteTable): Promise<void> {
    const checked = this.checked(table);
    if (this.waiting !== null) {
      // The waiting job has not begun: it takes the newer table instead, and both callers wait for it.
      this.waiting.table = checked;
      return await this.waiting.done;
    }
    const done = this.enqueue(async () => {
      const newest = this.waiting?.table ?? checked;
      this.waiting = null;
      await this.prepare();
      await this.converge(newest);
    });
    this.waiting = { table: checked, done };
    return await done;
  }

  async applyDomains({ certificates = [], challenges = [] }: Pick<RouteTable, 'certificates' | 'challenges'>): Promise<void> {
    await this.enqueue(async () => {
      await this.prepare();
      const hosts = new Set(certificates.map(({ host }) => host));
      const others = (this.table.certificates ?? []).filter(({ host }) => !hosts.has(host));
      const table = this.checked({ ...this.table, certificates: [...others, ...certificates], challenges });
      await this.converge(table).catch((error: unknown) => this.logLeftOut(error));
    });
  }

  async awaitDrained(backendIds: readonly string[], timeoutMilliseconds: number): Promise<void> {
    const deadline = performance.now() + timeoutMilliseconds;
    const prefixes = backendIds.map((id) => `${id}:`);
    for (let interval = 5; ; interval = Math.min(interval * 2, 250)) {
      const loads = await this.haproxy.loads();
      const isBusy = loads.some((servers) =>
        servers.entries().some(([name, load]) => load > 0 && prefixes.some((prefix) => name.startsWith(prefix))),
      );
      const left = deadline - performance.now();
      if (!isBusy || left <= 0) return;
      await pause(Math.min(interval, left));
    }
  }

  async traffic(): Promise<readonly RouteTraffic[]> {
    this.isCounting = true;
    await this.count();
    return this.counter.totals();
  }

  private async count(): Promise<void> {
    if (this.isCounting) this.counter.add(await this.haproxy.counters());
  }

  async stop(): Promise<void> {
    this.detach();
    await this.enqueue(() => this.haproxy.stop());
  }

  detach(): void {
    if (this.supervisor !== null) clearInterval(this.supervisor);
    this.supervisor = null;
  }

  private enqueue(job: () => Promise<void>): Promise<void> {
    const done = this.queue.then(job);
    // The failure goes to the caller; the next job runs regardless.
    this.queue = done.catch(() => undefined);
    return done;
  }

  /** Restarts a HAProxy that was killed with its last table, even if `apply` is never called again. */
  private async supervise(): Promise<void> {
    if (this.isSupervising) return;
    this.isSupervising = true;
    try {
      this.isRunning = (await this.haproxy.processes()) !== null;
      if (this.isRunning) return;
      await this.enqueue(async () => {
        if (this.supervisor === null || (await this.haproxy.processes()) !== null) return;
        this.log('the gateway process has exited; restarting it');
        await this.converge(this.table).catch((error: unknown) => this.logLeftOut(error));
      });
    } catch (error) {
      this.log(`the gateway process cannot be started: ${messageOf(error)}`);
    } finally {
      this.isSupervising = false;
    }
  }

  private async prepare(): Promise<GatewaySettings> {
    if (this.settings !== null) return this.settings;
    refuseBadOptions(this.options, this.folder);
    const { hasLua } = await this.haproxy.prepare();
    if (!hasLua && this.options.httpsPort !== undefined) this.log(withoutLua);
    let key = (await this.haproxy.read([keyFile]))[keyFile] ?? '';
    if (!/^[0-9a-f]{48}$/.test(key)) {
      key = randomBytes(24).toString('hex');
      await this.haproxy.write({ [keyFile]: key });
    }
    this.table = await this.stored();
    this.settings = {
      folder: this.folder,
      port: this.options.port,
      httpsPort: this.options.httpsPort ?? null,
      bindAddress: this.options.bindAddress,
      trustedProxies: this.options.trustedProxies ?? [],
      hstsSeconds: this.options.hstsSeconds ?? 0,
      errorPages: this.options.errorPages ?? {},
      threads: Math.min(availableParallelism(), 8),
      user: process.getuid?.() === 0 && !(await this.mustStayRoot()) ? await unprivilegedUser() : null,
      handoverKey: key,
      handshakeSeconds: this.options.handshakeSeconds ?? 30,
      hasLua,
    };
    return this.settings;
  }

  /** Returns the table that was applied last, with the certificates from their files. */
  private async stored(): Promise<RouteTable> {
    const text = (await this.haproxy.read([tableFile]))[tableFile] ?? '';
    const pems = await this.haproxy.read(storedFiles(text));
    const isServing = (await this.haproxy.processes()) !== null;
    return storedTable(text, { gatewayPort: this.options.port, pems, isServing });
  }

  /**
   * Returns whether an earlier start, since this machine booted, found that HAProxy must stay root. Testing it again by
   * a reload would end the running process.
   */
  private async mustStayRoot(): Promise<boolean> {
    return (await this.haproxy.read([rootFile]))[rootFile] === bootId();
  }

  /**
   * Makes HAProxy serve the table, whatever it serves now, and verifies the result. Fails with RoutesLeftOutError if
   * HAProxy serves all of the table except some routes.
   */
  private async converge(table: RouteTable): Promise<void> {
    const settings = await this.prepare();
    const former = this.table;
    let serving = await this.current();
    const leftOut = await this.blockedRoutes(table, serving);
    const all = withOwnRoutes(table, this.options.ownRoutes ?? []);
    const shown = { ...all, certificates: settings.httpsPort === null ? [] : (table.certificates ?? []) };
    let served = withoutRoutes(shown, leftOut);
    for (let round = 0; ; round += 1) {
      let changes = serving === null ? null : changesTo(served, serving, settingsFingerprint(this.settings ?? settings));
      if (changes === null || changes.reload !== null) {
        this.refused = await refusedRoutes(served, this.refused, (part) => this.refusal(part));
        for (const [id, error] of this.refused) leftOut.set(id, error);
        served = withoutRoutes(shown, leftOut);
        changes = serving === null ? null : changesTo(served, serving, settingsFingerprint(this.settings ?? settings));
      }
      await this.keep(withoutRoutes(table, this.refused));
      if (serving === null) await this.startProcess(served);
      else if (changes !== null && changes.reload !== null) {
        await this.reload(served).catch(async (error: unknown) => {
          await this.keep(former);
          throw error;
        });
      } else if (changes !== null) {
        await this.haproxy.write(toConfiguration(this.settings ?? settings, served));
        const { added, removed } = changes.certificates;
        if (changes.commands.length + added.length + removed.length === 0) break;
        await this.haproxy.command(added);
        serving = await this.haproxy.serving(changes.commands);
        await this.haproxy.command(removed);
        if (removed.length > 0) serving = await this.haproxy.serving();
        if (round < rounds) continue;
      }
      // Each round reads again what HAProxy serves: another process may have reloaded or killed it in between.
      if (round >= rounds)
        throw failure(`HAProxy does not apply the routes: ${changes?.reload ?? changes?.commands[0] ?? 'it exits'}.`);
      serving = await this.current();
    }
    await this.haproxy.keepOnly(certificateFolder, new Set(shown.certificates.map((one) => certificateFile(one))));
    await this.haproxy.boundLog();
    if (leftOut.size > 0) throw new RoutesLeftOutError(leftOut);
  }

  /**
   * Stores the table with which HAProxy is restarted after it has died or when Davit starts. Never stores a table that
   * HAProxy refuses.
   */
  private async keep(table: RouteTable): Promise<void> {
    this.table = table;
    await this.haproxy.write({ [tableFile]: toStored(table) });
  }

  /** Returns why HAProxy refuses a table; null if HAProxy accepts it. */
  private async refusal(table: RouteTable): Promise<DriverError | null> {
    const words = await this.haproxy.check(toConfiguration(await this.prepare(), table));
    return words === null ? null : failure('HAProxy refuses the configuration of the route.', undefined, words);
  }

  private async current(): Promise<Serving | null> {
    if ((await this.haproxy.processes()) === null) return null;
    try {
      return await this.haproxy.serving();
    } catch (error) {
      // A master whose worker was killed ends soon anyway. If it is ended now, a new one can be started at once.
      this.log(`the worker of the gateway does not answer; restarting it: ${String(error)}`);
      await this.haproxy.stop();
      return null;
    }
  }

  private async startProcess(table: RouteTable): Promise<void> {
    if (await this.haproxy.isComingBack()) return;
    for (const own of ownPorts(this.options)) await refuseUnavailable(own, this.options.bindAddress);
    await this.writeFiles(table);
    try {
      await this.haproxy.spawn();
    } catch (error) {
      const words = error instanceof DriverError ? (error.evidence.original ?? '') : '';
      if (this.settings?.user == null || !/cannot (set|chroot)|set[ug]id|chroot/i.test(words)) throw error;
      this.log(
        `the gateway keeps running as root, because this machine does not let it switch to the user ${this.settings.user.name}: ${words}`,
      );
      this.settings = { ...this.settings, user: null };
      await this.haproxy.write({ [rootFile]: bootId() });
      await this.writeFiles(table);
      await this.haproxy.spawn();
    }
  }

  private async reload(table: RouteTable): Promise<void> {
    const names = Object.keys(toConfiguration(await this.prepare(), table));
    const before = await this.haproxy.read(names);
    const { bindAddress } = this.options;
    for (const own of newPorts(ownPorts(this.options), before, bindAddress)) await refuseUnavailable(own, bindAddress);
    await this.writeFiles(table);
    // The replaced worker may exit at once, and its counters are lost with it.
    await this.count().catch((error: unknown) => this.log(`requests could not be counted before a reload: ${String(error)}`));
    // HAProxy may also fail to report within its timeout that the reload failed.
    if (await this.haproxy.reload().catch(() => false)) return;
    // The stored configuration must be one that HAProxy can start with.
    await this.haproxy.write(before);
    await this.haproxy.reload().catch((error: unknown) => this.log(`the former routes could not be loaded: ${String(error)}`));
    const log = await readFile(join(this.folder, 'haproxy.log'), 'utf8').catch(() => '');
    throw failure('HAProxy could not load the new routes; it keeps the former ones.', undefined, log.slice(-2000));
  }

  private async writeFiles(table: RouteTable): Promise<void> {
    await this.haproxy.write(toConfiguration(await this.prepare(), table));
  }

  /** Returns the TCP routes whose port is held by a program other than this HAProxy, by id. */
  private async blockedRoutes(table: RouteTable, serving: Serving | null): Promise<Map<string, DriverError>> {
    const own = new Set([...(serving?.proxies ?? [])].map((proxy) => /^tcp_(\d+)_/.exec(proxy)?.[1]));
    const candidates = table.tcp.filter((route) => !own.has(String(route.listenPort)));
    const taken = await Promise.all(candidates.map((route) => isPortTaken(route.listenPort, this.options.bindAddress)));
    const blocked = candidates.filter((_route, index) => taken[index]);
    return new Map(
      blocked.map(({ id, listenPort }) => [
        id,
        new DriverError({ cause: 'PORT_TAKEN', message: `Another program of this machine listens on port ${listenPort}.` }),
      ]),
    );
  }

  /** Logs the routes that were left out. They do not prevent the start: all others are served. */
  private logLeftOut(error: unknown): void {
    if (!(error instanceof RoutesLeftOutError)) throw error;
    this.log(error.message);
  }

  private log(line: string): void {
    this.options.log?.(line);
  }
}
