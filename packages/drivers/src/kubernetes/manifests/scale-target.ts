import type { CustomResourceDefinition } from 'kubernetes-types/apiextensions/v1.js';
import type { EnvVar } from 'kubernetes-types/core/v1.js';
import type { ObjectMeta } from 'kubernetes-types/meta/v1.js';
import type { ScaledService } from '../../scaling.ts';
import { annotation, labelSelector, serviceLabels } from '../names/labels.ts';
import { namespaceName, rolloutName, serviceObjectName } from '../names/names.ts';
import { withWanted } from './metadata.ts';
import { mainContainer } from './pod.ts';
import { valueKeys } from './values.ts';

/*
 * Each instance has its own controller, so a HorizontalPodAutoscaler finds no object whose number it could change. A
 * ScaleTarget is such an object. It has nothing but the number (`kubectl scale` changes it, too), which Davit reads and
 * applies.
 */

const group = 'davit.dev';

/** The number of instances of a service, as its cluster wants it and as it is. */
export interface ScaleTarget {
  readonly apiVersion: 'davit.dev/v1';
  readonly kind: 'ScaleTarget';
  readonly metadata: ObjectMeta;
  readonly spec: {
    /** Written at the creation of the object, then by the deciders. */
    readonly replicas?: number;
    /** KEDA looks up the variables that triggers name here. For secrets, this contains only their names. */
    readonly template: { readonly spec: { readonly containers: readonly { readonly name: string; readonly env: EnvVar[] }[] } };
  };
  readonly status?: { readonly replicas?: number; readonly selector?: string };
}

/** Returns the object of a service, without its number. Pure. */
export function toScaleTarget(scaled: ScaledService): ScaleTarget {
  const { owner, name, mark, metadata } = scaled;
  const env = scaled.variables.map((variable, position) => ({
    name: variable,
    valueFrom: { secretKeyRef: { name: rolloutName(scaled), key: valueKeys.variable(position) } },
  }));
  return {
    apiVersion: `${group}/v1`,
    kind: 'ScaleTarget',
    metadata: withWanted(
      {
        name: serviceObjectName(owner),
        namespace: namespaceName(owner.installation, owner.environment),
        labels: serviceLabels(owner, 'scaling'),
        annotations: { [annotation.name]: name, [annotation.mark]: mark },
      },
      null,
      metadata,
    ),
    spec: { template: { spec: { containers: [{ name: mainContainer, env }] } } },
  };
}

/** Returns the selector of the pods whose use decides: those of the serving rollout. Pure. */
export function scaledPods({ owner, rollout }: Pick<ScaledService, 'owner' | 'rollout'>): string {
  return labelSelector(owner.installation, 'instance', { service: owner.service, rollout });
}

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** The definition of ScaleTargets, which an operator applies to the cluster. */
export const scaleTargetDefinition: CustomResourceDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `scaletargets.${group}`, labels: { 'app.kubernetes.io/name': 'davit' } },
  spec: {
    group,
    scope: 'Namespaced',
    names: { kind: 'ScaleTarget', listKind: 'ScaleTargetList', plural: 'scaletargets', singular: 'scaletarget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: {
            specReplicasPath: '.spec.replicas',
            statusReplicasPath: '.status.replicas',
            labelSelectorPath: '.status.selector',
          },
        },
        additionalPrinterColumns: [
          { name: 'Service', type: 'string', jsonPath: '.metadata.annotations.davit\\.name' },
          { name: 'Wanted', type: 'integer', jsonPath: '.spec.replicas' },
          { name: 'Running', type: 'integer', jsonPath: '.status.replicas' },
        ],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            required: ['spec'],
            properties: {
              spec: {
                type: 'object',
                required: ['replicas'],
                properties: {
                  replicas: { type: 'integer', format: 'int32', minimum: 0 },
                  template: anything,
                },
              },
              status: {
                type: 'object',
                properties: {
                  replicas: { type: 'integer', format: 'int32', minimum: 0 },
                  selector: { type: 'string' },
                },
              },
            },
          },
        },
      },
    ],
  },
};
