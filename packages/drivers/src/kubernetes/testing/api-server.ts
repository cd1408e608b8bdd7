import type { RequestListener } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { testCertificate } from '@davit/testkit/certificate';
import { closeApi, openApi, type Api } from '../client/api.ts';

const { pem } = await testCertificate('localhost');

export interface TestApi {
  readonly api: Api;
  readonly server: https.Server;
  readonly close: () => void;
}

/** Starts a server on loopback that responds in place of an API server, and returns an `Api` for it. */
export async function startTestApi(answer: RequestListener): Promise<TestApi> {
  const server = https.createServer({ key: pem, cert: pem }, answer);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo; // oxlint-disable-line typescript/no-unsafe-type-assertion -- it listens on TCP
  const api = openApi({ server: `https://127.0.0.1:${port}`, isUnchecked: true });
  return {
    api,
    server,
    close: () => {
      closeApi(api);
      server.closeAllConnections();
      server.close();
    },
  };
}
