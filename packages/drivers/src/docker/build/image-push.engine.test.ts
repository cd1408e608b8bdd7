import { Sensitive } from '@davit/base';
import { startTestEngine, testEngineKinds, testRegistryPort } from '@davit/testkit/engines';
import { startTestRegistry, type TestRegistry } from '@davit/testkit/registry';
import { EngineClient } from '@davit/testkit/engine-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EngineImages } from '../../image-builder.ts';
import { createImageBuilder } from './image-builder.ts';
import { buildRequest, recordedCall, TestCheckout } from '../../shared/build/testing.ts';

describe.each(testEngineKinds())('pushing on %s', (kind) => {
  let images: EngineImages;
  let docker: EngineClient;
  let registry: TestRegistry;
  let port: number;
  const checkout = new TestCheckout();
  const image = 'davit-push-test/app:1';
  const credentials = { username: 'davit', password: new Sensitive('open-sesame') };
  beforeAll(async () => {
    const engine = await startTestEngine(kind);
    docker = new EngineClient(engine.socketPath);
    images = createImageBuilder({ docker, installation: 'push' });
    port = await testRegistryPort();
    registry = await startTestRegistry(port);
    checkout.dockerfile('CMD ["pushed"]');
    await images.build(buildRequest(checkout.folder, { image }), recordedCall());
  });
  afterAll(async () => {
    checkout.remove();
    await registry?.close();
  });

  const namesOf = async (): Promise<readonly string[]> => (await docker.getImage(image).inspect()).RepoTags;

  test('an image is in the registry under its digest, and the engine keeps no name of the registry', async () => {
    const reference = `${registry.address}/davit/app:key`;
    const call = recordedCall();
    const { digest } = await images.push({ image, reference, credentials }, call);
    const pulled = await images.pull({ reference: `${registry.address}/davit/app@${digest}`, credentials }, recordedCall());
    expect(pulled.digest).toBe(digest);
    expect((await docker.getImage(pulled.id).inspect()).Config.Cmd).toEqual(['pushed']);
    expect(call.lines.length).toBeGreaterThan(0);
    expect((await namesOf()).filter((name) => name.includes(registry.address))).toEqual([]);
    // Pushes once more, as after an interruption.
    expect(await images.push({ image, reference, credentials }, recordedCall())).toEqual({ digest });
  });

  test('who may not write, an image that is gone and a registry that is away are explained', async () => {
    const reference = `${registry.address}/davit/app:2`;
    const attempt = (change: Partial<Parameters<EngineImages['push']>[0]>): Promise<unknown> =>
      images.push({ image, reference, credentials, ...change }, recordedCall()).catch((error: unknown) => error);
    for (const wrong of [null, { username: 'davit', password: new Sensitive('not-it') }]) {
      const failure = await attempt({ credentials: wrong });
      expect(failure).toMatchObject({ code: 'REGISTRY_ACCESS_DENIED', hint: expect.stringContaining('may push') });
      expect(JSON.stringify(failure)).not.toContain('not-it');
    }
    expect(await attempt({ image: 'davit-push-test/gone:1' })).toMatchObject({ code: 'IMAGE_MISSING' });
    await registry.close();
    expect(await attempt({})).toMatchObject({ code: 'REGISTRY_UNREACHABLE', retryable: true });
    expect((await namesOf()).filter((name) => name.includes(registry.address))).toEqual([]);
  });

  test('a registry that asks nobody takes an image without credentials', async () => {
    await registry.close();
    registry = await startTestRegistry(port, { isOpen: true });
    const reference = `${registry.address}/davit/open:1`;
    const { digest } = await images.push({ image, reference, credentials: null }, recordedCall());
    expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
  });

  test('a push that is aborted ends at once and leaves no name', async () => {
    const stop = new AbortController();
    const push = images.push(
      { image, reference: `${registry.address}/davit/aborted:1`, credentials: null },
      recordedCall(stop.signal),
    );
    stop.abort(new Error('enough'));
    await expect(push).rejects.toThrow('enough');
    expect((await namesOf()).filter((name) => name.includes(registry.address))).toEqual([]);
  });
});
