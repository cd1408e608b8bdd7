import type { ObjectMetadata, Ownership } from './workload.ts';

/** Scaling by resource usage. The thresholds are percentages of what one instance may use. */
export interface ScalingByUse {
  readonly type: 'USE';
  readonly cpuPercent: number;
  /** Threshold of memory usage; null if memory does not matter. */
  readonly memoryPercent: number | null;
}

/** Scaling by events. */
export interface ScalingByEvents {
  readonly type: 'EVENTS';
  /** Seconds between two checks of the event sources. */
  readonly pollingSeconds: number;
  /** Seconds from the last event until the service is scaled to 0. Only used if `least` is 0. */
  readonly cooldownSeconds: number;
  /** At least one trigger. The trigger that requests the most instances decides. */
  readonly triggers: readonly ScalingTrigger[];
}

/** An event source, in the terms of KEDA. */
export interface ScalingTrigger {
  readonly type: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly metricType?: 'AverageValue' | 'Value' | 'Utilization';
  readonly useCachedMetrics?: true;
  readonly authentication?: TriggerAuthentication;
}

/** Authentication of a trigger. Contains names only, never the value of a secret. */
export interface TriggerAuthentication {
  readonly name: string;
  /** Keys of Secrets in the namespace of the instances. */
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

/** Everything that a cluster needs to know to scale a service. */
export interface ScaledService {
  readonly owner: Ownership;
  /** The rollout whose instances are measured. */
  readonly rollout: string;
  /** The service's name, for people. */
  readonly name: string;
  /** Initial number of instances, if the cluster has none of this service yet. Otherwise the current number stays. */
  readonly instances: number;
  readonly min: number;
  readonly max: number;
  readonly scaleDownSeconds: number;
  readonly by: ScalingByUse | ScalingByEvents;
  /** Names of the variables of the service's processes, in the order of the workload. Triggers may refer to them. */
  readonly variables: readonly string[];
  /** Version of these settings. `wanted` returns it, to show which version the cluster uses. */
  readonly mark: string;
  /** Labels and annotations that the user adds; none if absent. */
  readonly metadata?: ObjectMetadata | undefined;
}

/** The number of instances that a cluster wants for a service that it scales. */
export interface WantedInstances {
  readonly service: string;
  readonly instances: number;
  /** The number of running instances that `report` sent last. */
  readonly running: number | null;
  /** See `ScaledService`. */
  readonly mark: string;
}

/**
 * Optional capability of a cluster that decides the number of instances of a service in place of Davit; Davit then
 * starts and stops the instances. Fails with ENGINE_FAILED, ADMISSION_REFUSED, CLUSTER_ACCESS_DENIED,
 * ENGINE_UNREACHABLE.
 */
export interface ClusterScaling {
  /** Returns what the cluster lacks for this kind of scaling, each as text; empty if nothing is missing. */
  missing(by: ScalingByUse['type'] | ScalingByEvents['type'], signal: AbortSignal): Promise<readonly string[]>;

  /** Makes the cluster scale a service by exactly these settings. Idempotent. */
  apply(scaled: ScaledService, signal: AbortSignal): Promise<void>;

  /** Ends the scaling of a service by the cluster. Idempotent; also succeeds if the cluster never supported scaling. */
  remove(owner: Pick<Ownership, 'environment' | 'service'>, signal: AbortSignal): Promise<void>;

  /** Returns all services that the cluster scales. */
  wanted(signal: AbortSignal): Promise<readonly WantedInstances[]>;

  /**
   * Reports to the cluster the number of running instances of a service. Ignored if the cluster does not scale the
   * service.
   */
  report(owner: Pick<Ownership, 'environment' | 'service'>, running: number, signal: AbortSignal): Promise<void>;

  /**
   * Calls `onChange` when `wanted` may have changed, until the signal aborts. Rejects if the changes cannot be watched.
   */
  watch(onChange: () => void, signal: AbortSignal): Promise<void>;
}
