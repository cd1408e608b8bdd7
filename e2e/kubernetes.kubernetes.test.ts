import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CallInput } from '../packages/client/src/index.ts';
import { testCluster } from '../packages/drivers/src/kubernetes/testing/cluster.ts';
import { eventually } from './support/eventually.ts';
import { KubernetesSetup, madeKinds } from './support/kubernetes-setup.ts';

/* A server with only a Kubernetes cluster, tested through the API. Each test builds on the one before. */

const cluster = testCluster();

const canary = 'canary-of-kubernetes';
const serving = (text: string): string =>
  `mkdir -p /www; echo "${text}" >/www/index.html; trap 'exit 0' TERM; httpd -f -p 8080 -h /www & wait`;
const shell = (script: string) => ({ entrypoint: '/bin/sh', arguments: ['-c', script] });

describe.skipIf(cluster.missing !== null)(
  `services on Kubernetes${cluster.missing === null ? '' : ` (${cluster.missing})`}`,
  () => {
    let setup: KubernetesSetup;
    let web: { containerId: string };
    let store: { containerId: string };
    beforeAll(async () => {
      setup = await KubernetesSetup.open(cluster);
    });
    afterAll(() => setup?.close());

    const clusterStatus = async (): Promise<string | undefined> => {
      await setup.davit.client.call('deployCluster', { params: setup.ids });
      return (await setup.davit.client.call('getClusterStatus', { params: setup.ids })).status;
    };
    const edit = (script: string) =>
      setup.davit.client.call('editContainer', {
        params: web,
        body: {
          name: 'web',
          registry_id: setup.registryId,
          image_name: setup.image.name,
          tag: setup.image.tag,
          healthchecks: {},
          entrypoint: '/bin/sh',
          arguments: ['-c', script],
        },
      });

    test('a kubeconfig that cannot be used, or that the cluster refuses, is told; a good one works at once', async () => {
      const { client } = setup.davit;
      const put = (body: string) => client.call('editClusterKubeconfig', { params: setup.ids, body });
      await put('apiVersion: v1\nkind: Config\nclusters: []\ncontexts: []\nusers: []\n');
      expect(await clusterStatus()).toBe('INVALID_CREDENTIALS');
      await put(setup.kubeconfigWith('nobody'));
      expect(await clusterStatus()).toBe('INVALID_CREDENTIALS');
      await put(setup.kubeconfig);
      expect(await clusterStatus()).toBe('DEPLOYED');
    });

    test('a container is deployed, gets its secrets and files, and its link is what the cluster leads in', async () => {
      const { client } = setup.davit;
      const ports = [{ internal_port: 8080, publicly_accessible: true, protocol: 'HTTP' as const }];
      const inOrganization = { params: { organizationId: setup.organizationId } };
      const labels = [{ key: 'team', value: 'shop', propagate_to_cloud_provider: false }];
      const labelsGroup = await client.call('createOrganizationLabelsGroup', { ...inOrganization, body: { name: 'l', labels } });
      const annotations = [{ key: 'example.org/timeout', value: '60' }];
      const body = { name: 'a', annotations, scopes: ['INGRESS' as const] };
      const annotationsGroup = await client.call('createOrganizationAnnotationsGroup', { ...inOrganization, body });
      web = await setup.container('web', serving('first $PASSWORD $(cat /etc/web/motd)'), {
        ports,
        labels_groups: [{ id: labelsGroup.id }],
        annotations_groups: [{ id: annotationsGroup.id }],
      });
      await client.call('createContainerSecret', { params: web, body: { key: 'PASSWORD', value: canary } });
      const file = { key: 'MOTD', value: 'of the day', mount_path: '/etc/web/motd' };
      await client.call('createContainerEnvironmentVariable', { params: web, body: file });
      expect(await setup.deploy(web)).toMatchObject({
        state: 'DEPLOYED',
        service_deployment_status: 'UP_TO_DATE',
        failure: null,
      });
      await setup.serves(web, `first ${canary} of the day`);
      const { results } = await client.call('listContainerLinks', { params: web });
      expect(results.map(({ url }) => url)).toEqual([
        expect.stringMatching(/^http:\/\/web-live-[0-9a-f]{8}\.apps\.example\.org:8080$/),
      ]);
      const ingress = await setup.ingress(web.containerId);
      expect(ingress?.spec?.rules).toMatchObject([
        {
          host: new URL(results[0]?.url ?? '').hostname,
          http: { paths: [{ backend: { service: { name: setup.objectName(web.containerId), port: { number: 8080 } } } }] },
        },
      ]);
      expect(ingress?.metadata).toMatchObject({ labels: { team: 'shop' }, annotations: { 'example.org/timeout': '60' } });
      const log = await setup.log();
      expect(log).toMatch(/ is .*@sha256:[0-9a-f]{64}\./);
      expect(log).not.toContain(canary);
      expect(setup.davit.output).not.toContain(canary);
    });

    test('another deployment replaces it while somebody is always served', async () => {
      await edit(serving('second'));
      const answers = new Set<string>();
      const done = new AbortController();
      const asking = (async () => {
        while (!done.signal.aborted) answers.add(await setup.served(web));
      })();
      expect((await setup.deploy(web)).state).toBe('DEPLOYED');
      done.abort();
      await asking;
      await setup.serves(web, 'second');
      answers.add('second');
      expect([...answers].toSorted()).toEqual([`first ${canary} of the day`, 'second']);
      // The former pod drains and ends beside later deployments.
      await expect.poll(() => setup.names('Pod', web.containerId), { timeout: 60_000 }).toHaveLength(1);
    });

    test('what fails says why, and the former release serves on', async () => {
      const missing = await setup.deploy(web, { image_tag: 'nope' });
      expect(missing).toMatchObject({ state: 'DEPLOYMENT_ERROR', failure: { code: 'IMAGE_NOT_FOUND' } });
      await edit('echo no such table; exit 3');
      const crashed = await setup.deploy(web);
      expect(crashed).toMatchObject({ state: 'DEPLOYMENT_ERROR', failure: { code: 'PROCESS_EXITED' } });
      expect(JSON.stringify(crashed.failure)).toContain('no such table');
      expect(await setup.served(web)).toBe('second');
      expect(await setup.names('Deployment', web.containerId)).toHaveLength(1);
    });

    test('a rollback runs the first release again', async () => {
      const { results } = await setup.davit.client.call('listContainerDeploymentHistoryV2', { params: web });
      const first = results.at(-1);
      const { release_id } = await setup.deploy(web, { release_id: releaseOf(first) });
      expect(release_id).toBe(releaseOf(first));
      await setup.serves(web, `first ${canary} of the day`);
    });

    test('a service that is stopped has neither pods nor routes, and is there again after the next deployment', async () => {
      const { client } = setup.davit;
      const stopped = await setup.ended(web, () => client.call('stopContainer', { params: web }));
      expect(stopped.state).toBe('STOPPED');
      for (const kind of ['Pod', 'Deployment', 'Ingress'] as const) expect(await setup.names(kind, web.containerId)).toEqual([]);
      await edit(serving('third'));
      expect((await setup.deploy(web)).state).toBe('DEPLOYED');
      await setup.serves(web, 'third');
      expect(await setup.names('Ingress', web.containerId)).toHaveLength(1);
    });

    test('what is stored is kept by the next release, a restart and a stop', async () => {
      const { client } = setup.davit;
      const script = 'echo x >>/data/starts; mkdir -p /www; wc -l </data/starts >/www/index.html';
      store = await setup.container('store', `${script}; trap 'exit 0' TERM; httpd -f -p 8080 -h /www & wait`, {
        storage: [{ type: 'FAST_SSD', size: 1, mount_point: '/data' }],
        ports: [{ internal_port: 8080, publicly_accessible: false, protocol: 'HTTP' }],
      });
      expect(await setup.deploy(store)).toMatchObject({ state: 'DEPLOYED', failure: null });
      await setup.serves(store, '1');
      await setup.ended(store, () => client.call('rebootContainer', { params: store }));
      await setup.serves(store, '2');
      await setup.ended(store, () => client.call('stopContainer', { params: store }));
      expect(await setup.names('PersistentVolumeClaim', store.containerId)).toHaveLength(1);
      await setup.deploy(store);
      await setup.serves(store, '3');
    });

    test('an instance or a route that somebody else takes away is there again', async () => {
      const [pod = ''] = await setup.names('Pod', web.containerId);
      await setup.takeAway('Pod', pod);
      await eventually(async () => ((await setup.names('Pod', web.containerId)).includes(pod) ? undefined : true), 'another pod');
      await setup.serves(web, 'third');
      await setup.takeAway('Ingress', setup.objectName(web.containerId));
      // Davit restores the Ingress after a restart at the latest.
      await setup.davit.kill('SIGKILL');
      await setup.davit.serve();
      const isThere = async () => ((await setup.names('Ingress', web.containerId)).length === 1 ? true : undefined);
      expect(await eventually(isThere, 'the Ingress')).toBe(true);
      const { client } = setup.davit;
      await eventually(async () => {
        const { running_status } = await client.call('getContainerStatus', { params: web });
        return running_status === 'RUNNING' ? true : undefined;
      }, 'the running status');
    });

    // The server is killed after the new rollout was made, after requests were routed to it, or after the former
    // rollout was removed.
    test.each(['start:after', 'route:after', 'retire:after'] as const)(
      'a deployment goes on where it was when the server is killed at %s',
      async (point) => {
        await edit(serving(point));
        setup.davit.order(point, 'kill');
        const status = await setup.ended(web, async () => {
          await setup.davit.client.call('deployContainer', { params: web });
          await setup.davit.exited();
          await setup.davit.serve();
        });
        expect(status).toMatchObject({ state: 'DEPLOYED', failure: null });
        await setup.serves(web, point);
        const isAlone = async () => ((await setup.names('Deployment', web.containerId)).length === 1 ? true : undefined);
        expect(await eventually(isAlone, 'the end of the former rollout')).toBe(true);
      },
    );

    describe('each line that is printed is stored once', () => {
      const output = async (params: { containerId: string }): Promise<string[]> =>
        (await setup.davit.client.call('listContainerLog', { params })).results.map(({ message }) => message);
      const printed = (params: { containerId: string }, line: string) =>
        eventually(async () => ((await output(params)).includes(line) ? true : undefined), `"${line}"`);

      test('to the end of a pod that is taken away, and from the start of the one in its place', async () => {
        // The pod exits only after the log reader has switched to the new pod.
        const stop = "trap 'echo stopping $(hostname); sleep 15; echo stop $(hostname); exit 0' TERM";
        const params = await setup.container('told', `${stop}; echo start $(hostname); httpd -f -p 8080 -h / & wait`, {
          ports: [{ internal_port: 8080, publicly_accessible: false, protocol: 'HTTP' }],
        });
        const body = { 'deployment.termination_grace_period_seconds': 60 };
        await setup.davit.client.call('editContainerAdvancedSettings', { params, body });
        expect((await setup.deploy(params)).state).toBe('DEPLOYED');
        const [before = ''] = await setup.names('Pod', params.containerId);
        await printed(params, `start ${before}`);
        await setup.takeAway('Pod', before);
        await printed(params, `stop ${before}`);
        const others = async () => (await setup.names('Pod', params.containerId)).filter((name) => name !== before);
        const after = await eventually(async () => (await others())[0], 'another pod');
        await printed(params, `start ${after}`);
        await setup.davit.kill('SIGKILL');
        await setup.davit.serve();
        await setup.takeAway('Pod', after);
        await printed(params, `stop ${after}`);
        const lines = await output(params);
        const of = (pod: string): string[] => lines.filter((line) => line.endsWith(` ${pod}`));
        expect(of(before)).toEqual([`start ${before}`, `stopping ${before}`, `stop ${before}`]);
        expect(of(after)).toEqual([`start ${after}`, `stopping ${after}`, `stop ${after}`]);
        await setup.ended(params, () => setup.davit.client.call('stopContainer', { params }));
      });

      test('also of a process that crashes again and again', async () => {
        // The process must not crash before it was deployed.
        const at = Math.floor(Date.now() / 1_000) + 30;
        const wait = `now=$(date +%s); [ $now -ge ${at} ] || sleep $((${at} - now))`;
        const life = 'life=$(cat /proc/sys/kernel/random/uuid); echo start $life; echo crash $life; exit 1';
        const params = await setup.container('crasher', `${wait}; ${life}`);
        expect((await setup.deploy(params)).state).toBe('DEPLOYED');
        const lives = async () => new Set((await output(params)).filter((line) => line.startsWith('crash ')));
        await eventually(async () => ((await lives()).size >= 3 ? true : undefined), 'three lives', 150_000);
        await setup.ended(params, () => setup.davit.client.call('stopContainer', { params }));
        const lines = await output(params);
        expect(lines).toEqual([...new Set(lines)]);
      });
    });

    describe('a job', () => {
      const create = async (name: string, schedule: CallInput<'createJob'>['body']['schedule']): Promise<{ jobId: string }> => {
        const { environmentId, registryId, image } = setup;
        const source = { image: { image_name: image.name, tag: image.tag, registry_id: registryId } };
        const body = { name, source, healthchecks: {}, cpu: 50, memory: 64, schedule };
        return { jobId: (await setup.davit.client.call('createJob', { params: { environmentId }, body })).id };
      };
      const deploy = async (params: { jobId: string }) => {
        const { client } = setup.davit;
        await client.call('deployJob', { params });
        await setup.idleAfter(async () => (await client.call('listJobDeploymentHistoryV2', { params })).results.length > 0);
        return client.call('getJobStatus', { params });
      };
      const output = async (params: { jobId: string }): Promise<string[]> =>
        (await setup.davit.client.call('listJobLog', { params, query: {} })).results.map(({ message }) => message);

      test('of the life cycle runs once to its end, and what it tells becomes a variable', async () => {
        const reported = '{"DB_HOST": {"value": "db.internal"}}';
        const params = await create('infra', {
          on_start: shell(`echo made; echo '${reported}' >/davit-output/davit-output.json`),
        });
        expect(await deploy(params)).toMatchObject({ state: 'DEPLOYED', running_status: 'COMPLETED', failure: null });
        expect(await output(params)).toEqual(['made']);
        const { environmentId } = setup;
        const { results } = await setup.davit.client.call('listEnvironmentEnvironmentVariable', { params: { environmentId } });
        expect(results.find((one) => one.key === 'DB_HOST')).toMatchObject({ scope: 'ENVIRONMENT' });
        expect(await setup.names('Pod', params.jobId)).toEqual([]);
      });

      test('that fails says so with its output', async () => {
        const params = await create('broken', { on_start: shell('echo no table; exit 7') });
        expect(await deploy(params)).toMatchObject({ state: 'DEPLOYMENT_ERROR', failure: { code: 'JOB_FAILED' } });
        expect(await output(params)).toEqual(['no table']);
        expect(await setup.names('Job', params.jobId)).toEqual([]);
      });

      // More tests of cron jobs are in cron.kubernetes.test.ts.
      test('with a schedule is run by the cluster when it is due', async () => {
        const params = await create('often', {
          cronjob: { ...shell('echo cleaned'), scheduled_at: '* * * * *', timezone: 'Etc/UTC' },
        });
        expect((await deploy(params)).state).toBe('DEPLOYED');
        expect(await output(params)).toEqual([]);
        await eventually(async () => ((await output(params)).includes('cleaned') ? true : undefined), 'the run', 120_000);
        await eventually(async () => ((await setup.names('Pod', params.jobId)).length === 0 ? true : undefined), 'its end');
      });
    });

    test('nothing of the environment is left on the cluster after it was deleted', async () => {
      const { client } = setup.davit;
      const params = { environmentId: setup.environmentId };
      expect(await setup.hasNamespace()).toBe(true);
      await client.call('deleteEnvironment', { params });
      await eventually(
        async () =>
          client.call('getEnvironment', { params }).then(
            () => undefined,
            () => true,
          ),
        'the end of the environment',
        120_000,
      );
      expect(await setup.hasNamespace()).toBe(false);
      for (const kind of madeKinds) expect(await setup.names(kind)).toEqual([]);
    });
  },
);

function releaseOf(entry: { readonly release_id?: string | null } | undefined): string {
  if (typeof entry?.release_id !== 'string') throw new Error('the deployment has no release');
  return entry.release_id;
}
