import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from './site.ts';
import { testCertificate } from './certificate.ts';

export const hasPebble = spawnSync('pebble', ['-h']).error === undefined;

export interface PebbleOptions {
  /** DNS server for address lookups, such as `127.0.0.1:5353`. */
  readonly dnsServer: string;
  /** Port for HTTP challenges, in place of port 80. */
  readonly httpPort: number;
}

const startMilliseconds = 10_000;

/**
 * The ACME server with which the developers of a public certificate authority test clients, on this machine (`apt-get
 * install pebble`).
 */
export class Pebble {
  readonly directory: string;
  /** File with the certificate that secures its directory. */
  readonly rootsFile: string;
  readonly #process: ChildProcess;
  readonly #folder: string;
  readonly #managementPort: number;
  readonly #ca: string;
  #output = '';

  private constructor(parts: { process: ChildProcess; folder: string; ports: readonly [number, number]; ca: string }) {
    const [port, managementPort] = parts.ports;
    this.directory = `https://localhost:${port}/dir`;
    this.rootsFile = path.join(parts.folder, 'cert.pem');
    this.#process = parts.process;
    this.#folder = parts.folder;
    this.#managementPort = managementPort;
    this.#ca = parts.ca;
    parts.process.stdout?.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
    parts.process.stderr?.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
  }

  static async start({ dnsServer, httpPort }: PebbleOptions): Promise<Pebble> {
    const folder = await mkdtemp(path.join(tmpdir(), 'davit-pebble-'));
    const { certificate, pem } = await testCertificate('localhost');
    const files = { certificate: path.join(folder, 'cert.pem'), privateKey: path.join(folder, 'key.pem') };
    await writeFile(files.certificate, certificate);
    await writeFile(files.privateKey, pem.slice(0, pem.indexOf('-----BEGIN CERTIFICATE')), { mode: 0o600 });
    const ports = [await freePort(), await freePort()] as const;
    const listenAddress = `127.0.0.1:${ports[0]}`;
    const managementListenAddress = `127.0.0.1:${ports[1]}`;
    const pebble = { listenAddress, managementListenAddress, ...files, httpPort, tlsPort: 1, ocspResponderURL: '' };
    const config = path.join(folder, 'pebble.json');
    await writeFile(config, JSON.stringify({ pebble: { ...pebble, externalAccountBindingRequired: false } }));
    const environment = { PATH: process.env.PATH, PEBBLE_VA_NOSLEEP: '1' };
    const child = spawn('pebble', ['-config', config, '-dnsserver', dnsServer], { env: environment });
    const made = new Pebble({ process: child, folder, ports, ca: certificate });
    await made.#untilItAnswers();
    return made;
  }

  /**
   * Returns the number of orders that Pebble has accepted. The number of requests is higher: Pebble rejects some of
   * them on purpose, so that clients retry.
   */
  get orders(): number {
    return this.#output.split('\n').filter((line) => line.includes('Added order')).length;
  }

  /** Returns the root certificate of all chains that Pebble issues, in PEM. */
  async root(): Promise<string> {
    return this.#get('/roots/0');
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill();
    await ended;
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #untilItAnswers(): Promise<void> {
    const deadline = performance.now() + startMilliseconds;
    for (;;) {
      try {
        await this.root();
        return;
      } catch (error) {
        if (performance.now() > deadline) throw new Error(`pebble does not answer:\n${this.#output}`, { cause: error });
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  #get(location: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = { host: 'localhost', port: this.#managementPort, path: location, ca: this.#ca, agent: false };
      const sent = request(options, (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('error', reject);
        response.on('end', () => resolve(text));
      });
      sent.on('error', reject);
      sent.end();
    });
  }
}
