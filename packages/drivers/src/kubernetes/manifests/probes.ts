import type { Container, Probe as KubernetesProbe } from 'kubernetes-types/core/v1.js';
import { never } from '@davit/base';
import type { Probe, ProbeCheck, Workload } from '../../workload.ts';
import { unexpanded } from './unexpanded.ts';

/** A day in seconds. An instance that has not opened its port by then was given up long before. */
const limits = 86_400;

/**
 * Returns the probes by which the kubelet knows that an instance is ready.
 * - With a readiness probe: that probe, without its initial delay, because failures before the first success end
 *   nothing.
 * - Without one: the first port that accepts connections. After the first success the port is not probed again, because
 *   servers log a line for each connection that sends nothing.
 */
export function toReadiness({ readiness, ports }: Workload): Pick<Container, 'readinessProbe' | 'startupProbe'> {
  if (readiness) return { readinessProbe: { ...toProbe(readiness), initialDelaySeconds: 0 } };
  const port = ports.find(({ protocol }) => protocol !== 'UDP')?.internalPort;
  if (port === undefined) return {};
  return { startupProbe: { tcpSocket: { port }, periodSeconds: 1, timeoutSeconds: 1, failureThreshold: limits } };
}

/**
 * Returns a liveness probe. The kubelet restarts the container of an instance whose liveness probe fails. One success
 * is enough for a liveness probe.
 */
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

// `tcp.host` is left out, as on a container engine: probes connect to the instance itself.
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
