import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ScaledService, ScalingByEvents } from '../../scaling.ts';
import { faultsOf } from '../testing/schemas.ts';
import { sampleWorkload } from '../testing/workloads.ts';
import { toAutoscaler, toScaledObject, toTriggerAuthentications } from './autoscaler.ts';
import { toController } from './instance.ts';
import { scaledPods, scaleTargetDefinition, toScaleTarget } from './scale-target.ts';
import { cluster } from '../testing/workloads.ts';

const workload = sampleWorkload();
const { owner, rollout, name } = workload;
const byUse = { type: 'USE', cpuPercent: 60, memoryPercent: null } as const;
const byEvents: ScalingByEvents = {
  type: 'EVENTS',
  pollingSeconds: 30,
  cooldownSeconds: 300,
  triggers: [
    { type: 'cron', metadata: { timezone: 'Etc/UTC', start: '0 6 * * *', end: '0 20 * * *', desiredReplicas: '3' } },
    {
      type: 'rabbitmq',
      metadata: { queueName: 'orders' },
      metricType: 'AverageValue',
      authentication: {
        name: 'the broker',
        secretTargetRef: [{ parameter: 'host', name: 'broker', key: 'url' }],
        env: [{ parameter: 'password', name: 'PASSWORD' }],
      },
    },
  ],
};
const scaled: ScaledService = {
  owner,
  rollout,
  name,
  instances: 2,
  min: 1,
  max: 4,
  scaleDownSeconds: 300,
  by: byUse,
  variables: workload.environment.map((entry) => entry.name),
  mark: 'one',
  metadata: { labels: { team: 'shop' }, annotations: { HorizontalPodAutoscaler: { note: 'by use' } } },
};

describe('a HorizontalPodAutoscaler', () => {
  test('is what Kubernetes takes, whatever a service says', () => {
    const percent = fc.integer({ min: 1, max: 95 });
    fc.assert(
      fc.property(percent, fc.option(percent), fc.integer({ min: 1, max: 86_400 }), (cpuPercent, memoryPercent, seconds) => {
        const object = toAutoscaler({ ...scaled, scaleDownSeconds: seconds }, { type: 'USE', cpuPercent, memoryPercent });
        expect(faultsOf(object)).toEqual([]);
        const down = object.spec?.behavior?.scaleDown;
        // Kubernetes validates this in addition to the schema.
        expect(down?.stabilizationWindowSeconds).toBeLessThanOrEqual(3_600);
        expect(down?.policies?.every(({ periodSeconds }) => periodSeconds >= 1 && periodSeconds <= 1_800)).toBe(true);
      }),
    );
  });

  test('says what Davit would do: up at once, down slowly, between the same numbers', () => {
    const { metadata, spec } = toAutoscaler(scaled, byUse);
    const target = toScaleTarget(scaled);
    expect(spec).toMatchObject({
      scaleTargetRef: { apiVersion: target.apiVersion, kind: target.kind, name: target.metadata.name },
      minReplicas: 1,
      maxReplicas: 4,
      metrics: [{ resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 60 } } }],
      behavior: { scaleDown: { stabilizationWindowSeconds: 300, policies: [{ value: 25, periodSeconds: 60 }, { value: 1 }] } },
    });
    expect(metadata).toMatchObject({ labels: { team: 'shop' }, annotations: { note: 'by use' } });
  });
});

describe('a ScaleTarget', () => {
  test('is defined in words that Kubernetes takes, and gets no number from what Davit says again and again', () => {
    expect(faultsOf(scaleTargetDefinition)).toEqual([]);
    expect(toScaleTarget(scaled).spec).not.toHaveProperty('replicas');
  });

  test('has the variables of the process by where they are, and no value of one', () => {
    const [container] = toScaleTarget(scaled).spec.template.spec.containers;
    const { spec } = toController(workload, 0, cluster);
    const pod = spec !== undefined && 'template' in spec ? spec.template.spec : undefined;
    expect(container?.env).toEqual(pod?.containers[0]?.env);
    expect(JSON.stringify(toScaleTarget(scaled))).not.toContain('value":');
  });

  test('selects the pods of the rollout that serves', () => {
    const labels = Object.entries(toController(workload, 0, cluster).metadata?.labels ?? {});
    for (const term of scaledPods(scaled).split(',')) expect(labels.map((one) => one.join('='))).toContain(term);
    expect(scaledPods(scaled)).toContain(rollout);
  });
});

test('a ScaledObject has all triggers, each with a TriggerAuthentication of its own', () => {
  const events = { ...scaled, by: byEvents, min: 0 };
  const [authentication, ...others] = toTriggerAuthentications(events, byEvents);
  expect(others).toEqual([]);
  expect(authentication).toMatchObject({
    metadata: { name: expect.stringMatching(/-1$/), annotations: { 'davit.name': 'the broker' } },
    spec: {
      secretTargetRef: [{ parameter: 'host', name: 'broker', key: 'url' }],
      env: [{ parameter: 'password', name: 'PASSWORD' }],
    },
  });
  expect(authentication?.spec).not.toHaveProperty('name');
  expect(toScaledObject(events, byEvents)).toMatchObject({
    metadata: { labels: { team: 'shop' }, annotations: { note: 'by use' } },
    spec: {
      scaleTargetRef: { kind: 'ScaleTarget' },
      pollingInterval: 30,
      cooldownPeriod: 300,
      minReplicaCount: 0,
      maxReplicaCount: 4,
      triggers: [
        { type: 'cron', metadata: { desiredReplicas: '3' } },
        { type: 'rabbitmq', metricType: 'AverageValue', authenticationRef: { name: authentication?.metadata.name } },
      ],
    },
  });
});
