import { execFile, spawn } from 'node:child_process';
import { bridgePrefix } from './names.ts';
import { findProgram } from './own-podman.ts';

/*
 * Closes the networks of environments to each other by address. Docker does so itself unless it was started with `--iptables=false`.
 * Podman's `isolate` does it with later versions of netavark; that of Debian 12 and Ubuntu 24.04 (1.4) removes the rule that leads to
 * all isolation when the last container of any isolated network ends, and never isolates the network of builds. So Davit adds rules
 * of its own, in the table `mangle`: no rule that accepts elsewhere precedes them, and no engine rewrites that table.
 */

const chain = 'DAVIT-CLOSED';
const table = ['-w', '5', '-t', 'mangle'];
/** Replies, and connections to a port that is published, go on; everything else that is forwarded into a network is looked at. */
const jump = ['FORWARD', '-o', `${bridgePrefix}+`, '-m', 'conntrack', '!', '--ctstate', 'RELATED,ESTABLISHED,DNAT', '-j', chain];

/** How long rules that were seen are trusted: a firewall that is reloaded drops them. */
const trustMilliseconds = 30_000;

/** The rules of this machine's firewall that close networks of environments. Safe to use from several processes at once. */
export class ClosedNetworks {
  readonly #program: string | null;
  /** Bridges seen to be closed. */
  readonly #closed = new Set<string>();
  #seenAt = Number.NEGATIVE_INFINITY;
  #underWay: Promise<void> = Promise.resolve();

  /** `isOwnMachine`: whether the bridges of the engine are interfaces of this machine. */
  constructor(isOwnMachine: boolean) {
    this.#program = isOwnMachine && process.getuid?.() === 0 ? findProgram('iptables') : null;
  }

  /**
   * Drops whatever is forwarded into these bridges from another interface, but for replies and published ports. Does nothing where
   * the rules are there, and where this process may not change the firewall. Rejects when the firewall refuses.
   */
  close(bridges: Iterable<string>): Promise<void> {
    const wanted = [...new Set(bridges)];
    const isKnown = performance.now() - this.#seenAt < trustMilliseconds && wanted.every((bridge) => this.#closed.has(bridge));
    if (this.#program === null || isKnown) return Promise.resolve();
    return this.#inTurn(() => this.#add(wanted));
  }

  /** Removes the rules of a bridge that is gone. */
  forget(bridge: string): Promise<void> {
    if (this.#program === null) return Promise.resolve();
    return this.#inTurn(async () => {
      this.#closed.delete(bridge);
      const rules = (await this.#rules()).filter((rule) => closedBy(rule) === bridge);
      if (rules.length > 0) await this.#restore(rules.map((rule) => rule.replace(/^-A/, '-D')));
    });
  }

  async #add(wanted: readonly string[]): Promise<void> {
    const rules = await this.#rules();
    const closed = new Set(rules.map(closedBy));
    // -N fails where another process was faster.
    if (!rules.includes(`-N ${chain}`)) await this.#run(['-N', chain]).catch(() => undefined);
    const missing = wanted.filter((bridge) => !closed.has(bridge));
    if (missing.length > 0) await this.#restore(missing.map((bridge) => `-A ${chain} ! -i ${bridge} -o ${bridge} -j DROP`));
    if (!rules.some((rule) => rule.startsWith('-A FORWARD') && rule.endsWith(`-j ${chain}`))) await this.#run(['-I', ...jump]);
    this.#closed.clear();
    for (const bridge of [...closed, ...wanted]) if (bridge !== null) this.#closed.add(bridge);
    this.#seenAt = performance.now();
  }

  async #rules(): Promise<string[]> {
    return (await this.#run(['-S'])).split('\n');
  }

  #inTurn(action: () => Promise<void>): Promise<void> {
    const done = this.#underWay.then(action);
    this.#underWay = done.catch(() => undefined);
    return done;
  }

  #run(options: readonly string[]): Promise<string> {
    return new Promise((resolve, reject) => {
      execFile(this.#program ?? '', [...table, ...options], { timeout: 20_000 }, (error, output) =>
        error ? reject(error) : resolve(output),
      );
    });
  }

  /** All of these changes or none, in one process. */
  #restore(changes: readonly string[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const child = spawn(`${this.#program}-restore`, ['-w', '5', '--noflush'], { stdio: ['pipe', 'ignore', 'pipe'] });
      let words = '';
      child.stderr.on('data', (chunk: Buffer) => (words += chunk.toString('utf8')));
      child.once('error', reject);
      child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`iptables-restore: ${words.trim()}`))));
      child.stdin.on('error', () => undefined);
      child.stdin.end(['*mangle', ...changes, 'COMMIT', ''].join('\n'));
    });
  }
}

/** The bridge that a rule of `iptables -S` closes; null: it is another rule. */
function closedBy(rule: string): string | null {
  return new RegExp(`^-A ${chain} ! -i (\\S+) -o \\1 -j DROP$`).exec(rule)?.[1] ?? null;
}
