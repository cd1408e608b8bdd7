import { statement } from '@davit/db';
import { DriverError, type Instance, type InstanceEvent } from '@davit/drivers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RequestedService, ServiceView } from '../index.ts';
import { config } from '../testing/config.ts';
import { createTestEngine, eventually, service, type TestEngine } from '../testing/test-engine.ts';

/* Faults on a cluster that restarts its instances and runs their probes itself, as Kubernetes does. */

let fixture: TestEngine;
/** The reason that the cluster gives for each instance that does not serve; null: they serve. */
let fault: DriverError | null = null;
let state: Pick<Instance, 'state' | 'unready'> | null = null;
let tell: (event: InstanceEvent) => void = () => undefined;

beforeEach(async () => {
  fault = null;
  state = null;
  fixture = await createTestEngine({ steadySeconds: 1 });
  const { cluster } = fixture.fake;
  const original = { ...cluster };
  Object.assign(cluster, {
    health: { faults: (ids: readonly string[]) => Promise.resolve(new Map(fault === null ? [] : ids.map((id) => [id, fault]))) },
    observe: async (...call: Parameters<typeof cluster.observe>) =>
      (await original.observe(...call)).map((instance) => ({ ...instance, ...(instance.state === 'RUNNING' && state) })),
    watch: (...[onEvent, signal]: Parameters<typeof cluster.watch>) => {
      tell = onEvent;
      return original.watch(onEvent, signal);
    },
  });
  // The keeper of the first engine already watches.
  await fixture.restart();
});
afterEach(() => fixture.close());

const ownLines = statement<{ message: string }>(
  'test_cluster_fault_lines',
  `select message from service_log where service_id = $1 and instance_name = 'davit' order by id`,
);

const reaches = (one: RequestedService, is: (view: ServiceView) => boolean): Promise<ServiceView> =>
  eventually(async () => {
    const view = await fixture.view(one.serviceId);
    return is(view) ? view : undefined;
  }, 'a view of the service');
const isWell = ({ conditions, runningStatus }: ServiceView): boolean => conditions.length === 0 && runningStatus === 'RUNNING';
const deployed = async (overrides: Parameters<typeof config>[0] = {}): Promise<RequestedService> => {
  const one = service({ config: config({ ports: [], ...overrides }) });
  expect(await fixture.ends(await fixture.deploy([one]))).toBe('SUCCEEDED');
  await reaches(one, isWell);
  return one;
};
const of = ({ serviceId }: RequestedService): Instance | undefined =>
  fixture.fake.instances.find((one) => one.service === serviceId);
const changed = (one: RequestedService, event: Partial<InstanceEvent> = {}): void =>
  tell({ type: 'CHANGED', service: one.serviceId, instance: of(one)?.id ?? '', ...event });
const calls = (wanted: string): number => fixture.fake.calls.filter(({ method }) => method === wanted).length;

test('an instance that gets no requests, or does not run, is a condition with the reason of the cluster', async () => {
  const one = await deployed();
  for (const [now, cause, message] of [
    [{ state: 'RUNNING', unready: true }, 'PROBE_FAILED', 'The readiness probe fails. statuscode: 503'],
    [{ state: 'CREATED' }, 'IMAGE_NOT_FOUND', 'The nodes cannot pull shop:1: not found'],
  ] as const) {
    state = now;
    fault = new DriverError({ cause, message, evidence: { original: message } });
    changed(one);
    const view = await reaches(one, ({ conditions, runningStatus }) => conditions.length > 0 && runningStatus === 'ERROR');
    expect(view.conditions).toMatchObject([
      { kind: 'READINESS', severity: 'ERROR', failure: { code: cause, message, hint: expect.stringMatching(/\w/) } },
    ]);
    expect((await fixture.database.database.many(ownLines, [one.serviceId])).at(-1)?.message).toContain(
      `Davit: ERROR ${cause}: ${of(one)?.name}: ${message}`,
    );
    state = null;
    fault = null;
    changed(one);
    await reaches(one, isWell);
  }
  // An instance that is just starting has no reason yet.
  state = { state: 'RUNNING', unready: true };
  changed(one);
  const { conditions } = await reaches(one, ({ runningStatus }) => runningStatus === 'ERROR');
  expect(conditions).toEqual([]);
});

test('its liveness probe is told by the cluster, and so is the end; Davit restarts nothing and probes nothing', async () => {
  const check = { type: 'http', port: 3000, path: '/health', scheme: 'HTTP' } as const;
  const probe = { initialDelaySeconds: 0, periodSeconds: 0.02, timeoutSeconds: 1, successThreshold: 1, failureThreshold: 1 };
  const one = await deployed({ liveness: { ...probe, check }, readiness: { ...probe, check } });
  const attempts = ['Liveness probe failed: HTTP probe failed with statuscode: 404'];
  changed(one, { type: 'NOT_LIVE', attempts });
  const { conditions } = await reaches(one, ({ conditions: all }) => all.some(({ kind }) => kind === 'LIVENESS'));
  expect(conditions[0]?.failure).toMatchObject({ code: 'PROBE_FAILED', evidence: { probe: attempts } });
  fixture.fake.kill(of(one)?.id ?? '', 137);
  const ends = async () => (await fixture.engine.port.metricTotals(fixture.database.database))[0]?.ends ?? {};
  await eventually(async () => Object.keys(await ends()).length > 0 || undefined, 'the end to be counted');
  expect(await ends()).toEqual({ PROBE_FAILED: 1 });
  expect([calls('revive'), calls('probe')]).toEqual([0, 0]);
});
