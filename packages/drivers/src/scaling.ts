import type { ObjectMetadata, Ownership } from './workload.ts';

/** How the use of instances decides, in percent of what one may use. */
export interface ScalingByUse {
  readonly type: 'USE';
  readonly cpuPercent: number;
  /** null: memory does not matter. */
  readonly memoryPercent: number | null;
}

/** How events decide. */
export interface ScalingByEvents {
  readonly type: 'EVENTS';
  /** Between two looks at where events come from. */
  readonly pollingSeconds: number;
  /** After the last event, until there is no instance; only where the least is 0. */
  readonly cooldownSeconds: number;
  /** At least one. What asks for the most instances counts. */
  readonly triggers: readonly ScalingTrigger[];
}

/** Where events come from, in the words of KEDA. */
export interface ScalingTrigger {
  readonly type: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly metricType?: 'AverageValue' | 'Value' | 'Utilization';
  readonly useCachedMetrics?: true;
  readonly authentication?: TriggerAuthentication;
}

/** With what a trigger shows who it is. Names only: no value of a secret is in it. */
export interface TriggerAuthentication {
  readonly name: string;
  /** Keys of Secrets beside the instances. */
  readonly secretTargetRef?: readonly TriggerValue[];
  readonly configMapTargetRef?: readonly TriggerValue[];
  /** Variables of the service. */
  readonly env?: readonly { readonly parameter: string; readonly name: string }[];
}

export interface TriggerValue {
  readonly parameter: string;
  readonly name: string;
  readonly key: string;
}

/** What a cluster is to know of a service to decide how many instances it has. */
export interface ScaledService {
  readonly owner: Ownership;
  /** Whose instances are looked at. */
  readonly rollout: string;
  /** The service's name, for people. */
  readonly name: string;
  /** The number with which the cluster begins where it has none of this service yet. The one that it has stays. */
  readonly instances: number;
  readonly least: number;
  readonly most: number;
  readonly scaleDownSeconds: number;
  readonly by: ScalingByUse | ScalingByEvents;
  /** Names of the variables of its processes in the order of the workload: what triggers may name. */
  readonly variables: readonly string[];
  /** Told again by `wanted`: by which version of all this the cluster decides. */
  readonly mark: string;
  /** Absent: nothing. */
  readonly metadata?: ObjectMetadata | undefined;
}

/** What a cluster says of a service that it decides on. */
export interface WantedInstances {
  readonly service: string;
  readonly instances: number;
  /** What was reported last. */
  readonly running: number | null;
  /** See `ScaledService`. */
  readonly mark: string;
}

/**
 * Optional power of a cluster that decides by itself how many instances a service has, in place of Davit, which makes it so. Fails with
 * ENGINE_FAILED, ADMISSION_REFUSED, CLUSTER_ACCESS_DENIED, ENGINE_UNREACHABLE.
 */
export interface ClusterScaling {
  /** What the cluster lacks for it, each in words; empty: nothing. */
  missing(by: ScalingByUse['type'] | ScalingByEvents['type'], signal: AbortSignal): Promise<readonly string[]>;

  /** Makes the cluster decide on a service, as it is told here and in no other way. Idempotent. */
  apply(scaled: ScaledService, signal: AbortSignal): Promise<void>;

  /** Makes it decide on the service no more. Idempotent; fine where the cluster could not decide on anything. */
  remove(owner: Pick<Ownership, 'environment' | 'service'>, signal: AbortSignal): Promise<void>;

  /** All services that the cluster decides on. */
  wanted(signal: AbortSignal): Promise<readonly WantedInstances[]>;

  /** Tells how many instances a service has that it decides on. One that it knows nothing of is fine. */
  report(owner: Pick<Ownership, 'environment' | 'service'>, running: number, signal: AbortSignal): Promise<void>;

  /** Calls back when `wanted` may have changed, until the signal aborts; rejects where that cannot be watched. */
  watch(onChange: () => void, signal: AbortSignal): Promise<void>;
}
