import { Agent, request } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { statement } from '../packages/db/src/index.ts';
import { freePort } from '../packages/testkit/src/site.ts';
import { TestDns } from '../packages/testkit/src/dns.ts';
import { testEngineKinds } from '../packages/testkit/src/engines.ts';
import { hasPebble, Pebble } from '../packages/testkit/src/pebble.ts';
import { eventually } from './support/eventually.ts';
import { busybox, TestSetup } from './support/setup.ts';

const shop = {
  Dockerfile: `FROM ${busybox}\nRUN mkdir -p /www && echo hello > /www/index.html\nCMD ["httpd", "-f", "-p", "3000", "-h", "/www"]\n`,
};
const domain = 'shop.example.test';
const publicHost = 'davit.example.test';
const dueNow = statement('e2e_certificate_due', 'update certificate set due_at = clock_timestamp() where host = $1');
const remedy = hasPebble ? '' : ' (skipped: the program pebble is missing; apt-get install pebble)';

describe.each(testEngineKinds())('HTTPS of a custom domain on %s', (kind) => {
  describe.skipIf(!hasPebble)(`by an ACME server${remedy}`, () => {
    let setup: TestSetup;
    let dns: TestDns;
    let pebble: Pebble;
    let ca: string;
    let httpsPort: number;
    beforeAll(async () => {
      const httpPort = await freePort();
      httpsPort = await freePort();
      dns = await TestDns.start();
      dns.records.set(publicHost, { a: ['127.0.0.1'] });
      pebble = await Pebble.start({ dnsServer: dns.server, httpPort });
      ca = await pebble.root();
      setup = await TestSetup.open(kind, {
        DAVIT_DNS_SERVERS: dns.server,
        DAVIT_GATEWAY_PORT: String(httpPort),
        DAVIT_GATEWAY_HTTPS_PORT: String(httpsPort),
        DAVIT_ACME_DIRECTORY: pebble.directory,
        DAVIT_ACME_ROOTS: pebble.rootsFile,
        DAVIT_PUBLIC_URL: `https://${publicHost}:${httpsPort}`,
      });
    });
    afterAll(async () => {
      await setup?.close();
      await pebble?.close();
      await dns?.close();
    });

    /**
     * Returns the serial number of the certificate and the text of the response. Fails if a client that trusts the
     * authority would reject the certificate.
     */
    const ask = (agent?: Agent, host = domain, location = '/'): Promise<{ readonly serial: string; readonly text: string }> =>
      new Promise((resolve, reject) => {
        const options = { host: '127.0.0.1', port: httpsPort, path: location, servername: host, headers: { host }, ca };
        const sent = request({ ...options, agent: agent ?? false }, (response) => {
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of an https request
          const serial = (response.socket as TLSSocket).getPeerCertificate().serialNumber;
          let text = '';
          response.on('data', (chunk: Buffer) => (text += chunk.toString()));
          response.on('error', reject);
          response.on('end', () => resolve({ serial, text: `${response.statusCode} ${text}` }));
        });
        sent.on('error', reject);
        sent.end();
      });

    test('is there for the API and the console too, under the public URL, and while Davit restarts', async () => {
      const health = await eventually(() => ask(undefined, publicHost, '/healthz').catch(() => undefined), 'the API over HTTPS');
      expect(health.text).toMatch(/^200 /);
      expect((await ask(undefined, publicHost, '/console/')).text).toMatch(/^200 .*<html/is);
      await setup.davit.kill('SIGKILL');
      expect(await ask(undefined, publicHost, '/healthz')).toMatchObject({
        serial: health.serial,
        text: expect.stringMatching(/^50/),
      });
      await setup.davit.serve();
      expect((await ask(undefined, publicHost, '/healthz')).text).toMatch(/^200 /);
    });

    test('comes by itself, is renewed under load without a lost request, and ends with the domain', async () => {
      const { client } = setup.davit;
      const { url } = setup.repository('shop', shop);
      const ports = [{ internal_port: 3000, publicly_accessible: true, protocol: 'HTTP' as const }];
      const applicationId = await setup.application('shop', url, { ports, memory: 64 });
      const params = { applicationId };
      dns.records.set(domain, { a: ['127.0.0.1'] });
      dns.records.set(`app-z${applicationId.slice(0, 8)}.localhost`, { a: ['127.0.0.1'] });
      const made = await client.call('createApplicationCustomDomain', { params, body: { domain } });
      await setup.deploy(applicationId);
      const ids = { params: { ...params, customDomainId: made.id } };
      const status = await eventually(async () => {
        const now = await client.call('getCustomDomainStatus', ids);
        return now.certificate_status === 'SERVED' ? now : undefined;
      }, 'a certificate');
      expect(status).toMatchObject({ dns_status: 'MATCHES_LOAD_BALANCER_HOST', ownership_status: 'PROVEN' });
      const first = await eventually(() => ask().catch(() => undefined), 'an answer over HTTPS');
      expect(first.text).toBe('200 hello\n');
      const { results } = await client.call('listApplicationLinks', { params });
      expect(results.map((link) => link.url)).toContain(`https://${domain}:${httpsPort}`);

      const kept = new Agent({ keepAlive: true, maxSockets: 2 });
      const over = new AbortController();
      const faults: unknown[] = [];
      const serials = new Set<string>();
      let count = 0;
      const clients = [kept, kept, undefined].map(async (agent) => {
        while (!over.signal.aborted) {
          count += 1;
          await ask(agent).then(
            ({ serial, text }) => (text === first.text ? serials.add(serial) : faults.push(text)),
            (error: unknown) => faults.push(error),
          );
        }
      });
      await setup.davit.database.database.run(dueNow, [domain]);
      await eventually(async () => (serials.size > 1 ? true : undefined), 'another certificate');
      const since = count;
      await eventually(async () => (count > since + 300 ? true : undefined), 'more requests');
      over.abort();
      await Promise.all(clients);
      kept.destroy();
      expect(faults).toEqual([]);
      expect(serials.size).toBe(2);

      await setup.davit.kill('SIGKILL');
      expect((await ask()).text).toBe(first.text);
      await setup.davit.serve();
      expect((await ask()).text).toBe(first.text);

      await client.call('deleteCustomDomain', ids);
      expect((await ask()).text).toBe(first.text);
      await setup.deploy(applicationId);
      await expect(ask()).rejects.toThrow(/alert|disconnected|reset/i);
    });
  });
});
