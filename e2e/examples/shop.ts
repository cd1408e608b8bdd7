import {
  createFakeCluster,
  FakeTerraform,
  type FakeCluster,
  type SourceDriver,
  type TerraformResource,
  type TerraformRun,
  type TerraformSession,
} from '@davit/drivers';
import { createEngine } from '@davit/engine';
import { TestIssuer } from '@davit/testkit/issuer';
import { OpenIdIssuer } from '@davit/testkit/openid-issuer';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { startTestSite } from '@davit/testkit/site';
import { MailSink } from '@davit/testkit/mail-sink';
import { WebhookDeliverer } from '../../packages/server/src/resources/webhook/index.ts';
import { chartsOfRack, kubernetes } from './rack.ts';
import { bearerOf, BrowserCaller, Recorder, type Caller } from './recorder.ts';

/** Address of Davit in the examples. */
export const publicUrl = 'https://davit.example.org';
const clientSecret = 'secret-of-this-run';

/** The server of the shop, the clusters and hosts that it uses, and the people who call it. */
export interface ShopServer {
  readonly server: TestServer;
  readonly recorder: Recorder;
  /** The container engine beside Davit. */
  readonly local: FakeCluster;
  readonly issuer: TestIssuer;
  readonly signInIssuer: OpenIdIssuer;
  readonly hosts: Readonly<Record<'registry' | 'charts' | 'hooks', string>>;
  /** The person who owns the organization, in a browser. */
  readonly ada: Caller;
  /** The operator of the installation. */
  readonly operator: Caller;
  /** Sets the public address of a Kubernetes cluster, as its operator does in DAVIT_CLUSTER_SETTINGS. */
  readonly addressCluster: (clusterId: string, address: string) => void;
  /** Returns a caller in another browser. */
  readonly browser: () => Caller;
  close(): Promise<void>;
}

const chartIndex = `apiVersion: v1
entries:
  redis:
    - {name: redis, version: 20.6.1, created: 2026-01-01T00:00:00Z, urls: [redis-20.6.1.tgz]}
    - {name: redis, version: 20.6.0, created: 2025-12-01T00:00:00Z, urls: [redis-20.6.0.tgz]}
`;

/** Starts the server. `close` stops it and everything that it uses. */
export async function startShopServer(): Promise<ShopServer> {
  const registry = await startTestSite(({ url = '' }, response) => {
    response.end(
      url.includes('/tags/list') ? '{"name": "shop/mail", "tags": ["1.4.0", "1.5.0"]}' : '{"repositories": ["shop/mail"]}',
    );
  });
  const charts = await startTestSite((_request, response) => response.end(chartIndex));
  const hooks = await startTestSite((_request, response) => response.end('ok'));
  const issuer = await TestIssuer.start();
  const signInIssuer = await OpenIdIssuer.start();
  const mails = await MailSink.start();
  const local = createFakeCluster();
  const rack = createFakeCluster();
  fillRepositories(local);
  const server = await startTestServer({
    engine: (parts) =>
      createEngine({
        ...parts,
        drivers: { docker: local },
        makeCluster: () => kubernetes(rack),
        terraform: new ShopTerraform(),
        helm: chartsOfRack.helm,
      }),
    environment: {
      DAVIT_PUBLIC_URL: publicUrl,
      DAVIT_GATEWAY_DOMAIN: 'apps.example.org',
      DAVIT_GATEWAY_PORT: '80',
      DAVIT_GATEWAY_HTTPS_PORT: '443',
      DAVIT_OIDC_ISSUER: `${signInIssuer.url},${issuer.url}`,
      DAVIT_OIDC_CLIENT_ID: `${OpenIdIssuer.clientId},davit`,
      DAVIT_OIDC_CLIENT_SECRET: `${clientSecret},-`,
      DAVIT_PROVE_DOMAINS: 'false',
      DAVIT_SMTP_URL: mails.url,
      DAVIT_MAIL_FROM: 'Davit <davit@example.org>',
      DAVIT_ALLOW_PRIVATE_TARGETS: 'true',
      DAVIT_ALLOW_HTTP_REGISTRIES: 'true',
      DAVIT_READY_TIMEOUT_SECONDS: '20',
      DAVIT_DRAIN_SECONDS: '1',
      DAVIT_METRICS_SECONDS: '1',
    },
  });
  await signInIssuer.serve(`${publicUrl}/console/issuer`, clientSecret);
  await server.api.engine.start();
  const { vault, counts } = server.api.deps;
  const log = { warn: (): void => undefined };
  const { database } = server.database;
  const deliverer = new WebhookDeliverer({ database, vault, allowPrivateTargets: true, version: '1', counts, log });
  deliverer.start();
  const recorder = new Recorder(server.baseUrl);
  recorder.replace(registry.url, 'https://registry.example.org');
  recorder.replace(charts.url, 'https://charts.example.org');
  recorder.replace(hooks.url, 'https://chat.example.org');
  recorder.replace(signInIssuer.url, 'https://login.example.org');
  recorder.replace(issuer.url, 'https://id.example.org');
  recorder.replace(new URL(server.baseUrl).host, 'davit.example.org');
  // The address from which people and programs call.
  recorder.replace('127.0.0.1', '203.0.113.7');
  const close = async (): Promise<void> => {
    await deliverer.stop();
    await server.api.engine.stop();
    await server.close();
    await Promise.all([registry, charts, hooks, issuer, signInIssuer, mails].map((one) => one.close()));
  };
  return {
    server,
    recorder,
    local,
    issuer,
    signInIssuer,
    hosts: { registry: registry.url, charts: charts.url, hooks: hooks.url },
    ada: new BrowserCaller(publicUrl),
    operator: bearerOf(server.adminToken),
    // The file is read at the start, when the cluster has no id yet.
    addressCluster: (id, address) => void Object.assign(server.api.deps.config.clusterSettings, { [id]: { address } }),
    browser: () => new BrowserCaller(publicUrl),
    close,
  };
}

const chartFiles: Readonly<Record<string, string>> = {
  'Chart.yaml': 'apiVersion: v2\nname: sessions\nversion: 1.0.0\n',
  'values.yaml': 'architecture: standalone\nauth:\n  enabled: true\n',
};
const dockerfile = 'FROM node:24-slim\nARG VERSION\nEXPOSE 8080\nCMD ["node", "server.js"]\n';

/** Gives the repositories of the cluster in memory files and commits with the names of the shop. */
function fillRepositories({ source }: FakeCluster): void {
  const checkout = source.checkout.bind(source);
  const history = source.history.bind(source);
  const filesOf = (url: string): Readonly<Record<string, string>> =>
    url.endsWith('/charts.git') ? chartFiles : { Dockerfile: dockerfile };
  const commit = { message: 'Show prices with taxes', authorName: 'Grace' };
  const filled: Partial<SourceDriver> = {
    files: ({ url }, { paths }) => Promise.resolve(paths.map((one) => filesOf(url)[one] ?? null)),
    list: ({ url }, { choose }) => {
      const paths = Object.keys(filesOf(url));
      return Promise.resolve({
        paths,
        isComplete: true,
        texts: new Map(choose(paths).map((one) => [one, filesOf(url)[one] ?? ''])),
      });
    },
    checkout: async (...call) => ({ ...(await checkout(...call)), ...commit }),
    history: async (...call) => (await history(...call)).map((one) => ({ ...one, ...commit, authorEmail: 'grace@example.org' })),
  };
  Object.assign(source, filled);
}

/** Terraform in memory, whose configuration makes a bucket. */
class ShopTerraform extends FakeTerraform {
  override async open(run: TerraformRun): Promise<TerraformSession> {
    const session = await super.open(run);
    const bucket: TerraformResource = {
      address: 'cloud_bucket.pictures',
      mode: 'managed',
      type: 'cloud_bucket',
      name: 'pictures',
      provider: 'registry.terraform.io/example/cloud',
      attributes: { bucket: 'shop-pictures', region: 'eu-west-3' },
    };
    return { ...session, resources: () => Promise.resolve([bucket]) };
  }
}
