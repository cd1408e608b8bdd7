import { setTimeout as pause } from 'node:timers/promises';
import { startDavit } from '../davit.ts';
import { startLoad } from '../load/load.ts';
import type { LoadResult } from '../load/plan.ts';
import type { Row } from '../row.ts';
import { toSeries } from '../statistics.ts';
import { BenchApplication, createProject, port } from './applications.ts';

const minRequests = 10_000;
const redeploys = 5;

/** A server that returns $GENERATION. On SIGTERM it finishes the requests in progress and exits. */
const nodeApplication: Readonly<Record<string, string>> = {
  Dockerfile: 'FROM bench/node:1\nCOPY server.mjs /server.mjs\nCMD ["/usr/local/bin/node", "/server.mjs"]\n',
  'server.mjs': `import { createServer } from 'node:http';
const server = createServer((request, response) => response.end(process.env.GENERATION));
server.listen(${port});
process.on('SIGTERM', () => server.close(() => process.exit(0)));
`,
};

export const redeploysRow: Row = {
  name: 'redeploys',
  about: `requests lost through the gateway while a service is redeployed ${redeploys} times under load`,
  run: async (location) => {
    const address = await location.database('redeploys');
    const davit = await startDavit(location, { name: 'redeploys', databaseUrl: address });
    const url = (await location.git()).commit('redeploys', nodeApplication);
    const application = await BenchApplication.create(davit, {
      projectId: await createProject(davit, 'Redeploys'),
      name: 'shop',
      url,
    });
    await application.request();
    await application.untilDeployed();
    const link = await application.address();
    const loads: LoadResult[] = [];
    const counted = (): number => loads.reduce((sum, { requests }) => sum + requests, 0);
    while (counted() < minRequests) loads.push(await loadWhile(link, () => redeployAll(application, loads.length)));
    await davit.stop();
    const lost = loads.flatMap(({ failures }) => Object.values(failures)).reduce((sum, count) => sum + count, 0);
    const what = `requests lost of ${counted()} in ${loads.length * redeploys} redeploys`;
    const verdict = { target: '0', isMet: lost === 0 };
    return [{ what, unit: 'requests', davit: toSeries([lost]), floor: null, ratio: null, ...verdict, details: loads }];
  },
};

async function redeployAll(application: BenchApplication, run: number): Promise<void> {
  for (let index = 0; index < redeploys; index += 1) {
    await application.change(`${run}.${index}`);
    await application.request();
    await application.untilDeployed();
    // Requests continue for a while between two deployments, so that connections to the new instances grow old.
    await pause(1000);
  }
}

async function loadWhile(link: URL, action: () => Promise<void>): Promise<LoadResult> {
  const running = startLoad({
    port: Number(link.port),
    connections: 20,
    warmUpMilliseconds: 200,
    milliseconds: null,
    requests: [{ method: 'GET', path: '/', headers: { host: link.host } }],
    status: 200,
    pauseMilliseconds: 5,
    // Every second client also opens new connections.
    reconnectEvery: 10,
    keepsBodies: true,
  });
  await action();
  running.stop();
  const result = await running.result;
  // A load that saw only one generation proves nothing.
  if (result.bodies.length < redeploys) throw new Error(`the load saw the generations ${result.bodies.join(', ')} only`);
  return result;
}
