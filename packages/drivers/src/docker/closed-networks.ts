import { execFile, spawn } from 'node:child_process';
import { bridgePrefix } from './names.ts';
import { findProgram } from './own-podman.ts';

/*
 * Blocks traffic by address between the networks of different environments. Docker does so itself unless it was started
 * with `--iptables=false`. Podman's `isolate` does so only with later versions of netavark. The version in Debian 12
 * and Ubuntu 24.04 (1.4) removes the rule behind all isolation when the last container of any isolated network exits,
 * and never isolates the network of builds. Therefore Davit adds its own rules to the table `mangle`: no rule that
 * accepts traffic elsewhere precedes them, and no engine rewrites that table.
 */

const chain = 'DAVIT-CLOSED';
const table = ['-w', '5', '-t', 'mangle'];
/**
 * Replies and connections to published ports are accepted. All other traffic forwarded into a network goes through the
 * chain.
 */
const jump = ['FORWARD', '-o', `${bridgePrefix}+`, '-m', 'conntrack', '!', '--ctstate', 'RELATED,ESTABLISHED,DNAT', '-j', chain];

/** Milliseconds for which observed rules are trusted. A firewall reload drops them. */
const trustMilliseconds = 30_000;

/**
 * Manages the firewall rules of this machine that isolate networks of environments. Safe for concurrent use by several
 * processes.
 */
export class ClosedNetworks {
  readonly #program: string | null;
  /** Bridges whose rules were present at the last check. */
  readonly #closed = new Set<string>();
  #seenAt = Number.NEGATIVE_INFINITY;
  #underWay: Promise<void> = Promise.resolve();

  /** `isOwnMachine`: whether the bridges of the engine are interfaces of this machine. */
  constructor(isOwnMachine: boolean) {
    this.#program = isOwnMachine && process.getuid?.() === 0 ? findProgram('iptables') : null;
  }

  /**
   * Adds rules that drop traffic forwarded into these bridges from another interface, except replies and traffic to
   * published ports. Does nothing if the rules exist or if this process may not change the firewall. Rejects if the
   * firewall refuses the change.
   */
  close(bridges: Iterable<string>): Promise<void> {
    const wanted = [...new Set(bridges)];
    const isKnown = performance.now() - this.#seenAt < trustMilliseconds && wanted.every((bridge) => this.#closed.has(bridge));
    if (this.#program === null || isKnown) return Promise.resolve();
    return this.#inTurn(() => this.#add(wanted));
  }

  /** Removes the rules of a deleted bridge. */
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
    // -N fails if another process has just created the chain.
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

  /** Applies all of these changes or none, in one process. */
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

/** Returns the bridge that a rule of `iptables -S` isolates, or null for other rules. */
function closedBy(rule: string): string | null {
  return new RegExp(`^-A ${chain} ! -i (\\S+) -o \\1 -j DROP$`).exec(rule)?.[1] ?? null;
}
