import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Resolver } from 'node:dns/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from './site.ts';

const program = 'named';

export const hasNamed = spawnSync(program, ['-v']).error === undefined;

const startMilliseconds = 20_000;

/**
 * The DNS server BIND on this machine, with one zone that the key may change (`apt-get install bind9`). It answers for
 * nothing else.
 */
export class Named {
  readonly #process: ChildProcess;
  readonly #folder: string;
  readonly #port: number;
  /** Key of updates, in the form of `nsupdate -y`. */
  readonly key: string;
  #output = '';

  private constructor(parts: { process: ChildProcess; folder: string; port: number; key: string }) {
    this.#process = parts.process;
    this.#folder = parts.folder;
    this.#port = parts.port;
    this.key = parts.key;
    parts.process.stderr?.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
  }

  /** `records`: further lines of the zone file. */
  static async start(zone: string, records: readonly string[]): Promise<Named> {
    const folder = await mkdtemp(path.join(tmpdir(), 'davit-named-'));
    const port = await freePort();
    const secret = randomBytes(32).toString('base64');
    const head = ['$TTL 1', '@ SOA ns admin 1 60 60 60 1', '@ NS ns', 'ns A 127.0.0.1'];
    await writeFile(path.join(folder, 'zone'), `${[...head, ...records].join('\n')}\n`);
    const config = `options { directory "${folder}"; listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; }; recursion no;
  pid-file "${folder}/pid"; session-keyfile "${folder}/session.key"; dnssec-validation no; };
controls { };
key "davit" { algorithm hmac-sha256; secret "${secret}"; };
zone "${zone}" { type primary; file "${folder}/zone"; allow-update { key davit; }; };
`;
    await writeFile(path.join(folder, 'named.conf'), config, { mode: 0o600 });
    const child = spawn(program, ['-g', '-c', path.join(folder, 'named.conf')], { stdio: ['ignore', 'ignore', 'pipe'] });
    const made = new Named({ process: child, folder, port, key: `hmac-sha256:davit:${secret}` });
    await made.#untilItAnswers(zone);
    return made;
  }

  /** Returns the address of the server, in the form of `DAVIT_DNS_SERVERS`. */
  get server(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** Returns the lines that the server has logged about updates. */
  get updates(): string[] {
    return this.#output.split('\n').filter((line) => line.includes('updating zone'));
  }

  /** Returns the TXT records of a name. */
  async texts(name: string): Promise<string[]> {
    const resolver = this.#resolver();
    try {
      return (await resolver.resolveTxt(name)).map((parts) => parts.join(''));
    } catch (error) {
      if (error instanceof Error && 'code' in error && (error.code === 'ENOTFOUND' || error.code === 'ENODATA')) return [];
      throw error;
    }
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill();
    await ended;
    await rm(this.#folder, { recursive: true, force: true });
  }

  #resolver(): Resolver {
    const resolver = new Resolver({ timeout: 2000, tries: 2 });
    resolver.setServers([this.server]);
    return resolver;
  }

  async #untilItAnswers(zone: string): Promise<void> {
    const deadline = performance.now() + startMilliseconds;
    for (;;) {
      try {
        await this.#resolver().resolveSoa(zone);
        return;
      } catch (error) {
        if (performance.now() > deadline) throw new Error(`named does not answer:\n${this.#output}`, { cause: error });
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }
}
