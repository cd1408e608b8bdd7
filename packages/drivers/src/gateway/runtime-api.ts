import { connect } from 'node:net';
import { certificateList } from './certificates.ts';

/** One line of the master's `show proc`. */
export interface Worker {
  readonly pid: number;
  /** 0 for the current worker. */
  readonly reloads: number;
}

export interface Processes {
  readonly master: { readonly pid: number; readonly reloads: number; readonly failedReloads: number };
  readonly workers: readonly Worker[];
}

/** The configuration that a worker serves, as reported by the worker. */
export interface Serving {
  readonly pid: number;
  /** Fingerprint of the settings with which the worker was started. */
  readonly fingerprint: string;
  readonly isStopping: boolean;
  readonly proxies: ReadonlySet<string>;
  readonly map: ReadonlyMap<string, string>;
  /** Names of the certificates that the worker presents. */
  readonly certificates: ReadonlySet<string>;
  /** Servers by proxy, then by server name. */
  readonly servers: ReadonlyMap<string, ReadonlyMap<string, ServingServer>>;
}

export interface ServingServer {
  /** `address:port` in HAProxy's notation. */
  readonly address: string;
  readonly isReady: boolean;
}

// HAProxy reads a command line into one buffer of 16 KiB.
const lineLimit = 12_000;

/**
 * Sends one line to a socket of HAProxy and returns the whole response. Fails with the system's error if nobody
 * listens, and after `timeoutMilliseconds` without a response.
 */
export function ask(socketPath: string, line: string, timeoutMilliseconds = 5000): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(socketPath);
    socket.setTimeout(timeoutMilliseconds, () => socket.destroy(new Error(`no answer on ${socketPath}`)));
    // The client ends its side at once, as the master closes the socket only after its client did.
    socket.on('connect', () => socket.end(`${line}\n`));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(chunks).toString()));
  });
}

/** Groups commands, in order, into lines that fit HAProxy's buffer. */
export function toLines(commands: readonly string[]): string[] {
  const lines: string[] = [];
  for (const command of commands) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + command.length < lineLimit) lines[lines.length - 1] = `${last};${command}`;
    else lines.push(command);
  }
  return lines;
}

/**
 * Returns the commands whose output `toServing` parses. Send them on one connection, so that one worker executes them
 * all.
 */
export const servingCommands = (mapFile: string): string[] => [
  'show info',
  'show backend',
  `show map ${mapFile}`,
  // Without an HTTPS port the output is an error that there is no such list.
  `show ssl crt-list ${certificateList}`,
  'show servers state',
];

/** Parses the output of `servingCommands`. Output of other commands before it does no harm. */
export function toServing(text: string): Serving {
  const info = new Map<string, string>();
  const proxies = new Set<string>();
  const map = new Map<string, string>();
  const servers = new Map<string, Map<string, ServingServer>>();
  const certificates = new Set<string>();
  let part: 'info' | 'proxies' | 'servers' | 'certificates' = 'info';
  for (const line of text.split('\n')) {
    if (line === '') part = 'info';
    else if (line === '# name') part = 'proxies';
    else if (line.startsWith('# be_id')) part = 'servers';
    else if (line === `# ${certificateList}`) part = 'certificates';
    else if (line.startsWith('0x')) readMapEntry(line, map);
    else if (part === 'proxies') proxies.add(line);
    else if (part === 'certificates') certificates.add(line);
    else if (part === 'servers') readServer(line, servers);
    else readInfo(line, info);
  }
  return {
    pid: Number(info.get('Pid')),
    fingerprint: info.get('description') ?? '',
    isStopping: info.get('Stopping') === '1',
    proxies,
    map,
    certificates,
    servers,
  };
}

function readInfo(line: string, info: Map<string, string>): void {
  const colon = line.indexOf(': ');
  if (colon > 0) info.set(line.slice(0, colon), line.slice(colon + 2));
}

function readMapEntry(line: string, map: Map<string, string>): void {
  const [, key, value] = line.split(' ');
  if (key !== undefined && value !== undefined) map.set(key, value);
}

function readServer(line: string, servers: Map<string, Map<string, ServingServer>>): void {
  const columns = line.split(' ');
  const [, proxy, , name, address, , adminState] = columns;
  if (proxy === undefined || name === undefined) return;
  let ofProxy = servers.get(proxy);
  if (ofProxy === undefined) servers.set(proxy, (ofProxy = new Map()));
  ofProxy.set(name, { address: `${address}:${columns[18]}`, isReady: adminState === '0' });
}

/** Parses the master's `show proc`; null if the text is not such output. */
export function toProcesses(text: string): Processes | null {
  const master = /^(\d+)\s+master\s+(\d+)(?: \[failed: (\d+)\])?/m.exec(text);
  if (master === null) return null;
  const workers = [...text.matchAll(/^(\d+)\s+worker\s+(\d+)/gm)];
  return {
    master: { pid: Number(master[1]), reloads: Number(master[2]), failedReloads: Number(master[3] ?? 0) },
    workers: workers.map((match) => ({ pid: Number(match[1]), reloads: Number(match[2]) })),
  };
}

/** Parses `show stat -1 4 -1`: requests and connections under way at each server, by server name, over all proxies. */
export function toLoads(text: string): Map<string, number> {
  const loads = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    // Columns: proxy, server, queued now, most queued, sessions now.
    const [, server, queued, , sessions] = line.split(',', 5);
    if (server === undefined) continue;
    loads.set(server, (loads.get(server) ?? 0) + Number(queued ?? 0) + Number(sessions ?? 0));
  }
  return loads;
}
