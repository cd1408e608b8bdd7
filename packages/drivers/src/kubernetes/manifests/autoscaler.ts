import type { HorizontalPodAutoscaler, HorizontalPodAutoscalerBehavior, MetricSpec } from 'kubernetes-types/autoscaling/v2.js';
import type { ObjectMeta } from 'kubernetes-types/meta/v1.js';
import type { ScaledService, ScalingByEvents, ScalingByUse, ScalingTrigger, TriggerAuthentication } from '../../scaling.ts';
import { annotation, serviceLabels } from '../names/labels.ts';
import { namespaceName, serviceObjectName } from '../names/names.ts';
import { withWanted } from './metadata.ts';

/** The fields of a ScaledObject of KEDA (keda.sh/v1alpha1) that Davit writes. */
export interface ScaledObject {
  readonly apiVersion: 'keda.sh/v1alpha1';
  readonly kind: 'ScaledObject';
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly scaleTargetRef: { readonly apiVersion: string; readonly kind: string; readonly name: string };
    readonly pollingInterval: number;
    readonly cooldownPeriod: number;
    readonly minReplicaCount: number;
    readonly maxReplicaCount: number;
    readonly advanced: { readonly horizontalPodAutoscalerConfig: { readonly behavior: HorizontalPodAutoscalerBehavior } };
    readonly triggers: readonly {
      readonly type: string;
      readonly metadata: Readonly<Record<string, string>>;
      readonly metricType?: string;
      readonly useCachedMetrics?: true;
      readonly authenticationRef?: { readonly name: string };
    }[];
  };
}

/** The fields of a TriggerAuthentication that Davit writes. */
export interface TriggerAuthenticationObject {
  readonly apiVersion: 'keda.sh/v1alpha1';
  readonly kind: 'TriggerAuthentication';
  readonly metadata: ObjectMeta;
  readonly spec: Omit<TriggerAuthentication, 'name'>;
}

const scaleTargetRef = (name: string) => ({ apiVersion: 'davit.dev/v1', kind: 'ScaleTarget', name });

/** Returns the autoscaler that changes the number of instances of a service by their use. Pure. */
export function toAutoscaler(scaled: ScaledService, by: ScalingByUse): HorizontalPodAutoscaler {
  const { cpuPercent, memoryPercent } = by;
  const metadata = metadataOf(scaled);
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: withWanted(metadata, 'HorizontalPodAutoscaler', scaled.metadata),
    spec: {
      scaleTargetRef: scaleTargetRef(metadata.name ?? ''),
      minReplicas: scaled.min,
      maxReplicas: scaled.max,
      metrics: [utilization('cpu', cpuPercent), ...(memoryPercent === null ? [] : [utilization('memory', memoryPercent)])],
      behavior: behaviorOf(scaled),
    },
  };
}

function utilization(name: string, averageUtilization: number): MetricSpec {
  return { type: 'Resource', resource: { name, target: { type: 'Utilization', averageUtilization } } };
}

/** Scales up at once and down slowly, as Davit does if it decides itself, within the limits of Kubernetes. Pure. */
function behaviorOf({ scaleDownSeconds }: ScaledService): HorizontalPodAutoscalerBehavior {
  const up = 15;
  const down = Math.min(1_800, Math.max(1, Math.round(scaleDownSeconds / 5)));
  return {
    scaleUp: {
      stabilizationWindowSeconds: 0,
      selectPolicy: 'Max',
      policies: [
        { type: 'Percent', value: 100, periodSeconds: up },
        { type: 'Pods', value: 4, periodSeconds: up },
      ],
    },
    scaleDown: {
      stabilizationWindowSeconds: Math.min(3_600, Math.round(scaleDownSeconds)),
      selectPolicy: 'Max',
      policies: [
        { type: 'Percent', value: 25, periodSeconds: down },
        { type: 'Pods', value: 1, periodSeconds: down },
      ],
    },
  };
}

/** Returns the ScaledObject that changes the number of instances by events. Pure. */
export function toScaledObject(scaled: ScaledService, by: ScalingByEvents): ScaledObject {
  const metadata = metadataOf(scaled);
  return {
    apiVersion: 'keda.sh/v1alpha1',
    kind: 'ScaledObject',
    metadata: withWanted(metadata, 'HorizontalPodAutoscaler', scaled.metadata),
    spec: {
      scaleTargetRef: scaleTargetRef(metadata.name ?? ''),
      pollingInterval: by.pollingSeconds,
      cooldownPeriod: by.cooldownSeconds,
      minReplicaCount: scaled.min,
      maxReplicaCount: scaled.max,
      advanced: { horizontalPodAutoscalerConfig: { behavior: behaviorOf(scaled) } },
      triggers: by.triggers.map((trigger, position) => toTrigger(trigger, authenticationName(metadata.name ?? '', position))),
    },
  };
}

function toTrigger({ authentication, ...trigger }: ScalingTrigger, name: string): ScaledObject['spec']['triggers'][number] {
  return { ...trigger, ...(authentication !== undefined && { authenticationRef: { name } }) };
}

/**
 * Returns the credentials of the triggers. Each trigger has its own TriggerAuthentication, whatever users call it.
 * Pure.
 */
export function toTriggerAuthentications(scaled: ScaledService, by: ScalingByEvents): TriggerAuthenticationObject[] {
  const metadata = metadataOf(scaled);
  return by.triggers.flatMap(({ authentication }, position) => {
    if (authentication === undefined) return [];
    const { name, ...spec } = authentication;
    const annotations = { ...metadata.annotations, [annotation.name]: name };
    const own = { ...metadata, name: authenticationName(metadata.name ?? '', position), annotations };
    return [
      { apiVersion: 'keda.sh/v1alpha1', kind: 'TriggerAuthentication', metadata: withWanted(own, null, scaled.metadata), spec },
    ];
  });
}

function authenticationName(name: string, position: number): string {
  return `${name}-${position}`;
}

function metadataOf({ owner, name }: ScaledService): ObjectMeta {
  return {
    name: serviceObjectName(owner),
    namespace: namespaceName(owner.installation, owner.environment),
    labels: serviceLabels(owner, 'scaling'),
    annotations: { [annotation.name]: name },
  };
}
