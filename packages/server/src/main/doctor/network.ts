import { execFile } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { createServer, connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '@davit/base';
import type { Configuration } from '../../configuration.ts';
import { fail, ok, warn, type Finding } from './finding.ts';

const run = promisify(execFile);
const minVersion = 2006;

/** Checks HAProxy, and whether it serves or could serve. */
export async function lookAtGateway(config: Configuration): Promise<Finding[]> {
  if (!config.localEngine) return [ok('none is needed without a container engine (DAVIT_LOCAL_ENGINE)')];
  const install = 'Install HAProxy 2.6 or later (on Debian and Ubuntu: apt-get install haproxy).';
  let version: string;
  try {
    version = (await run('haproxy', ['-v'])).stdout.split('\n')[0] ?? '';
  } catch (error) {
    return [fail(`haproxy cannot be run: ${messageOf(error)}`, install)];
  }
  const [, major, minor] = /version (\d+)\.(\d+)/.exec(version) ?? [];
  if (Number(major) * 1000 + Number(minor) < minVersion || major === undefined) return [fail(`${version} is too old`, install)];
  const { gatewayHost: host, gatewayPort: port, gatewayHttpsPort } = config;
  if (await answers(path.join(config.stateFolder, 'gateway', 'master.sock'))) return [ok(`${version}, serves on port ${port}`)];
  const ports = [
    [port, 'DAVIT_GATEWAY'] as const,
    ...(gatewayHttpsPort === null ? [] : [[gatewayHttpsPort, 'DAVIT_GATEWAY_HTTPS'] as const]),
  ];
  return await Promise.all(
    ports.map(async ([one, prefix]) => {
      const taken = await whyTaken(host, one);
      if (taken === null) return ok(`${version}, port ${one} is free`);
      return fail(`${version}, but Davit cannot listen on port ${one}: ${taken}`, adviceFor(taken, prefix));
    }),
  );
}

/** Checks that the API's port is served by Davit or free. */
export async function lookAtApi({ host, port, role }: Configuration, isServing: boolean): Promise<Finding[]> {
  if (role === 'worker') return [ok('this process answers health requests only (DAVIT_ROLE)')];
  const at = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const url = `http://${at.includes(':') ? `[${at}]` : at}:${port}`;
  if (isServing && port !== 0) {
    const answer = await fetch(`${url}/readyz?verbose`, { signal: AbortSignal.timeout(5000) }).catch(messageOf);
    if (typeof answer !== 'string' && answer.status === 200)
      return [ok(`answers at ${url}`), ...logFindings(await answer.text())];
    const output = typeof answer === 'string' ? answer : `status ${answer.status}`;
    return [fail(`davit serve runs, but ${url}/readyz does not report ready: ${output}`, 'Check its log.')];
  }
  if (isServing) return [ok('davit serve runs')];
  const taken = await whyTaken(host, port);
  if (taken === null) return [ok(`davit serve does not run; port ${port} is free`)];
  return [fail(`davit serve does not run, and Davit cannot listen on ${host}:${port}: ${taken}`, adviceFor(taken, 'DAVIT'))];
}

/** Checks the state of the log in `text`, the body of `/readyz?verbose`. */
function logFindings(text: string): Finding[] {
  const dropped = Number(/"dropped_lines":(\d+)/.exec(text)?.[1] ?? 0);
  if (dropped === 0) return [];
  const failure = /"error":"(\w+)"/.exec(text)?.[1];
  const now = failure === undefined ? 'it is being written again' : `it cannot be written now (${failure})`;
  return [warn(`the log of davit serve lacks ${dropped} lines; ${now}`, 'Free space where its standard error is written.')];
}

function adviceFor(code: string, prefix: string): string {
  if (code === 'EADDRINUSE') return `Another program listens there: end it, or set ${prefix}_PORT to another port.`;
  if (code === 'EACCES') return `This user is not permitted to listen there: set ${prefix}_PORT to a port from 1024 on.`;
  return `Set ${prefix.replace('_HTTPS', '')}_HOST to an address of this machine.`;
}

/** Checks whether the host names of services resolve to this machine. */
export async function lookAtDns(config: Configuration): Promise<Finding[]> {
  const { gatewayDomain: domain, dnsServers } = config;
  if (domain === 'localhost' || domain.endsWith('.localhost')) {
    return [ok(`${domain} is this machine: services can be reached from here only (DAVIT_GATEWAY_DOMAIN)`)];
  }
  const resolver = new Resolver({ timeout: 1500, tries: 2 });
  if (dnsServers.length > 0) resolver.setServers([...dnsServers]);
  const name = `davit-doctor.${domain}`;
  const own = new Set(Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address)));
  const found: string[] = [];
  for (const ask of [() => resolver.resolve4(name), () => resolver.resolve6(name)]) {
    try {
      found.push(...(await ask()));
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : '';
      if (code === 'ENOTFOUND' || code === 'ENODATA') continue;
      const servers = (dnsServers.length > 0 ? dnsServers : resolver.getServers()).join(', ');
      return [
        fail(
          `the DNS servers ${servers} do not answer for ${name}: ${messageOf(error)}`,
          'Correct DAVIT_DNS_SERVERS or /etc/resolv.conf.',
        ),
      ];
    }
  }
  if (found.length === 0) {
    return [fail(`DNS has no record for ${name}`, `Add a wildcard record *.${domain} that leads to this machine.`)];
  }
  if (found.some((address) => own.has(address))) return [ok(`*.${domain} leads to ${found.join(', ')}`)];
  const words = `*.${domain} leads to ${found.join(', ')}, which is not an address of this machine`;
  return [warn(words, 'This is right behind a router or load balancer; otherwise correct the record.')];
}

/** Returns whether a process listens on this unix socket. */
function answers(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath);
    const end = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => end(true)).once('error', () => end(false));
  });
}

/** Returns the error code of listening on this address; null if it succeeds. */
function whyTaken(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve('code' in error ? String(error.code) : error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}
