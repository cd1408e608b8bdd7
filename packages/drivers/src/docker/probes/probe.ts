import type { EngineConnection } from '../connection.ts';
import { EngineRefusal } from '../engine-api.ts';
import { runInside } from '../exec.ts';
import { messageOf, never } from '@davit/base';
import type { Instance, Probe, ProbeCheck } from '../../workload.ts';
import { probeGrpc } from './grpc.ts';
import { probeHttp } from './http.ts';
import { probeTcp, type Target } from './tcp.ts';

export interface ProbeScope {
  readonly docker: EngineConnection;
  readonly isDirect: boolean;
}

/** Runs a probe once. Returns null if it succeeded, otherwise a description of the failure. */
export async function probeOnce(
  scope: ProbeScope,
  probe: Probe,
  instance: Instance,
  signal: AbortSignal,
): Promise<string | null> {
  const { check } = probe;
  const timeout = Math.max(probe.timeoutSeconds, 1) * 1000;
  if (check.type === 'exec') return probeExec(scope.docker, check.command, { instance, timeout }, signal);
  const target = targetOf(scope, check, instance);
  const words = describeCheck(check);
  if (target === null) return `${words}: port ${check.port} is not a port of the service, so it is not published`;
  const seen = await seenAt(target, check, timeout, signal);
  return seen === null ? null : `${words}: ${seen}`;
}

function seenAt(
  target: Target,
  check: Exclude<ProbeCheck, { type: 'exec' }>,
  timeout: number,
  signal: AbortSignal,
): Promise<string | null> {
  switch (check.type) {
    case 'tcp':
      return probeTcp(target, timeout, signal);
    case 'http':
      return probeHttp(target, check, timeout, signal);
    case 'grpc':
      return probeGrpc(target, check.service ?? '', timeout, signal);
    default:
      return never(check);
  }
}

/** Returns a readable description of a check. */
export function describeCheck(check: ProbeCheck): string {
  switch (check.type) {
    case 'tcp':
      return `TCP connection to port ${check.port}`;
    case 'http':
      return `GET ${check.path} on port ${check.port}${check.scheme === 'HTTPS' ? ' (HTTPS)' : ''}`;
    case 'grpc':
      return `gRPC health check on port ${check.port}`;
    case 'exec':
      return `command ${check.command.join(' ')}`;
    default:
      return never(check);
  }
}

/**
 * Returns the address that a check connects to, or null if the port is not published. The address is always the
 * instance itself: `tcp.host` only names the host that its process expects to be called by. Connecting to any other
 * host would let a tenant scan the operator's network from Davit's position in it.
 */
function targetOf(scope: ProbeScope, check: { readonly port: number }, instance: Instance): Target | null {
  const endpoint = instance.endpoints.find(({ internalPort }) => internalPort === check.port);
  if (endpoint) return { host: endpoint.host, port: endpoint.port, isProxied: !scope.isDirect };
  // A port that is used only by probes need not be a port of the service. With direct addresses, every port is
  // reachable.
  const host = scope.isDirect ? instance.endpoints[0]?.host : undefined;
  return host === undefined ? null : { host, port: check.port, isProxied: false };
}

async function probeExec(
  docker: EngineConnection,
  command: readonly string[],
  { instance, timeout }: { readonly instance: Instance; readonly timeout: number },
  signal: AbortSignal,
): Promise<string | null> {
  const deadline = AbortSignal.timeout(timeout);
  const words = `command ${command.join(' ')}`;
  try {
    const { code, output } = await runInside(docker, instance.id, command, AbortSignal.any([signal, deadline]));
    const printed = output.replace(/\s+/g, ' ').trim().slice(0, 200);
    return code === 0 ? null : `${words}: exit code ${code}${printed === '' ? '' : `: ${printed}`}`;
  } catch (error) {
    if (deadline.aborted) return `${words}: not finished within ${timeout / 1000} s`;
    return `${words}: ${error instanceof EngineRefusal ? error.words : messageOf(error)}`;
  }
}
