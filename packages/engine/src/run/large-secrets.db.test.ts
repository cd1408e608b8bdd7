import { randomBytes, randomUUID } from 'node:crypto';
import { statement } from '@davit/db';
import { DriverError } from '@davit/drivers';
import { afterEach, expect, test } from 'vitest';
import { createEngine, type EngineLog } from '../index.ts';
import type { RequestedService } from '../port.ts';
import { config } from '../testing/config.ts';
import { createTestEngine, eventually, service, type TestEngine } from '../testing/test-engine.ts';

/*
 * The secrets are as large as the contract allows, and together too large for any redactor. The deployment must end,
 * and the server's log must contain no form of the secrets.
 */

let fixture: TestEngine;
afterEach(() => fixture.close());

// Length of the longest variable value in the contract.
const longestValue = 524_288;
const logOf = statement<{ message: string }>(
  'test_messages_of_deployment',
  'select message from deployment_log where deployment_id = $1 order by id',
);

const printable = (length: number): string => randomBytes(length).toString('base64').slice(0, length);
const lines = (count: number): string => Array.from({ length: count }, () => printable(48)).join('\n');

/** Returns a service with these secrets in its environment. */
function withSecrets(values: readonly string[]): RequestedService {
  const ids = values.map((value) => {
    const id = randomUUID();
    fixture.secrets.set(id, value);
    return id;
  });
  return service({ config: config({ environment: ids.map((secret, index) => ({ name: `V${index}`, parts: [{ secret }] })) }) });
}

/** Creates a world that captures the lines of the server's log, including errors. */
async function withLog(): Promise<{ readonly logged: string[]; readonly stop: () => Promise<void> }> {
  fixture = await createTestEngine();
  await fixture.engine.stop();
  const logged: string[] = [];
  const keep = (details: object, message: string): void => {
    const texts = Object.values(details).map((one: unknown) => (one instanceof Error ? `${one.stack}` : JSON.stringify(one)));
    logged.push(`${message} ${texts.join(' ')}`);
  };
  const log: EngineLog = { info: keep, warn: keep, error: keep };
  const engine = createEngine({ ...fixture.input, log });
  await engine.start();
  return { logged, stop: () => engine.stop() };
}

/** Returns the secret in clear, in base64 and in hexadecimal digits, each long enough to be recognized. */
function formsOf(value: string): { readonly text: string; readonly start: string }[] {
  const bytes = Buffer.from(value);
  return [value, bytes.toString('base64'), bytes.toString('hex')].map((text) => ({ text, start: text.slice(0, 40) }));
}

test.each([
  ['one of 400 lines', () => [lines(400)]],
  ['one of 20 KB in one line', () => [printable(20_000)]],
  ['the longest value', () => [printable(longestValue)]],
  ['two hundred of many lines', () => Array.from({ length: 200 }, () => lines(30))],
])('a deployment with %s ends well, and no log has them', async (_what, make) => {
  const { logged, stop } = await withLog();
  const values = make();
  const shop = withSecrets(values);
  const [first = ''] = values;
  let talks = true;
  fixture.fake.script = {
    before: ({ method }) => {
      if (method === 'build' && talks) {
        const encoded = formsOf(first).map((form) => form.text);
        throw new DriverError({ cause: 'BUILD_COMMAND_FAILED', message: `it said ${encoded.join(' and ')}.` });
      }
    },
  };
  const deploymentId = await fixture.deploy([shop]);
  expect(await fixture.ends(deploymentId)).toBe('FAILED');
  expect((await fixture.view(shop.serviceId)).failure).toMatchObject({
    code: 'BUILD_COMMAND_FAILED',
    message: 'it said [REDACTED] and [REDACTED] and [REDACTED].',
  });
  talks = false;
  expect(await fixture.ends(await fixture.deploy([shop]))).toBe('SUCCEEDED');
  const stored = (await fixture.database.database.many(logOf, [deploymentId])).map(({ message }) => message).join('\n');
  for (const { start } of formsOf(first)) {
    expect(stored.includes(start)).toBe(false);
    expect(logged.join('\n').includes(start)).toBe(false);
  }
  await stop();
});

test('one with more than can be kept out of logs fails with the cause, can be deleted, and keeps no other from its turn', async () => {
  const { logged, stop } = await withLog();
  const values = Array.from({ length: 33 }, () => printable(longestValue));
  const shop = withSecrets(values);
  const deploymentId = await fixture.deploy([shop]);
  expect(await fixture.ends(deploymentId)).toBe('FAILED');
  const { failure } = await fixture.view(shop.serviceId);
  expect(failure).toMatchObject({ code: 'SECRETS_TOO_LARGE', hint: expect.stringContaining('volume') });
  const everything = `${logged.join('\n')}${JSON.stringify(failure)}`;
  expect(values.flatMap(formsOf).some(({ start }) => everything.includes(start))).toBe(false);
  const removal = await fixture.deploy([{ ...shop, release: undefined }], { action: 'DELETE' });
  expect(await fixture.ends(removal)).toBe('SUCCEEDED');
  expect(await fixture.ends(await fixture.deploy([service()]))).toBe('SUCCEEDED');
  await stop();
});

test('one that cannot be prepared for a fault of Davit ends as soon as it is canceled', async () => {
  fixture = await createTestEngine();
  await fixture.engine.stop();
  let tries = 0;
  const secrets = (): Promise<never> => {
    tries += 1;
    return Promise.reject(new TypeError('a fault of Davit'));
  };
  const engine = createEngine({ ...fixture.input, hooks: { ...fixture.input.hooks, secrets } });
  const shop = service({ config: config({ environment: [{ name: 'A', parts: [{ secret: randomUUID() }] }] }) });
  await engine.start();
  const deploymentId = await fixture.deploy([shop]);
  await eventually(() => Promise.resolve(tries > 0 || undefined), 'the first try');
  await engine.port.cancel(fixture.environmentId, false);
  expect(await fixture.ends(deploymentId)).toBe('FAILED');
  // Without a cancel the deployment gives up after eight tries.
  expect(tries).toBeLessThan(5);
  await engine.stop();
});
