import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestDns } from '../packages/testkit/src/dns.ts';
import { testEngineKinds } from '../packages/testkit/src/engines.ts';
import { busybox, TestSetup } from './support/setup.ts';

/**
 * An application that responds with the host name of the request and reports whether it can write outside of volumes.
 */
const shop = {
  Dockerfile: [
    `FROM ${busybox}`,
    'RUN mkdir -p /www/cgi-bin',
    'COPY --chmod=755 host /www/cgi-bin/host',
    'CMD ["httpd", "-f", "-p", "3000", "-h", "/www"]',
    '',
  ].join('\n'),
  host: '#!/bin/sh\necho "Content-Type: text/plain"\necho\necho "$HTTP_HOST"\ntouch /written 2>/dev/null && echo writable || echo read-only\n',
};

describe.each(testEngineKinds())('a custom domain on %s', (kind) => {
  let setup: TestSetup;
  let dns: TestDns;
  let applicationId: string;
  let port: string;
  beforeAll(async () => {
    dns = await TestDns.start();
    setup = await TestSetup.open(kind, { DAVIT_DNS_SERVERS: dns.server });
    const { url } = setup.repository('shop', shop);
    applicationId = await setup.application('shop', url, {
      ports: [{ internal_port: 3000, publicly_accessible: true, protocol: 'HTTP' }],
      memory: 64,
    });
    await setup.deploy(applicationId);
    port = new URL(await setup.link(applicationId)).port;
  });
  afterAll(async () => {
    await setup?.close();
    await dns?.close();
  });

  const ask = (host: string) => setup.fetch(`http://${host}:${port}/cgi-bin/host`);

  test('reaches the application after the next deployment, by its name and by any name of a wildcard', async () => {
    const { client } = setup.davit;
    const params = { applicationId };
    const made = await client.call('createApplicationCustomDomain', { params, body: { domain: 'shop.example.test' } });
    await client.call('createApplicationCustomDomain', { params, body: { domain: '*.shops.example.test' } });
    expect((await ask('shop.example.test')).status).toBe(404);
    expect((await setup.status(applicationId)).service_deployment_status).toBe('OUT_OF_DATE');
    await setup.deploy(applicationId);
    for (const host of ['shop.example.test', 'one.shops.example.test']) {
      expect(await ask(host)).toEqual({ status: 200, body: `${host}:${port}\nwritable\n` });
    }
    expect((await ask('a.b.shops.example.test')).status).toBe(404);
    const { results } = await client.call('listApplicationLinks', { params });
    expect(results.map(({ url }) => url)).toContain(`http://shop.example.test:${port}`);
    const ids = { params: { ...params, customDomainId: made.id } };
    expect(await client.call('getCustomDomainStatus', ids)).toMatchObject({
      dns_status: 'DOMAIN_NOT_CONFIGURED',
      certificate_status: 'NOT_SERVED',
    });
    dns.records.set('shop.example.test', { a: ['127.0.0.1'] });
    expect(await client.call('getCustomDomainStatus', ids)).toMatchObject({ dns_status: 'MATCHES_LOAD_BALANCER_HOST' });
  });

  test('has the advanced settings of its service, like its own address', async () => {
    const { client } = setup.davit;
    const params = { applicationId };
    const body = {
      'security.read_only_root_filesystem': true,
      'network.ingress.denylist_source_range': '192.0.2.0/24',
      'network.ingress.proxy_body_size_mb': 1,
    };
    await client.call('editAdvancedSettings', { params, body });
    await setup.deploy(applicationId);
    expect((await ask('shop.example.test')).body).toContain('read-only');
    await client.call('editAdvancedSettings', { params, body: { 'network.ingress.denylist_source_range': '127.0.0.0/8' } });
    await setup.deploy(applicationId);
    expect((await ask('shop.example.test')).status).toBe(403);
    expect((await setup.fetch(await setup.link(applicationId))).status).toBe(403);
  });
});
