import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { Sensitive } from '@davit/base';
import type { Pod, Service } from 'kubernetes-types/core/v1.js';
import type { Ingress } from 'kubernetes-types/networking/v1.js';
import { pack } from 'tar-stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DriverError } from '../errors.ts';
import type { Workload } from '../workload.ts';
import { call, closeApi, find, openApi, type Api, type KubernetesObject } from './client/api.ts';
import { list } from './client/follow.ts';
import { readKubeconfig } from './client/kubeconfig.ts';
import { pathOf } from './client/objects.ts';
import type { KubernetesDriver } from './index.ts';
import { label } from './names/labels.ts';
import { namespaceName, serviceObjectName } from './names/names.ts';
import { removeEnvironment } from './removal.ts';
import { openTestDriver, ranOnce, shell, testCluster, type Ran } from './testing/cluster.ts';
import { scriptWorkload } from './testing/workloads.ts';

const cluster = testCluster();
const installation = `driver-${randomUUID()}`;
const environment = randomUUID();
const signal = new AbortController().signal;
const context = { signal, log: () => undefined };
const serve = (answer: string): string =>
  `mkdir -p /www; echo ${answer} >/www/index.html; trap 'exit 0' TERM; httpd -f -p 8080 -h /www & wait`;

let driver: KubernetesDriver;
let api: Api;

const workload = (script: string, changes: Partial<Workload> = {}): Workload =>
  scriptWorkload({ installation, environment, image: cluster.image }, script, changes);

const web = (changes: Partial<Workload> = {}): Workload =>
  workload(serve('first'), { ports: [{ id: 'web', internalPort: 8080, protocol: 'HTTP' }], ...changes });

async function hasGatewayApi(): Promise<boolean> {
  return (await call(api, { method: 'GET', path: pathOf('HTTPRoute'), signal, accept: [404] })).status === 200;
}

const once = (script: string, changes: Partial<Workload> = {}): Promise<Ran> =>
  ranOnce(driver, workload(script, { runsOnce: true, ...changes }));

async function failure(work: Promise<unknown>): Promise<DriverError> {
  const error: unknown = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof DriverError) return error;
  throw new Error('there is no such failure', { cause: error });
}

const namespace = namespaceName(installation, environment);
const create = (object: KubernetesObject): Promise<unknown> =>
  call(api, { method: 'POST', path: pathOf(object.kind ?? '', { namespace }), body: object, signal });

describe.skipIf(cluster.missing !== null)(
  `the Kubernetes driver${cluster.missing === null ? '' : ` (${cluster.missing})`}`,
  () => {
    beforeAll(async () => {
      api = openApi(readKubeconfig(cluster.kubeconfig));
      driver = await openTestDriver(cluster, installation);
      // The namespace exists from here on.
      await once('true');
    });
    afterAll(async () => {
      await driver.removeEnvironment(environment, context);
      driver.close();
      closeApi(api);
    });

    test('variables arrive byte for byte, files at their paths, and nothing of the cluster besides', async () => {
      const value = 'a "b" $HOME $(KEY) `c` \\ é €\n second line ';
      const content = new Sensitive('line\u0000 with NUL\n');
      const { output } = await once(
        'printf %s "$KEY" | base64 | tr -d "\\n"; echo; base64 </etc/davit/file; env | grep -c SERVICE_HOST; ls /var/run/secrets 2>&1',
        {
          environment: [{ name: 'KEY', value: new Sensitive(value) }],
          files: [{ path: '/etc/davit/file', content }],
        },
      );
      const [variable, file, hosts, mounted] = output.split('\n');
      expect(Buffer.from(variable ?? '', 'base64').toString()).toBe(value);
      expect(Buffer.from(file ?? '', 'base64').toString()).toBe(content.reveal());
      // The only variables are those of the API server itself, which Kubernetes sets in all pods.
      expect(Number(hosts)).toBeLessThanOrEqual(1);
      expect(mounted).toMatch(/No such file/);
    });

    test('what a run leaves in its folders is read after it has ended', async () => {
      const { instance } = await once('echo "{}" >/davit-output/out.json; chmod 600 /davit-output/out.json', {
        folders: ['/davit-output'],
      });
      expect(instance.exit?.code).toBe(0);
      const read = (path: string) => driver.readFile(instance.id, { path, maxBytes: 100 }, signal);
      expect(await read('/davit-output/out.json')).toBe('{}\n');
      expect(await read('/davit-output/missing')).toBeNull();
      expect(await read('/etc/passwd')).toBeNull();
    });

    test('files go into a running instance and come out as they were, megabytes of them', async () => {
      const running = web();
      await driver.start(running, context);
      const [instance] = await driver.awaitReady(running, context);
      const id = instance?.id ?? '';
      const content = Buffer.alloc(3 * 1024 * 1024, 'davit');
      const archive = pack();
      archive.entry({ name: 'large' }, content);
      archive.finalize();
      await driver.upload(id, { folder: '/tmp', archive: Readable.from(archive) }, signal);
      const taken = await buffer(await driver.download(id, '/tmp/large', signal));
      expect(taken.subarray(512, 512 + content.length).equals(content)).toBe(true);
      expect(await failure(driver.download(id, '/tmp/missing', signal))).toMatchObject({ code: 'ENGINE_FAILED' });
      const nowhere = pack();
      nowhere.finalize();
      expect(await failure(driver.upload(id, { folder: '/missing', archive: Readable.from(nowhere) }, signal))).toMatchObject({
        code: 'ENGINE_FAILED',
      });
      await driver.retire({ service: running.owner.service }, 0, context);
    });

    test('other services reach it by its names, and a new rollout only once it is switched to, without a request lost', async () => {
      const first = web({ hostnames: ['shop', 'app-zshop'], instances: 2 });
      await driver.start(first, context);
      await driver.awaitReady(first, context);
      const service = await find<{ spec: { clusterIP: string } }>(api, pathOf('Service', { namespace, name: 'shop' }), signal);
      const { output } = await once('wget -q -O - http://shop:8080/; wget -q -O - http://app-zshop:8080/');
      expect(output).toBe('first\nfirst');

      const url = `http://${service?.spec.clusterIP}:8080/`;
      const answers: string[] = [];
      const stop = new AbortController();
      const asking = (async () => {
        while (!stop.signal.aborted) {
          const response = await fetch(url, { headers: { connection: 'close' }, signal: AbortSignal.timeout(10_000) });
          answers.push(`${response.status} ${(await response.text()).trim()}`);
        }
      })();
      const second = { ...first, ...shell(serve('second')), release: randomUUID(), rollout: randomUUID() };
      await driver.start(second, context);
      await driver.awaitReady(second, context);
      // Both rollouts run, and all requests go to the first.
      expect(new Set(answers.slice(-20))).toEqual(new Set(['200 first']));
      await driver.retire({ service: first.owner.service, exceptRollout: second.rollout }, 5, context);
      const before = answers.length;
      while (answers.length < before + 20) await new Promise((resolve) => setTimeout(resolve, 10));
      stop.abort();
      await asking;
      expect(new Set(answers.slice(-20))).toEqual(new Set(['200 second']));
      expect(new Set(answers)).toEqual(new Set(['200 first', '200 second']));
      await driver.retire({ service: first.owner.service }, 0, context);
      expect(await find(api, pathOf('Service', { namespace, name: 'shop' }), signal)).toBeNull();
    });

    test('a service loses its last port, and gets one again, while it serves and after it did', async () => {
      const { owner, ...first } = web({ hostnames: ['portless'] });
      const open = { ...first, owner, ...shell(serve('open')) };
      const addressOf = async (): Promise<{ ip: string | undefined; ports: number[] }> => {
        const { spec } = (await find<Service>(api, pathOf('Service', { namespace, name: 'portless' }), signal)) ?? {};
        return { ip: spec?.clusterIP, ports: (spec?.ports ?? []).map(({ port }) => port) };
      };
      const rolledOut = async (changes: Partial<Workload>): Promise<void> => {
        const next = { ...open, ...changes, rollout: randomUUID() };
        await driver.start(next, context);
        await driver.awaitReady(next, context);
        await driver.retire({ service: owner.service, exceptRollout: next.rollout }, 0, context);
        // This is what happens when the number of instances is raised.
        await driver.start({ ...next, instances: 2 }, context);
      };
      const answer = async (): Promise<string> => (await once('wget -q -O - http://portless:8080/')).output;
      await rolledOut({});
      const before = await addressOf();
      expect(before).toEqual({ ip: expect.stringMatching(/^[0-9a-f]/), ports: [8080] });
      await rolledOut({ ports: [] });
      expect(await addressOf()).toEqual(before);
      await rolledOut({});
      expect(await addressOf()).toEqual(before);
      expect(await answer()).toBe('open');
      await rolledOut({ ports: [] });
      // Nothing runs any more, but the Services exist, as after a deployment that could not start.
      await driver.retire({ service: owner.service, fromIndex: 0 }, 0, context);
      await rolledOut({ ports: [] });
      expect(await addressOf()).toEqual({ ip: 'None', ports: [] });
      await rolledOut({});
      expect(await addressOf()).toEqual({ ip: 'None', ports: [8080] });
      expect(await answer()).toBe('open');
      await driver.retire({ service: owner.service, fromIndex: 0 }, 0, context);
      await rolledOut({});
      expect((await addressOf()).ip).not.toBe('None');
      expect(await answer()).toBe('open');
      await driver.retire({ service: owner.service }, 0, context);
    });

    test('a name leads to the service that is deployed under it, with an address or without, and stays with it', async () => {
      const first = web({ hostnames: ['former', 'renamed'] });
      await driver.start(first, context);
      await driver.awaitReady(first, context);
      const holder = async (): Promise<unknown[]> => {
        const found = await find<Service>(api, pathOf('Service', { namespace, name: 'renamed' }), signal);
        return [found?.metadata?.labels?.[label.service], found?.spec?.clusterIP === 'None'];
      };
      const portless = workload('exec sleep 1000', { hostnames: ['renamed'], takesNames: true });
      await driver.start(portless, context);
      expect(await holder()).toEqual([portless.owner.service, true]);
      const lines: string[] = [];
      await driver.start({ ...first, firstInstance: 1, instances: 2 }, { ...context, log: (line) => void lines.push(line) });
      expect(await holder()).toEqual([portless.owner.service, true]);
      expect(lines).toEqual([expect.stringContaining('The name renamed now belongs to another service')]);
      expect((await once('wget -q -O - http://former:8080/')).output).toBe('first');
      const second = web({ ...shell(serve('second')), hostnames: ['renamed'], takesNames: true });
      await driver.start(second, context);
      await driver.awaitReady(second, context);
      expect(await holder()).toEqual([second.owner.service, false]);
      expect((await once('wget -q -O - http://renamed:8080/')).output).toBe('second');
      for (const { owner } of [first, portless, second]) await driver.retire({ service: owner.service }, 0, context);
    });

    test('several instances share a volume, on one node', async () => {
      const volumes = [{ id: randomUUID(), mountPath: '/data', sizeGiB: 1 }];
      const sharing = workload('touch /data/$(hostname); exec sleep 1000', { volumes, instances: 3 });
      await driver.start(sharing, context);
      expect(await driver.awaitReady(sharing, context)).toHaveLength(3);
      const query = { labelSelector: `${label.rollout}=${sharing.rollout}` };
      const { items } = await list<Pod>(api, { path: pathOf('Pod', { namespace }), query }, signal);
      expect(new Set(items.map(({ spec }) => spec?.nodeName)).size).toBe(1);
      await driver.removeService(environment, sharing.owner.service, context);
    });

    test('a rollout that fails leaves the names with the one that serves', async () => {
      const first = web({ hostnames: ['kept'] });
      await driver.start(first, context);
      await driver.awaitReady(first, context);
      const second = { ...first, ...shell('exit 1'), rollout: randomUUID(), readyTimeoutSeconds: 3 };
      await driver.start(second, context);
      expect(await failure(driver.awaitReady(second, context))).toMatchObject({ code: 'PROCESS_EXITED' });
      await driver.retire({ service: first.owner.service, rollout: second.rollout }, 1, context);
      expect((await once('wget -q -O - http://kept:8080/')).output).toBe('first');
      const query = { labelSelector: `${label.rollout}=${second.rollout}` };
      for (const kind of ['Deployment', 'Pod', 'Secret'])
        expect((await list(api, { path: pathOf(kind, { namespace }), query }, signal)).items).toEqual([]);
      await driver.retire({ service: first.owner.service }, 0, context);
    });

    test('a volume keeps its data from one rollout to the next, and goes with its service', async () => {
      const volumes = [{ id: randomUUID(), mountPath: '/data', sizeGiB: 1 }];
      const first = workload('echo kept >/data/file; exec sleep 1000', { volumes });
      await driver.start(first, context);
      await driver.awaitReady(first, context);
      const { service } = first.owner;
      const second = { ...first, ...shell('cat /data/file; exec sleep 1000'), rollout: randomUUID() };
      await driver.retire({ service, exceptRollout: second.rollout }, 0, context);
      await driver.start(second, context);
      const [instance] = await driver.awaitReady(second, context);
      const seen = Promise.withResolvers<string>();
      const stop = new AbortController();
      await driver.followLogs(instance?.id ?? '', null, ({ text }) => (seen.resolve(text), stop.abort()), stop.signal);
      expect(await seen.promise).toBe('kept');
      await driver.removeService(environment, service, context);
      const query = { labelSelector: `${label.service}=${service}` };
      const claims = await list<KubernetesObject>(api, { path: pathOf('PersistentVolumeClaim', { namespace }), query }, signal);
      for (const { metadata } of claims.items) expect(metadata?.deletionTimestamp).not.toBeUndefined();
    });

    test('fails with OUT_OF_MEMORY where the process used more than it may', async () => {
      const greedy = workload('x=0; while :; do x="$x$x"; done', {
        memoryMiB: 16,
        ports: [{ id: 'web', internalPort: 8080, protocol: 'HTTP' }],
      });
      await driver.start(greedy, context);
      expect(await failure(driver.awaitReady(greedy, context))).toMatchObject({
        code: 'OUT_OF_MEMORY',
        evidence: { exit: { code: 137, outOfMemory: true } },
      });
      await driver.retire({ service: greedy.owner.service }, 0, context);
    });

    test('fails with UNSCHEDULABLE, in the words of the scheduler, where no node has room', async () => {
      const huge = workload('sleep 1', { memoryMiB: 1024 * 1024 });
      const error = await failure(driver.start(huge, context));
      expect(error).toMatchObject({ code: 'UNSCHEDULABLE', message: expect.stringContaining('Insufficient memory') });
      await driver.retire({ service: huge.owner.service }, 0, context);
    });

    test('a run whose pod its node refuses has failed at once, and begins anew when it is asked for again', async () => {
      const job = workload('echo begun', { runsOnce: true, memoryMiB: 1024 * 1024 });
      const { name: node = '' } =
        (await list<KubernetesObject>(api, { path: pathOf('Node'), query: {} }, signal)).items[0]?.metadata ?? {};
      const query = { labelSelector: `${label.rollout}=${job.rollout}` };
      const pods = async () => (await list<Pod>(api, { path: pathOf('Pod', { namespace }), query }, signal)).items;
      const starting = failure(driver.start(job, context));
      // This replaces a scheduler that saw room which was gone a moment later.
      await expect.poll(async () => (await pods())[0]?.status?.conditions?.[0]?.type).toBe('PodScheduled');
      const [pod] = await pods();
      const target = { apiVersion: 'v1', kind: 'Node', name: node };
      const metadata = { name: pod?.metadata?.name };
      const body = { apiVersion: 'v1', kind: 'Binding', metadata, target };
      const path = `${pathOf('Pod', { namespace, name: metadata.name ?? '' })}/binding`;
      await call(api, { method: 'POST', path, body, signal });
      expect(await starting).toMatchObject({
        code: 'UNSCHEDULABLE',
        retryable: true,
        message: expect.stringContaining('OutOfmemory'),
      });
      const states = async () => (await driver.observe({ rollout: job.rollout }, signal)).map(({ state }) => state);
      await expect.poll(states).toEqual(['EXITED']);
      expect((await ranOnce(driver, { ...job, memoryMiB: 32 })).output).toBe('begun');
      await driver.retire({ service: job.owner.service }, 0, context);
    });

    test('fails with START_FAILED for a program that the image does not have', async () => {
      const wrong = workload('', { entrypoint: ['/no/such/program'], arguments: [] });
      expect(await failure(driver.start(wrong, context))).toMatchObject({
        code: 'START_FAILED',
        message: expect.stringContaining('/no/such/program'),
      });
      await driver.retire({ service: wrong.owner.service }, 0, context);
    });

    test('fails with RUN_AS_ROOT for an image that runs as root where that is not allowed', async () => {
      const strict = await openTestDriver(cluster, installation, { podSecurity: 'restricted' });
      const elsewhere = randomUUID();
      const plain = workload('sleep 100');
      const rooted = { ...plain, owner: { ...plain.owner, environment: elsewhere } };
      try {
        expect(await failure(strict.start(rooted, context))).toMatchObject({ code: 'RUN_AS_ROOT' });
      } finally {
        await strict.removeEnvironment(elsewhere, context);
        strict.close();
      }
    });

    test('fails with QUOTA_EXCEEDED, in the words of the quota', async () => {
      const metadata = { name: 'tight', namespace };
      const path = `/api/v1/namespaces/${namespace}/resourcequotas`;
      const body = { apiVersion: 'v1', kind: 'ResourceQuota', metadata, spec: { hard: { 'limits.memory': '1Mi' } } };
      await call(api, { method: 'POST', path, body, signal });
      try {
        const tight = web();
        expect(await failure(driver.start(tight, context))).toMatchObject({
          code: 'QUOTA_EXCEEDED',
          message: expect.stringContaining('exceeded quota'),
        });
        await driver.retire({ service: tight.owner.service }, 0, context);
      } finally {
        await call(api, { method: 'DELETE', path: `${path}/tight`, signal });
      }
    });

    test('leaves what Davit did not make as it is, and says so', async () => {
      await create({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'theirs', namespace },
        spec: { ports: [{ port: 1 }] },
      } as object);
      const ours = web({ hostnames: ['theirs'] });
      expect(await failure(driver.start(ours, context))).toMatchObject({
        code: 'ENGINE_FAILED',
        message: expect.stringContaining('Service theirs'),
      });
      await driver.removeService(environment, ours.owner.service, context);
      expect(await find(api, pathOf('Service', { namespace, name: 'theirs' }), signal)).not.toBeNull();
      expect(await find(api, pathOf('Service', { namespace, name: serviceObjectName(ours.owner) }), signal)).toBeNull();
    });

    test('a namespace that somebody holds up is left to the cluster, and the log says what holds it', async () => {
      const held = randomUUID();
      const name = namespaceName(installation, held);
      const secret = pathOf('Secret', { namespace: name, name: 'held' });
      await driver.start(workload('true', { runsOnce: true, owner: { ...web().owner, environment: held } }), context);
      const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'held', finalizers: ['example.org/hold'] } };
      await call(api, { method: 'POST', path: pathOf('Secret', { namespace: name }), body, signal });
      const lines: string[] = [];
      await removeEnvironment({ api, installation }, held, { signal, log: (line) => lines.push(line) }, 15_000);
      expect(lines).toEqual([expect.stringContaining(`has not removed the namespace ${name} yet`)]);
      expect(lines[0]).toContain('example.org/hold');
      const contentType = 'application/merge-patch+json';
      await call(api, { method: 'PATCH', path: secret, body: { metadata: { finalizers: null } }, contentType, signal });
      await driver.removeEnvironment(held, context);
      expect(await find(api, pathOf('Namespace', { name }), signal)).toBeNull();
    });

    test('an instance whose node drops its pod comes back as the same instance', async () => {
      const running = web();
      await driver.start(running, context);
      const [before] = await driver.awaitReady(running, context);
      const query = { labelSelector: `${label.rollout}=${running.rollout}` };
      await call(api, { method: 'DELETE', path: pathOf('Pod', { namespace }), query, signal });
      for (;;) {
        const [now] = await driver.awaitReady(running, context);
        expect(now?.id).toBe(before?.id);
        if (now?.startedAt !== before?.startedAt) break;
      }
      await driver.retire({ service: running.owner.service }, 0, context);
    });

    test('routes lead to the Service of the rollout that is to serve, and go when there are none', async () => {
      const first = web({ hostnames: ['routed'] });
      await driver.start(first, context);
      await driver.awaitReady(first, context);
      const second = { ...first, rollout: randomUUID() };
      await driver.start(second, context);
      await driver.awaitReady(second, context);
      const { owner } = first;
      const routes = [{ id: 'web', hosts: ['shop.example.org'], pathPrefix: '/', internalPort: 8080 }];
      const reported = await driver.routes.apply({ owner, rollout: second.rollout, routes }, signal);
      expect(reported).toEqual([expect.stringContaining('source_namespaces')]);
      const service = await find<Service>(api, pathOf('Service', { namespace, name: 'routed' }), signal);
      expect(service?.spec?.selector?.[label.rollout]).toBe(second.rollout);
      const ids = { namespace, name: serviceObjectName(owner) };
      const ingress = await find<Ingress>(api, pathOf('Ingress', ids), signal);
      expect(ingress?.spec?.rules).toMatchObject([{ host: 'shop.example.org' }]);
      expect(await driver.routes.apply({ owner, rollout: second.rollout, routes: [] }, signal)).toEqual([]);
      expect(await find(api, pathOf('Ingress', ids), signal)).toBeNull();
      await driver.retire({ service: owner.service }, 0, context);
    });

    const gatedDriver = () => openTestDriver(cluster, installation, { gateway: { namespace: 'infra', name: 'public' } });
    const routesOf = (...hosts: readonly string[]) =>
      hosts.map((host) => ({ id: host, hosts: [host], pathPrefix: '/', internalPort: 8080 }));

    test('routes at a Gateway take the place of an Ingress, and the other way round', async ({ skip }) => {
      skip(!(await hasGatewayApi()), 'the cluster has no Gateway API');
      const gated = await gatedDriver();
      const served = web({ hostnames: ['gated'] });
      await driver.start(served, context);
      await driver.awaitReady(served, context);
      const { owner, rollout } = served;
      const routes = routesOf('shop.example.org', 'admin.example.org');
      const query = { labelSelector: `davit.service=${owner.service}` };
      const names = async (kind: string): Promise<string[]> => {
        const { items } = await list<KubernetesObject>(api, { path: pathOf(kind, { namespace }), query }, signal);
        return items.map(({ metadata }) => metadata?.name ?? '').toSorted();
      };
      const name = serviceObjectName(owner);
      try {
        await driver.routes.apply({ owner, rollout, routes }, signal);
        expect(await names('Ingress')).toEqual([name]);
        await gated.routes.apply({ owner, rollout, routes }, signal);
        expect([await names('HTTPRoute'), await names('Ingress')]).toEqual([[name, `${name}-1`], []]);
        await gated.routes.apply({ owner, rollout, routes: routes.slice(0, 1) }, signal);
        expect(await names('HTTPRoute')).toEqual([name]);
        await driver.routes.apply({ owner, rollout, routes }, signal);
        expect([await names('HTTPRoute'), await names('Ingress')]).toEqual([[], [name]]);
        await gated.routes.apply({ owner, rollout, routes }, signal);
        await gated.removeService(environment, owner.service, context);
        expect(await names('HTTPRoute')).toEqual([]);
      } finally {
        gated.close();
        await driver.removeService(environment, owner.service, context);
      }
    });

    test('a Gateway in the settings of a cluster without the Gateway API is told', async ({ skip }) => {
      skip(await hasGatewayApi(), 'the cluster has the Gateway API');
      const gated = await gatedDriver();
      const { owner, rollout } = web();
      const applied = gated.routes.apply({ owner, rollout, routes: routesOf('shop.example.org') }, signal);
      const expected = { code: 'ENGINE_FAILED', message: expect.stringContaining('no Gateway API') };
      await expect(applied.finally(() => gated.close())).rejects.toMatchObject(expected);
    });

    test('tells what the credentials do not allow', async () => {
      expect(await driver.missingPermissions(signal)).toEqual([]);
    });

    test('tells that the credentials of a kubeconfig are not valid', async () => {
      const { server, authority = '' } = readKubeconfig(cluster.kubeconfig);
      const wrong = JSON.stringify({
        contexts: [{ name: 'one', context: { cluster: 'one', user: 'one' } }],
        clusters: [{ name: 'one', cluster: { server, 'certificate-authority-data': Buffer.from(authority).toString('base64') } }],
        users: [{ name: 'one', user: { token: 'wrong' } }],
      });
      const error = await failure(
        openTestDriver({ ...cluster, kubeconfig: wrong }, installation).then((one) => one.observe({}, signal)),
      );
      expect(error).toMatchObject({ code: 'CLUSTER_ACCESS_DENIED', retryable: false });
    });
  },
);
