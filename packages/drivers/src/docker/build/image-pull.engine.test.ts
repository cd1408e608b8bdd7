import { Sensitive } from '@davit/base';
import { startTestEngine, testEngineKinds, testRegistryPort } from '@davit/testkit/engines';
import { startTestRegistry, type TestRegistry } from '@davit/testkit/registry';
import { startTestSite } from '@davit/testkit/site';
import { EngineClient } from '@davit/testkit/engine-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CallContext } from '../../driver.ts';
import type { EngineImages } from '../../image-builder.ts';
import { createImageBuilder } from './image-builder.ts';

describe.each(testEngineKinds())('pulling on %s', (kind) => {
  let builder: EngineImages;
  let docker: EngineClient;
  let registry: TestRegistry;
  const lines: string[] = [];
  const context: CallContext = { signal: new AbortController().signal, log: (line) => void lines.push(line) };
  const identity = { username: 'davit', password: new Sensitive('open-sesame') };
  beforeAll(async () => {
    const engine = await startTestEngine(kind);
    docker = new EngineClient(engine.socketPath);
    builder = createImageBuilder({ docker, installation: 'pull' });
    registry = await startTestRegistry(await testRegistryPort());
  });
  afterAll(async () => {
    await registry?.close();
  });

  test('brings the image with its digest, and the newer one when the tag has moved', async () => {
    const reference = `${registry.address}/team/app:1`;
    const digest = await registry.push('team/app', '1', ['first']);
    const first = await builder.pull({ reference, credentials: identity }, context);
    expect(first).toMatchObject({ digest });
    const inspection = await docker.getImage(first.id).inspect();
    expect(inspection.Config.Cmd).toEqual(['first']);
    expect(lines.length).toBeGreaterThan(0);

    const moved = await registry.push('team/app', '1', ['second']);
    const second = await builder.pull({ reference, credentials: identity }, context);
    expect(second.digest).toBe(moved);
    expect(second.id).not.toBe(first.id);

    const pinned = await builder.pull({ reference: `${registry.address}/team/app@${digest}`, credentials: identity }, context);
    expect(pinned).toMatchObject({ id: first.id, digest });
  });

  test.each([
    ['no such tag', 'team/app:nope', identity, 'IMAGE_NOT_FOUND'],
    ['no such image', 'team/nope:1', identity, 'IMAGE_NOT_FOUND'],
    ['no credentials', 'team/app:1', null, 'REGISTRY_ACCESS_DENIED'],
    ['a wrong password', 'team/app:1', { username: 'davit', password: new Sensitive('wrong') }, 'REGISTRY_ACCESS_DENIED'],
  ] as const)('%s is explained', async (_what, name, credentials, code) => {
    const reference = `${registry.address}/${name}`;
    const failure = await builder.pull({ reference, credentials }, context).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code, retryable: false });
    expect(String(failure)).toContain(reference);
    expect(JSON.stringify(failure)).not.toContain('open-sesame');
  });

  test('credentials that are missing and such that are wrong are told to look at', async () => {
    for (const credentials of [null, { username: 'davit', password: new Sensitive('wrong') }]) {
      const failure = builder.pull({ reference: `${registry.address}/team/app:1`, credentials }, context);
      await expect(failure).rejects.toMatchObject({ hint: expect.stringMatching(/username (and|or) password/i) });
    }
  });

  test('a registry that was asked too often is worth another try, one that speaks plain http where it must not is none', async () => {
    const site = await startTestSite((_request, response) => {
      response.writeHead(429, { 'content-type': 'application/json', 'docker-distribution-api-version': 'registry/2.0' });
      response.end('{"errors": [{"code": "TOOMANYREQUESTS", "message": "You have reached your pull rate limit"}]}');
    });
    const pull = builder.pull({ reference: `127.0.0.1:${site.port}/team/app:1`, credentials: null }, context);
    // Docker accepts plain HTTP from every registry on this machine, Podman only from the registry of these tests.
    const [hint, retryable] = kind === 'docker' ? ['rate limit of the registry', true] : ['uses plain http', false];
    const expected = { code: 'REGISTRY_UNREACHABLE', retryable, hint: expect.stringContaining(hint) };
    await expect(pull).rejects.toMatchObject(expected);
    await site.close();
  });

  test('an image for another processor is pulled with a warning', async () => {
    const reference = `${registry.address}/team/other:1`;
    await registry.push('team/other', '1', ['other'], 's390x');
    lines.length = 0;
    await builder.pull({ reference, credentials: identity }, context);
    expect(lines.join('\n')).toMatch(/Warning: the image is for linux\/s390x, and this machine is/);
  });

  test('a registry that is not there is explained, and is worth another try', async () => {
    const failure = await builder
      .pull({ reference: '127.0.0.1:1/app:1', credentials: null }, context)
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'REGISTRY_UNREACHABLE', retryable: true });
  });
});
