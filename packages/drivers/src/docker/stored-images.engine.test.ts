import { randomUUID } from 'node:crypto';
import { Sensitive } from '@davit/base';
import { loadBusyboxImage } from '@davit/testkit/engine-images';
import { startTestEngine, testEngineKinds, testRegistryPort } from '@davit/testkit/engines';
import { startTestRegistry, type TestRegistry } from '@davit/testkit/registry';
import { EngineClient } from '@davit/testkit/engine-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CallContext } from '../driver.ts';
import type { EngineImages } from '../image-builder.ts';
import type { ImageStore, StoredImage } from '../stored-images.ts';
import { createImageBuilder } from './build/image-builder.ts';
import { buildRequest, recordedCall, TestCheckout } from '../shared/build/testing.ts';
import { createImageStore } from './stored-images.ts';
import { busybox } from './testing.ts';

describe.each(testEngineKinds())('the images of %s', (kind) => {
  let docker: EngineClient;
  let registry: TestRegistry;
  let images: ImageStore;
  let builder: EngineImages;
  const context: CallContext = { signal: new AbortController().signal, log: () => undefined };
  beforeAll(async () => {
    const engine = await startTestEngine(kind);
    docker = new EngineClient(engine.socketPath);
    await loadBusyboxImage(docker, busybox);
    registry = await startTestRegistry(await testRegistryPort());
    images = createImageStore({ docker, installation: 'stored', isLocal: true });
    builder = createImageBuilder({ docker, installation: 'stored' });
  });
  afterAll(() => registry?.close());

  /** A separate image with a tag, like the result of a pull. */
  async function pulled(): Promise<StoredImage> {
    const name = `team/${randomUUID()}`;
    await registry.push(name, '1', [name]);
    const credentials = { username: registry.username, password: new Sensitive(registry.password) };
    const { id } = await builder.pull({ reference: `${registry.address}/${name}:1`, credentials }, context);
    const found = (await images.list(context.signal)).find((image) => image.id === id);
    if (found === undefined) throw new Error('it is not there after the pull');
    return found;
  }

  test('are listed with their names and owner, and the disk that they are on', async () => {
    const image = await pulled();
    expect(image).toMatchObject({ service: null, sizeBytes: expect.any(Number) });
    expect(image.names.some((name) => name.endsWith(':1'))).toBe(true);
    const space = await images.space(context.signal);
    expect(space?.freeBytes).toBeGreaterThan(0);
    expect(space?.totalBytes).toBeGreaterThan(space?.freeBytes ?? 0);
    expect(await createImageStore({ docker, installation: 'stored', isLocal: false }).space(context.signal)).toBeNull();
  });

  test.runIf(kind === 'docker')('the build cache is reduced to its budget, without the layers of images', async () => {
    const checkout = new TestCheckout();
    try {
      // The large file is in the cache only, as the image contains another stage.
      checkout.write({
        Dockerfile: [
          'FROM scratch AS base',
          'COPY busybox /bin/busybox',
          'RUN ["/bin/busybox", "--install", "-s", "/bin"]',
          'ENV PATH=/bin',
          'FROM base AS work',
          `RUN dd if=/dev/urandom of=/large bs=1M count=8; echo ${randomUUID()} >/small`,
          'FROM base',
          'COPY --from=work /small /small',
          '',
        ].join('\n'),
      });
      const request = buildRequest(checkout.folder, { image: 'davit-build-test/cache:1' });
      const image = await builder.build(request, recordedCall());
      const budget = 1024 ** 3;
      expect(await images.pruneCache(budget, context.signal)).toBe(0);
      expect(await images.cacheBytes(context.signal)).toBeGreaterThan(8 * 1024 ** 2);
      expect(await images.pruneCache(1, context.signal)).toBeGreaterThan(8 * 1024 ** 2);
      expect(await builder.find(image.id, context.signal)).toEqual(image);
      await images.release({ id: image.id, names: ['davit-build-test/cache:1'] }, context);
    } finally {
      checkout.remove();
    }
  });

  test.runIf(kind === 'podman')('Podman has no build cache apart from its images', async () => {
    expect(await images.pruneCache(1, context.signal)).toBe(0);
    expect(await images.cacheBytes(context.signal)).toBeNull();
  });

  test('go with their last name, and twice is as good as once', async () => {
    const image = await pulled();
    expect(await images.release(image, context)).toBe('GONE');
    expect(await images.release(image, context)).toBe('GONE');
    expect((await images.list(context.signal)).map(({ id }) => id)).not.toContain(image.id);
  });

  test('stay under a name that somebody else gave them', async () => {
    const image = await pulled();
    const own = `kept-${randomUUID()}`;
    await docker.getImage(image.id).tag({ repo: own, tag: 'mine' });
    expect(await images.release(image, context)).toBe('NAMED');
    const left = (await images.list(context.signal)).find(({ id }) => id === image.id);
    expect(left?.names.some((name) => name.endsWith(`${own}:mine`))).toBe(true);
  });

  test('stay as long as a container has them, also one that does not run', async () => {
    const image = await pulled();
    const container = await docker.createContainer({ Image: image.id });
    expect(await images.release(image, context)).toBe('IN_USE');
    await container.remove();
    expect(await images.release(image, context)).toBe('GONE');
  });
});
