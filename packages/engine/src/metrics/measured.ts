import type { InstanceUsage, RouteTraffic, VolumeUsage } from '@davit/drivers';
import type { MeasuredRow } from '../store/metrics.ts';

/** The usage of one instance between two passes. */
export interface InstanceSample {
  readonly id: string;
  readonly service: string;
  readonly environment: string;
  readonly rollout: string;
  readonly index: number;
  /** Seconds for which the instance has been observed without a restart. */
  readonly ageSeconds: number;
  /** Average since the previous pass; null in the first pass that sees the instance. */
  readonly cpuMillicores: number | null;
  readonly memoryBytes: number;
}

interface Known {
  readonly usage: InstanceUsage;
  readonly since: number;
}

interface Growing {
  instances: number;
  seconds: number;
  timed: number;
  cpu_ms: number;
  memory_bytes: number;
  received_bytes: number;
  sent_bytes: number;
  volume_bytes: number | null;
  requests: number;
  responses: number[];
  latency: number[];
}

export interface Reading {
  readonly usage: readonly InstanceUsage[];
  readonly traffic: readonly RouteTraffic[];
  /** Service id by route id. */
  readonly serviceOf: ReadonlyMap<string, string>;
  /** null if the volumes were not counted in this pass. */
  readonly volumes: readonly VolumeUsage[] | null;
}

/**
 * Turns counters into the usage between two passes. A counter that has decreased was reset, and its whole value is new.
 * Uses no clock: the times of instances come from the cluster.
 */
export class Measurements {
  #instances = new Map<string, Known>();
  readonly #routes = new Map<string, RouteTraffic>();
  #isFirst = true;

  /** Returns a row for each service with measurements, and a sample for each instance. */
  take(reading: Reading): { readonly rows: readonly MeasuredRow[]; readonly samples: readonly InstanceSample[] } {
    const services = new Map<string, Growing>();
    const of = (service: string): Growing => {
      const found = services.get(service) ?? nothing();
      services.set(service, found);
      return found;
    };
    const samples = this.#takeUsage(reading.usage, of);
    this.#takeTraffic(reading, of);
    this.#isFirst = false;
    for (const { service, bytes } of reading.volumes ?? []) of(service).volume_bytes = bytes;
    return { rows: [...services].map(([service, growing]) => toRow(service, growing)), samples };
  }

  #takeUsage(usage: readonly InstanceUsage[], of: (service: string) => Growing): InstanceSample[] {
    const next = new Map<string, Known>();
    const samples = usage.map((now): InstanceSample => {
      const former = this.#instances.get(now.id);
      const isNew = former === undefined || now.cpuMilliseconds < former.usage.cpuMilliseconds;
      const since = isNew ? now.at : former.since;
      next.set(now.id, { usage: now, since });
      const seconds = former === undefined ? 0 : (now.at - former.usage.at) / 1000;
      const cpu = former === undefined ? 0 : rise(former.usage.cpuMilliseconds, now.cpuMilliseconds);
      const growing = of(now.service);
      growing.instances += 1;
      growing.memory_bytes += now.memoryBytes;
      if (former !== undefined && seconds > 0) {
        growing.timed += 1;
        growing.seconds += seconds;
        growing.cpu_ms += cpu;
        growing.received_bytes += rise(former.usage.receivedBytes, now.receivedBytes);
        growing.sent_bytes += rise(former.usage.sentBytes, now.sentBytes);
      }
      return {
        id: now.id,
        service: now.service,
        environment: now.environment,
        rollout: now.rollout,
        index: now.index,
        ageSeconds: (now.at - since) / 1000,
        cpuMillicores: seconds > 0 ? cpu / seconds : null,
        memoryBytes: now.memoryBytes,
      };
    });
    this.#instances = next;
    return samples;
  }

  #takeTraffic({ traffic, serviceOf }: Reading, of: (service: string) => Growing): void {
    for (const route of traffic) {
      const former = this.#routes.get(route.id);
      this.#routes.set(route.id, route);
      const service = serviceOf.get(route.id);
      const requests = rise(former?.requests ?? 0, route.requests);
      // The route may be removed while its last requests end. Their service is then unknown.
      if (this.#isFirst || service === undefined || requests === 0) continue;
      const growing = of(service);
      growing.requests += requests;
      route.responses.forEach((count, index) => increase(growing.responses, index, rise(former?.responses[index] ?? 0, count)));
      route.latency.forEach((count, index) => increase(growing.latency, index, rise(former?.latency[index] ?? 0, count)));
    }
  }
}

function nothing(): Growing {
  const none = { instances: 0, seconds: 0, timed: 0, cpu_ms: 0, memory_bytes: 0, received_bytes: 0, sent_bytes: 0 };
  return { ...none, volume_bytes: null, requests: 0, responses: [], latency: [] };
}

function rise(former: number, now: number): number {
  return now >= former ? now - former : now;
}

function increase(counts: number[], index: number, by: number): void {
  counts[index] = (counts[index] ?? 0) + by;
}

function toRow(service_id: string, { seconds, timed, responses, latency, ...sums }: Growing): MeasuredRow {
  const counted = sums.requests > 0;
  return {
    service_id,
    ...sums,
    measured_seconds: timed === 0 ? 0 : seconds / timed,
    responses: counted ? responses : null,
    latency: counted ? latency : null,
  };
}
