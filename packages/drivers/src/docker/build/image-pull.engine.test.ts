import { Sensitive } from '@davit/base';
import { startTestEngine, testEngineKinds } from '@davit/testkit/engines';
import { startTestRegistry, type TestRegistry } from '@davit/testkit/registry';
import Dockerode from 'dockerode';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CallContext, ImageBuilder } from '../../driver.ts';
import { createImageBuilder } from './image-builder.ts';

// The password's, by bcrypt.
const user = { name: 'reader', password: 'open-sesame', hash: '$2y$05$abcdefghijklmnopqrstuutXu9KzOt.1yBoZUeFWoT/914/JfszCO' };

describe.each(testEngineKinds())('pulling on %s', (kind) => {
  let builder: ImageBuilder;
  let docker: Dockerode;
  let registry: TestRegistry;
  const lines: string[] = [];
  const context: CallContext = { signal: new AbortController().signal, log: (line) => void lines.push(line) };
  const credentials = { username: user.name, password: new Sensitive(user.password) };
  beforeAll(async () => {
    const engine = await startTestEngine(kind);
    docker = new Dockerode({ socketPath: engine.socketPath });
    builder = createImageBuilder({ docker, installation: 'pull' });
    registry = await startTestRegistry({ user });
  });
  afterAll(async () => {
    await registry?.close();
  });

  test('brings the image with its digest, and the newer one when the tag has moved', async () => {
    const reference = `${registry.address}/team/app:1`;
    const digest = await registry.push('team/app', '1', ['first']);
    const first = await builder.pull({ reference, credentials }, context);
    expect(first).toMatchObject({ digest });
    const inspection = await docker.getImage(first.id).inspect();
    expect(inspection.Config.Cmd).toEqual(['first']);
    expect(lines.length).toBeGreaterThan(0);

    const moved = await registry.push('team/app', '1', ['second']);
    const second = await builder.pull({ reference, credentials }, context);
    expect(second.digest).toBe(moved);
    expect(second.id).not.toBe(first.id);

    const pinned = await builder.pull({ reference: `${registry.address}/team/app@${digest}`, credentials }, context);
    expect(pinned).toMatchObject({ id: first.id, digest });
  });

  test.each([
    ['no such tag', 'team/app:nope', credentials, 'IMAGE_NOT_FOUND'],
    ['no such image', 'team/nope:1', credentials, 'IMAGE_NOT_FOUND'],
    ['no credentials', 'team/app:1', null, 'REGISTRY_ACCESS_DENIED'],
    ['a wrong password', 'team/app:1', { username: user.name, password: new Sensitive('wrong') }, 'REGISTRY_ACCESS_DENIED'],
  ] as const)('%s is explained', async (_what, name, identity, code) => {
    const reference = `${registry.address}/${name}`;
    const failure = await builder.pull({ reference, credentials: identity }, context).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code, retryable: false });
    expect(String(failure)).toContain(reference);
    expect(JSON.stringify(failure)).not.toContain(user.password);
  });

  test('a registry that is not there is explained, and is worth another try', async () => {
    const failure = await builder
      .pull({ reference: '127.0.0.1:1/app:1', credentials: null }, context)
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'REGISTRY_UNREACHABLE', retryable: true });
  });
});
