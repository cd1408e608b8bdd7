import type { Container, Probe as KubernetesProbe } from 'kubernetes-types/core/v1.js';
import { never } from '@davit/base';
import type { Probe, ProbeCheck, Workload } from '../../workload.ts';
import { unexpanded } from './unexpanded.ts';

/** A day of seconds: what did not open its port by then was given up long before. */
const patience = 86_400;

/**
 * How the kubelet learns that an instance is ready: by the readiness probe, without its initial delay, as failures before the first
 * success end nothing. Without one, by the first port that takes connections; once it does, it is not asked again, as servers write
 * a line for each connection that says nothing.
 */
export function toReadiness({ readiness, ports }: Workload): Pick<Container, 'readinessProbe' | 'startupProbe'> {
  if (readiness) return { readinessProbe: { ...toProbe(readiness), initialDelaySeconds: 0 } };
  const port = ports.find(({ protocol }) => protocol !== 'UDP')?.internalPort;
  if (port === undefined) return {};
  return { startupProbe: { tcpSocket: { port }, periodSeconds: 1, timeoutSeconds: 1, failureThreshold: patience } };
}

/** The kubelet restarts the container of an instance whose liveness probe fails; a liveness probe succeeds at its first success. */
export function toLivenessProbe(probe: Probe): KubernetesProbe {
  return { ...toProbe(probe), successThreshold: 1 };
}

function toProbe(probe: Probe): KubernetesProbe {
  return {
    ...toAction(probe.check),
    initialDelaySeconds: Math.max(probe.initialDelaySeconds, 0),
    periodSeconds: Math.max(probe.periodSeconds, 1),
    timeoutSeconds: Math.max(probe.timeoutSeconds, 1),
    successThreshold: Math.max(probe.successThreshold, 1),
    failureThreshold: Math.max(probe.failureThreshold, 1),
  };
}

// `tcp.host` is left out, as on a container engine: probes go to the instance itself.
function toAction(check: ProbeCheck): Partial<KubernetesProbe> {
  switch (check.type) {
    case 'tcp':
      return { tcpSocket: { port: check.port } };
    case 'http':
      return { httpGet: { port: check.port, path: check.path, scheme: check.scheme } };
    case 'exec':
      return { exec: { command: check.command.map(unexpanded) } };
    case 'grpc':
      return { grpc: { port: check.port, ...(check.service !== null && { service: check.service }) } };
    default:
      return never(check);
  }
}
