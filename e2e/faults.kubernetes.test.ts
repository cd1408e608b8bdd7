import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, closeApi, find, openApi, type Api } from '../packages/drivers/src/kubernetes/client/api.ts';
import { runInside } from '../packages/drivers/src/kubernetes/client/exec.ts';
import { list } from '../packages/drivers/src/kubernetes/client/follow.ts';
import { readKubeconfig } from '../packages/drivers/src/kubernetes/client/kubeconfig.ts';
import { pathOf } from '../packages/drivers/src/kubernetes/client/objects.ts';
import { testCluster } from '../packages/drivers/src/kubernetes/testing/cluster.ts';
import { TestSubscriber } from '../packages/server/src/resources/stream/testing.ts';
import { eventually } from './support/eventually.ts';
import { KubernetesSetup } from './support/kubernetes-setup.ts';

/*
 * On Kubernetes, a fault after DEPLOYED appears within seconds in the status, the log, the stream and the metrics, and
 * disappears once it is over. The time of each fault is that of the cluster, whose clock must agree with that of this
 * machine. It states whole seconds, so a delay that is measured may be up to a second too long.
 */

const cluster = testCluster();
const steadySeconds = 15;
/** A fault must be reported within five seconds. The sixth is the one that the cluster's times leave out. */
const withinMilliseconds = 6_000;

/** Process id of the kubelet of the only node, on this machine. */
const { DAVIT_TEST_KUBERNETES_KUBELET: kubelet = null } = process.env;

const script = `
mkdir -p /tmp/www
touch /tmp/www/live /tmp/www/ready
httpd -p 3000 -h /tmp/www
echo up
trap 'exit 143' TERM
while :; do
  if [ -e /tmp/end ]; then echo the last words; exit $(cat /tmp/end); fi
  if [ -e /tmp/eat ]; then rm /tmp/eat; exec tail /dev/zero; fi
  sleep 0.1
done
`;
const httpProbe = (path: string) => ({
  type: { http: { path, port: 3000 } },
  initial_delay_seconds: 1,
  // A busy machine may take seconds to answer.
  timeout_seconds: 5,
  period_seconds: 1,
  failure_threshold: 2,
});

interface Metadata {
  readonly name?: string;
  readonly uid?: string;
  readonly deletionTimestamp?: string;
  readonly creationTimestamp?: string;
}

interface ProcessState {
  readonly terminated?: { readonly finishedAt?: string };
}

interface Pod {
  readonly metadata?: Metadata;
  readonly status?: {
    readonly reason?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly lastTransitionTime?: string }[];
    readonly containerStatuses?: readonly {
      readonly restartCount: number;
      readonly state?: ProcessState;
      readonly lastState?: ProcessState;
    }[];
  };
}

interface Event {
  readonly metadata: Metadata;
  readonly involvedObject: { readonly uid?: string };
  readonly reason?: string;
  readonly message?: string;
  readonly firstTimestamp?: string;
  readonly lastTimestamp?: string;
}

interface Deployment {
  readonly spec?: { readonly template: { readonly spec?: { readonly containers: readonly object[] } } };
}

interface Place {
  readonly kind: string;
  readonly code: string;
}

describe.skipIf(cluster.missing !== null)(
  `faults of services on Kubernetes${cluster.missing === null ? '' : ` (${cluster.missing})`}`,
  () => {
    let setup: KubernetesSetup;
    let api: Api;
    let ear: TestSubscriber;
    const { signal } = new AbortController();
    const delays: string[] = [];

    beforeAll(async () => {
      api = openApi(readKubeconfig(cluster.kubeconfig));
      const environment = { DAVIT_STEADY_SECONDS: String(steadySeconds), DAVIT_TERMINATION_GRACE_SECONDS: '1' };
      setup = await KubernetesSetup.open(cluster, { environment });
      const { organizationId, ids, kubeconfig } = setup;
      await setup.davit.client.call('editClusterKubeconfig', { params: ids, body: kubeconfig });
      await setup.davit.client.call('deployCluster', { params: ids });
      ear = new TestSubscriber((until) =>
        setup.davit.client.stream('streamOrganization', {
          params: { organizationId },
          query: { kinds: 'CONDITION' },
          signal: until,
        }),
      );
    });
    afterAll(async () => {
      console.info(delays.join('\n'));
      await ear?.close();
      await setup?.close();
      if (api !== undefined) closeApi(api);
    });

    type Fields = Parameters<KubernetesSetup['container']>[2];
    const deployed = async (name: string, fields: Fields = {}, program = script): Promise<{ containerId: string }> => {
      const params = await setup.container(name, program, { memory: 32, ...fields });
      expect(await setup.deploy(params)).toMatchObject({ state: 'DEPLOYED', failure: null });
      await reaches(params, isWell);
      return params;
    };
    const stop = (params: { containerId: string }) =>
      setup.ended(params, () => setup.davit.client.call('stopContainer', { params }));

    const statusOf = (params: { containerId: string }) => setup.davit.client.call('getContainerStatus', { params });
    type Status = Awaited<ReturnType<typeof statusOf>>;
    const isWell = ({ conditions, running_status: word }: Status): boolean => conditions?.length === 0 && word === 'RUNNING';
    const reaches = (params: { containerId: string }, is: (status: Status) => boolean): Promise<Status> =>
      eventually(
        async () => {
          const status = await statusOf(params);
          return is(status) ? status : undefined;
        },
        'a status of the service',
        90_000,
      );

    const podsOf = async ({ containerId }: { containerId: string }): Promise<readonly Pod[]> => {
      const query = { labelSelector: `davit.service=${containerId}` };
      return (await list<Pod>(api, { path: pathOf('Pod', { namespace: setup.namespace }), query }, signal)).items;
    };
    const podOf = (params: { containerId: string }): Promise<Pod> =>
      eventually(async () => (await podsOf(params)).find(({ metadata }) => !metadata?.deletionTimestamp), 'the pod');
    const eventsOf = async (params: { containerId: string }, reason: string): Promise<readonly Event[]> => {
      const uids = new Set((await podsOf(params)).map(({ metadata }) => metadata?.uid));
      const { items } = await list<Event>(api, { path: pathOf('Event', { namespace: setup.namespace }), query: {} }, signal);
      return items.filter((one) => one.reason === reason && uids.has(one.involvedObject.uid));
    };
    const inside = async (params: { containerId: string }, command: string): Promise<void> => {
      const pod = (await podOf(params)).metadata?.name ?? '';
      const where = { namespace: setup.namespace, pod, container: 'main' };
      expect((await runInside(api, where, ['sh', '-c', command], signal)).code).toBe(0);
    };
    /** Waits until the kubelet reports the latest exit of the process. Returns its time. */
    const endOf = (params: { containerId: string }, ends = 1): Promise<number> =>
      eventually(async () => {
        const status = (await podOf(params)).status?.containerStatuses?.[0];
        const { terminated } = status?.state ?? {};
        const exits = (status?.restartCount ?? 0) + (terminated === undefined ? 0 : 1);
        const at = (terminated ?? status?.lastState?.terminated)?.finishedAt;
        return exits < ends || at === undefined ? undefined : Date.parse(at);
      }, 'the exit of the process');

    /** Waits until a condition is on the status, in the log, on the stream and in the metrics, and notes the delays. */
    const shown = async (what: string, params: { containerId: string }, { kind, code }: Place, fact: number): Promise<Status> => {
      const { davit } = setup;
      const isIt = (one: { kind: string; code: string }): boolean => one.kind === kind && one.code === code;
      const [status, line, metric] = await Promise.all([
        reaches(params, ({ conditions, running_status: word }) => conditions?.some(isIt) === true && word !== 'RUNNING').then(
          (value) => ({ value, at: Date.now() }),
        ),
        eventually(async () => {
          const { results } = await davit.client.call('listContainerLog', { params });
          return results.some(({ message }) => new RegExp(`^Davit: (?:WARNING|ERROR) ${code}: `).test(message)) || undefined;
        }, 'the line').then(() => Date.now()),
        eventually(async () => {
          const text = await (await fetch(`${davit.url}/metrics`)).text();
          const words = [params.containerId, kind.toLowerCase(), code.toLowerCase()];
          const isShown = (one: string) =>
            one.startsWith('davit_service_condition{') && words.every((word) => one.includes(word));
          return text.split('\n').some(isShown) || undefined;
        }, 'the metric').then(() => Date.now()),
      ]);
      const isReported = (one: TestSubscriber['received'][number]): boolean =>
        one.event === 'CONDITION' && one.data.service_id === params.containerId && one.data.severity !== null && isIt(one.data);
      await ear.until((received) => received.some(isReported));
      const reported = ear.received.find(isReported);
      const event = reported?.event === 'CONDITION' ? Date.parse(reported.data.at) : Number.NaN;
      const times = { status: status.at - fact, line: line - fact, event: event - fact, metric: metric - fact };
      delays.push(
        `${what}: ${Object.entries(times)
          .map(([name, value]) => `${name} ${value} ms`)
          .join(', ')}`,
      );
      expect(Object.entries(times).filter(([, delay]) => !(delay < withinMilliseconds))).toEqual([]);
      const condition = status.value.conditions?.find(isIt);
      expect(condition?.hint).toMatch(/\w/);
      return status.value;
    };
    const messageIn = ({ conditions }: Status, wanted: string): string =>
      conditions?.find(({ kind }) => kind === wanted)?.message ?? '';

    test.each([0, 3])('a process that exits with code %i runs again in the same pod', async (code) => {
      const params = await deployed(`exits-${code}`);
      const { uid } = (await podOf(params)).metadata ?? {};
      await inside(params, `echo ${code} >/tmp/end.new; mv /tmp/end.new /tmp/end`);
      const fact = await endOf(params);
      const status = await shown(`exit ${code}`, params, { kind: 'INSTANCE_END', code: 'PROCESS_EXITED' }, fact);
      expect(messageIn(status, 'INSTANCE_END')).toContain(`exited with code ${code}`);
      expect(JSON.stringify(status.conditions)).toContain('the last words');
      // The kubelet removes the files of the exited container, so the new one stays up.
      await reaches(params, isWell);
      expect((await podOf(params)).metadata?.uid).toBe(uid);
      await stop(params);
    });

    test('a process that is killed for its memory', async () => {
      const params = await deployed('hungry');
      await inside(params, 'touch /tmp/eat');
      const fact = await endOf(params);
      const status = await shown('kill for memory', params, { kind: 'INSTANCE_END', code: 'OUT_OF_MEMORY' }, fact);
      expect(messageIn(status, 'INSTANCE_END')).toContain('more than its 32 MiB of memory');
      await reaches(params, isWell);
      await stop(params);
    });

    test('a crash loop, and what ends it', async () => {
      const at = Math.floor(Date.now() / 1_000) + 30;
      const params = await deployed('looping', {}, `while [ $(date +%s) -lt ${at} ]; do sleep 0.2; done; echo no table; exit 1`);
      const fact = await endOf(params);
      await shown('first exit of a crash loop', params, { kind: 'INSTANCE_END', code: 'PROCESS_EXITED' }, fact);
      const third = await endOf(params, 3);
      const status = await reaches(params, ({ conditions }) => conditions?.[0]?.severity === 'ERROR');
      delays.push(`third exit of a crash loop: status ${Date.now() - third} ms`);
      expect(Date.now() - third).toBeLessThan(withinMilliseconds);
      expect(messageIn(status, 'INSTANCE_END')).toMatch(/ended 3 times within 10 minutes\. It is restarted after \d+ s/);
      await stop(params);
    });

    test('a liveness probe that fails', async () => {
      const params = await deployed('stuck', { healthchecks: { liveness_probe: httpProbe('/live') } });
      await inside(params, 'rm /tmp/www/live');
      const fact = await eventually(async () => (await eventsOf(params, 'Killing'))[0]?.lastTimestamp, 'the kill');
      const status = await shown('failing liveness probe', params, { kind: 'LIVENESS', code: 'PROBE_FAILED' }, Date.parse(fact));
      expect(messageIn(status, 'LIVENESS')).toContain('404');
      await reaches(params, isWell);
      const ends = await (await fetch(`${setup.davit.url}/metrics`)).text();
      expect(ends).toMatch(
        new RegExp(`davit_service_instance_ends_total\\{[^}]*${params.containerId}[^}]*probe_failed[^}]*\\} 1`),
      );
      await stop(params);
    });

    test('a readiness probe that fails, until it succeeds', async () => {
      const params = await deployed('busy', { healthchecks: { readiness_probe: httpProbe('/ready') } });
      await inside(params, 'rm /tmp/www/ready');
      const fact = await eventually(async () => {
        const ready = (await podOf(params)).status?.conditions?.find(({ type }) => type === 'Ready');
        return ready?.status === 'False' ? Date.parse(ready.lastTransitionTime ?? '') : undefined;
      }, 'the pod not to be ready');
      const status = await shown('failing readiness probe', params, { kind: 'READINESS', code: 'PROBE_FAILED' }, fact);
      expect(messageIn(status, 'READINESS')).toContain('404');
      await inside(params, 'touch /tmp/www/ready');
      await reaches(params, isWell);
      await stop(params);
    });

    test('an image that cannot be pulled when an instance is created again', async () => {
      const params = await deployed('moved');
      const [name = ''] = await setup.names('Deployment', params.containerId);
      const path = pathOf('Deployment', { namespace: setup.namespace, name });
      const image = cluster.image.replace(/[:@][^/]*$/, ':davit-absent');
      const deployment = await find<Deployment>(api, path, signal);
      const containers = deployment?.spec?.template.spec?.containers.map((one) => ({ ...one, image })) ?? [];
      const strategy = { type: 'Recreate', rollingUpdate: null };
      const body = { spec: { template: { spec: { containers } }, strategy } };
      await call(api, { method: 'PATCH', path, body, signal, contentType: 'application/merge-patch+json' });
      const fact = await eventually(async () => {
        const isTried = ({ message }: Event): boolean => /pull/i.test(message ?? '');
        const failed = (await eventsOf(params, 'Failed')).filter(isTried);
        return failed.map(({ firstTimestamp, metadata }) => Date.parse(firstTimestamp ?? metadata.creationTimestamp ?? '')).at(0);
      }, 'a failed pull');
      const status = await shown('image that cannot be pulled', params, { kind: 'READINESS', code: 'IMAGE_NOT_FOUND' }, fact);
      expect(status.running_status).toBe('ERROR');
      await stop(params);
    });

    test.skipIf(kubelet === null)('a node that does not answer, until it does', async () => {
      const params = await deployed('stranded');
      process.kill(Number(kubelet), 'SIGSTOP');
      try {
        const fact = await eventually(
          async () => {
            const ready = (await podOf(params)).status?.conditions?.find(({ type }) => type === 'Ready');
            return ready?.status === 'True' ? undefined : Date.parse(ready?.lastTransitionTime ?? '');
          },
          'the pod of a lost node',
          120_000,
        );
        const status = await shown('lost node', params, { kind: 'READINESS', code: 'ENGINE_UNREACHABLE' }, fact);
        expect(status.running_status).toBe('ERROR');
      } finally {
        process.kill(Number(kubelet), 'SIGCONT');
      }
      await reaches(params, isWell);
      await stop(params);
    });

    test('an instance that writes more than the node allows is evicted, and another one takes its place', async () => {
      const limits = [
        { type: 'Container', default: { 'ephemeral-storage': '16Mi' }, defaultRequest: { 'ephemeral-storage': '1Mi' } },
      ];
      const range = { apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'disk' }, spec: { limits } };
      const path = `/api/v1/namespaces/${setup.namespace}/limitranges`;
      await call(api, { method: 'POST', path, body: range, signal });
      const params = await deployed('writer');
      await call(api, { method: 'DELETE', path: `${path}/disk`, signal });
      await inside(params, 'dd if=/dev/zero of=/tmp/large bs=1M count=64 2>/dev/null');
      const fact = await eventually(
        async () => {
          const evicted = (await podsOf(params)).find(({ status }) => status?.reason === 'Evicted');
          const ready = evicted?.status?.conditions?.find(({ type }) => type === 'Ready');
          return ready?.lastTransitionTime === undefined ? undefined : Date.parse(ready.lastTransitionTime);
        },
        'the eviction',
        120_000,
      );
      const status = await shown('eviction for a full disk', params, { kind: 'INSTANCE_END', code: 'INSTANCE_EVICTED' }, fact);
      expect(messageIn(status, 'INSTANCE_END')).toMatch(/ephemeral/);
      await reaches(params, isWell);
      await stop(params);
    });
  },
);
