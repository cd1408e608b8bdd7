import { once } from 'node:events';
import { createServer } from 'node:https';
import { testCertificate } from '@davit/testkit/certificate';
import { startTestSite } from '@davit/testkit/site';
import { expect, test } from 'vitest';
import { remoteSettings } from './get.ts';
import { RegistryClient } from './registry-client.ts';

test('a registry behind TLS cannot have its credentials sent to a place of tokens without TLS', async () => {
  const seen: unknown[] = [];
  const plain = await startTestSite(({ headers }, response) => {
    seen.push(headers.authorization);
    response.end('{"token": "abc"}');
  });
  const { pem } = await testCertificate('127.0.0.1');
  const registry = createServer({ key: pem, cert: pem }, (_request, response) =>
    response.writeHead(401, { 'www-authenticate': `Bearer realm="${plain.url}/token"` }).end(),
  ).listen(0, '127.0.0.1');
  await once(registry, 'listening');
  const address = registry.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const settings = remoteSettings({ allowPrivateTargets: true, allowHttpRegistries: true }, { skipTlsVerification: true });
  const api = new URL(`https://127.0.0.1:${port}`);
  const client = new RegistryClient({ api, credentials: { username: 'ann', password: 'sesame' }, settings });
  try {
    await expect(client.tags('web')).rejects.toMatchObject({
      code: 'REMOTE_NOT_UNDERSTOOD',
      message: expect.stringContaining('without TLS'),
    });
    expect(seen).toEqual([]);
  } finally {
    registry.close();
    await plain.close();
  }
});
