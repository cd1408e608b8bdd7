import { randomUUID } from 'node:crypto';
import { retry, Sensitive } from '@davit/base';
import { startTestRegistry, type TestRegistry } from '@davit/testkit/registry';
import type { Pod } from 'kubernetes-types/core/v1.js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { DriverError } from '../../errors.ts';
import type { ClusterBuildRequest, PushedImage } from '../../image-builder.ts';
import { buildRequest, failureOf, recordedCall, TestCheckout, testOwner, type RecordedCall } from '../../shared/build/testing.ts';
import { call, closeApi, openApi, type Api } from '../client/api.ts';
import { list } from '../client/follow.ts';
import { readKubeconfig } from '../client/kubeconfig.ts';
import { pathOf } from '../client/objects.ts';
import type { KubernetesDriver } from '../driver.ts';
import { buildNamespaceName } from '../names/names.ts';
import { openTestDriver, testBuilds, testCluster } from '../testing/cluster.ts';
import { openDoor, type Door } from '../testing/registry-door.ts';

/* Builds on a cluster, with the real BuildKit and a registry that requires a password. */

const cluster = testCluster();
const installation = randomUUID();
const namespace = buildNamespaceName(installation);
const signal = new AbortController().signal;

describe.skipIf(cluster.missing !== null)(
  `builds on Kubernetes${cluster.missing === null ? '' : ` (${cluster.missing})`}`,
  () => {
    let api: Api;
    let driver: KubernetesDriver;
    let registry: TestRegistry;
    let door: Door;
    let checkout: TestCheckout;
    let context: RecordedCall;

    beforeAll(async () => {
      api = openApi(readKubeconfig(cluster.kubeconfig));
      registry = await startTestRegistry();
      door = await openDoor(api, registry.address);
      driver = await openTestDriver(cluster, installation, { builds: testBuilds() });
    });
    afterAll(async () => {
      await call(api, { method: 'DELETE', path: pathOf('Namespace', { name: namespace }), signal, accept: [404] });
      driver?.close();
      closeApi(api);
      await Promise.all([door?.close(), registry?.close()]);
    });
    beforeEach(() => {
      checkout = new TestCheckout();
      context = recordedCall();
    });
    afterEach(() => checkout.remove());

    const request = (name: string, change: Partial<ClusterBuildRequest> = {}): ClusterBuildRequest => ({
      ...buildRequest(checkout.folder, { owner: { ...testOwner, installation } }),
      reference: `${door.address}/davit/${name}:1`,
      registry: {
        host: door.address,
        credentials: { username: registry.username, password: new Sensitive(registry.password) },
        isPlain: true,
        folder: `${door.address}/davit`,
      },
      ...change,
    });
    const buildOnce = (name: string, change: Partial<ClusterBuildRequest> = {}): Promise<PushedImage> =>
      driver.builder.build(request(name, change), context);
    const isRetryable = (error: unknown): boolean => error instanceof DriverError && error.retryable;
    // Retries as the callers of a driver do: image and cache are pushed at the same time, and a registry may lose one
    // of two equal parts.
    const build = (name: string, change: Partial<ClusterBuildRequest> = {}): Promise<PushedImage> =>
      retry({ attempts: 3, firstPauseMilliseconds: 100, maximumPauseMilliseconds: 1_000, isRetryable }, () =>
        buildOnce(name, change),
      );
    const buildFails = (name: string, change: Partial<ClusterBuildRequest> = {}) => failureOf(buildOnce(name, change));
    const log = () => context.lines.join('\n');
    /** Returns the names of the objects of a kind in the namespace of builds. */
    const left = async (kind: 'Job' | 'Pod' | 'Secret') => {
      const { items } = await list<Pod>(api, { path: pathOf(kind, { namespace }), query: {} }, signal);
      return items.map(({ metadata }) => metadata?.name);
    };
    const nothingLeft = async () => {
      await expect.poll(async () => [await left('Job'), await left('Pod'), await left('Secret')]).toEqual([[], [], []]);
    };
    const there = async (path: string) => {
      const authorization = `Basic ${Buffer.from(`${registry.username}:${registry.password}`).toString('base64')}`;
      const accept = 'application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json';
      const response = await fetch(`${registry.url}/v2/davit/${path}`, { headers: { authorization, accept } });
      return { digest: response.headers.get('docker-content-digest'), body: await response.text() };
    };

    test('an image is built, labelled, pushed, and built again from the cache of the registry; nothing is left', async () => {
      checkout.dockerfile(
        'ARG GREETING',
        'ARG TOKEN=none',
        'RUN echo "[$GREETING] [$TOKEN]"',
        'COPY note /note',
        'CMD ["cat", "/note"]',
      );
      checkout.write({ note: 'hello' });
      const change = { arguments: { GREETING: 'it\'s "a" $x, y', TOKEN: 'canary-token' }, secretNames: ['TOKEN'] };
      const built = await build('first', change);
      expect(log()).toMatch(/^#\d+ \[it's "a" \$x, y\] \[none\]$/m);
      expect(log()).toContain('TOKEN gets no value');
      const manifest = await there('first/manifests/1');
      expect(built.digest).toBe(manifest.digest);
      const config = await there(`first/blobs/${/"config":\s*{[^}]*"digest":\s*"([^"]*)"/.exec(manifest.body)?.[1]}`);
      expect(JSON.parse(config.body).config).toMatchObject({
        Cmd: ['cat', '/note'],
        Labels: { 'davit.installation': installation },
      });
      expect(config.body + log()).not.toContain('canary');
      await nothingLeft();
      context = recordedCall();
      expect(await build('first', change)).toEqual(built);
      expect(log()).toMatch(/CACHED/);
      expect(log()).not.toMatch(/^#\d+ \[it's/m);
      await nothingLeft();
    });

    test('lines reach the log while the build goes on; the credentials are out of the reach of commands', async () => {
      checkout.dockerfile(
        'RUN echo early-line; sleep 3; echo late-line',
        'RUN cat /proc/*/environ /proc/*/root/davit/own/config.json 2>/dev/null | tr "\\0" "\\n"; cat /proc/*/cmdline | tr "\\0" " "; echo',
      );
      const building = build('lines');
      await expect.poll(log).toMatch(/^#\d+ early-line$/m);
      expect(log()).not.toMatch(/^#\d+ late-line$/m);
      await building;
      expect(log()).toMatch(/^#\d+ late-line$/m);
      expect(log()).toContain('buildkitd');
      expect(log()).not.toContain('buildctl');
      expect(log()).not.toContain(Buffer.from(`${registry.username}:${registry.password}`).toString('base64'));
    });

    test('a command that fails, a file and an image that are not there are told as on an engine', async () => {
      checkout.dockerfile('RUN for i in $(seq 80); do echo "line-$i"; done; exit 7');
      const failed = await buildFails('failing');
      expect(failed.code).toBe('BUILD_COMMAND_FAILED');
      expect(failed.message).toMatch(/^RUN for i in .* exited with code 7\.$/);
      expect(failed.evidence.exit).toEqual({ code: 7, outOfMemory: false });
      expect(failed.evidence.lines?.at(-1)).toMatch(/line-80$/);
      checkout.dockerfile('COPY nowhere /x');
      expect(await buildFails('failing')).toMatchObject({
        code: 'BUILD_COMMAND_FAILED',
        message: expect.stringContaining('COPY nowhere /x'),
      });
      checkout.write({ Dockerfile: `FROM ${door.address}/library/absent:1\n` });
      expect(await buildFails('failing')).toMatchObject({
        code: 'BASE_IMAGE_UNAVAILABLE',
        message: expect.stringContaining('library/absent:1'),
      });
      checkout.dockerfile('HEALTHCHECK --interval=soon CMD true');
      expect(await buildFails('failing')).toMatchObject({
        code: 'DOCKERFILE_INVALID',
        message: expect.stringContaining('Dockerfile, line 5'),
      });
      expect(await buildFails('failing', { dockerfilePath: 'x/Dockerfile' })).toMatchObject({ code: 'DOCKERFILE_MISSING' });
      expect(await buildFails('failing', { targetStage: 'nope' })).toMatchObject({ code: 'BUILD_TARGET_MISSING' });
      await nothingLeft();
    });

    test('a build begins with no image of another service, whoever may read it', async () => {
      checkout.dockerfile('RUN echo secret of another service >/secret');
      await build('other');
      for (const from of ['other:1', 'other:cache', `other@${(await there('other/manifests/1')).digest}`]) {
        checkout.write({ Dockerfile: `ARG base=${door.address}/davit/${from}\nFROM \${base}\nRUN cat /secret\n` });
        const refused = await buildFails('spy');
        expect([refused.code, refused.message]).toEqual(['BASE_IMAGE_UNAVAILABLE', expect.stringContaining('policy')]);
      }
      expect(log()).not.toMatch(/^#\d+ secret of another/m);
    });

    test('a registry that does not let Davit write says so', async () => {
      checkout.dockerfile('RUN true');
      const wrong = { username: registry.username, password: new Sensitive('wrong') };
      const refused = await buildFails('denied', { registry: { ...request('denied').registry, credentials: wrong } });
      expect(refused.code).toBe('REGISTRY_ACCESS_DENIED');
      expect(JSON.stringify(refused)).not.toContain('wrong');
    });

    test('commands are held to their memory, and what is killed for it is told', async () => {
      checkout.dockerfile('RUN echo before; tail /dev/zero');
      const error = await buildFails('greedy', { memoryMiB: 160 });
      expect([error.code, error.evidence.exit?.outOfMemory]).toEqual(['BUILD_OUT_OF_MEMORY', true]);
      expect(error.message).toContain('160 MiB');
      checkout.dockerfile('RUN echo fine; exit 137');
      expect(await buildFails('greedy', { memoryMiB: 160 })).toMatchObject({ code: 'BUILD_COMMAND_FAILED' });
      await nothingLeft();
    });

    test('an abort kills the build at once', async () => {
      checkout.dockerfile('RUN trap "" TERM INT HUP; echo under-way; sleep 4321; sleep 4321');
      const aborter = new AbortController();
      context = recordedCall(aborter.signal);
      const building = buildOnce('aborted');
      building.catch(() => undefined);
      await expect.poll(log).toMatch(/^#\d+ under-way$/m);
      const began = Date.now();
      aborter.abort(new Error('canceled by somebody'));
      await expect(building).rejects.toThrow('canceled by somebody');
      await nothingLeft();
      expect(Date.now() - began).toBeLessThan(10_000);
    });

    test('what a dead process left is ended by the next build of the same image; a pod that is taken away is told', async () => {
      checkout.dockerfile('RUN echo under-way; sleep 4321');
      const first = buildOnce('again');
      first.catch(() => undefined);
      await expect.poll(log).toMatch(/^#\d+ under-way$/m);
      const [before] = await left('Pod');
      checkout.dockerfile('RUN echo second');
      const second = await build('again');
      expect(second.digest).toBe((await there('again/manifests/1')).digest);
      expect((await failureOf(first)).retryable).toBe(true);
      expect(await left('Pod')).not.toContain(before);
      await nothingLeft();
    });

    test('a builder that cannot be pulled, and one that is none, say what the operator can do', async () => {
      checkout.dockerfile('RUN true');
      const other = async (image: string) => {
        const own = await openTestDriver(cluster, installation, { builds: { ...testBuilds(), image } });
        return failureOf(own.builder.build(request('nobody'), context)).finally(() => own.close());
      };
      expect(await other(cluster.image.replace(/:[^:]*$/, ':absent'))).toMatchObject({
        code: 'BUILD_UNAVAILABLE',
        hint: expect.stringContaining('builder_image'),
      });
      expect(await other(cluster.image)).toMatchObject({ code: 'BUILD_UNAVAILABLE' });
      await nothingLeft();
    });
  },
);
