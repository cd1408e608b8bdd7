import { hasControlCharacter } from '@davit/base';
import type { ReleaseConfig } from '@davit/engine/port';
import type { Problems } from '../../shared/problems.ts';

import type { HealthchecksRequest, ProbeRequest } from './request.ts';

/** A probe as stored and shown. Unset members of `type` are null. */
export interface ProbeSpec {
  readonly type: {
    readonly tcp: { readonly port: number; readonly host: string | null } | null;
    readonly http: { readonly path: string; readonly scheme: 'HTTP' | 'HTTPS'; readonly port: number } | null;
    readonly exec: { readonly command: string[] } | null;
    readonly grpc: { readonly service: string | null; readonly port: number } | null;
  };
  readonly initial_delay_seconds: number;
  readonly period_seconds: number;
  readonly timeout_seconds: number;
  readonly success_threshold: number;
  readonly failure_threshold: number;
}

export interface HealthchecksSpec {
  readonly readiness_probe: ProbeSpec | null;
  readonly liveness_probe: ProbeSpec | null;
}

type DriverProbe = NonNullable<ReleaseConfig['readiness']>;

const members = ['tcp', 'http', 'exec', 'grpc'] as const;

/** Returns both probes with defaults. An omitted probe is null. */
export function toHealthchecks(request: HealthchecksRequest | null | undefined, problems: Problems): HealthchecksSpec {
  const probe = (name: 'readiness_probe' | 'liveness_probe'): ProbeSpec | null => {
    const requested = request?.[name] ?? null;
    return requested === null ? null : toProbe(requested, `healthchecks.${name}`, problems);
  };
  return { readiness_probe: probe('readiness_probe'), liveness_probe: probe('liveness_probe') };
}

function toProbe(request: ProbeRequest, path: string, problems: Problems): ProbeSpec {
  const { tcp = null, http = null, exec = null, grpc = null } = request.type;
  const set = members.filter((member) => (request.type[member] ?? null) !== null);
  if (set.length !== 1) {
    const found = set.length === 0 ? 'none of them is set' : `${set.join(' and ')} are set`;
    problems.add(`${path}.type`, `must have exactly one of tcp, http, exec and grpc; ${found}`);
  }
  const httpPath = http?.path ?? '/';
  if (!httpPath.startsWith('/') || hasControlCharacter(httpPath) || httpPath.includes(' ')) {
    problems.add(`${path}.type.http.path`, 'must begin with / and contain no blanks');
  }
  const host = tcp?.host ?? null;
  if (host !== null && !/^[A-Za-z0-9._:-]*$/.test(host))
    problems.add(`${path}.type.tcp.host`, 'must be a host name or IP address');
  return {
    type: {
      tcp: tcp === null ? null : { port: tcp.port, host: host === '' ? null : host },
      http: http === null ? null : { path: httpPath, scheme: http.scheme ?? 'HTTP', port: http.port },
      exec: exec === null ? null : { command: exec.command },
      grpc: grpc === null ? null : { service: grpc.service ?? null, port: grpc.port },
    },
    initial_delay_seconds: request.initial_delay_seconds ?? 30,
    period_seconds: request.period_seconds ?? 10,
    timeout_seconds: request.timeout_seconds ?? 5,
    success_threshold: request.success_threshold ?? 1,
    failure_threshold: request.failure_threshold ?? 9,
  };
}

/** Returns the probe for a driver. */
export function toDriverProbe(probe: ProbeSpec | null): ReleaseConfig['readiness'] {
  if (probe === null) return null;
  const { tcp, http, exec, grpc } = probe.type;
  const check: DriverProbe['check'] | null =
    tcp !== null
      ? { type: 'tcp', port: tcp.port, host: tcp.host }
      : http !== null
        ? { type: 'http', port: http.port, path: http.path, scheme: http.scheme }
        : exec !== null
          ? { type: 'exec', command: exec.command }
          : grpc !== null
            ? { type: 'grpc', port: grpc.port, service: grpc.service }
            : null;
  if (check === null) return null;
  return {
    check,
    initialDelaySeconds: probe.initial_delay_seconds,
    periodSeconds: probe.period_seconds,
    timeoutSeconds: probe.timeout_seconds,
    successThreshold: probe.success_threshold,
    failureThreshold: probe.failure_threshold,
  };
}
