import { EngineClient } from '@davit/testkit/engine-client';
import { alternate } from '../alternate.ts';
import { ask } from '../ask.ts';
import { startDavit } from '../davit.ts';
import { memoryOf } from '../processes.ts';
import { ratioVerdict, type Measurement, type Row } from '../row.ts';
import { toSeries } from '../statistics.ts';
import { BenchApplication, createProject } from './applications.ts';

const target = { atMost: 1.15 };
const megabytesOfService = 1;
const requests = 2000;

const dockerfile = 'FROM bench/node:1\nCOPY server.js /\nCMD ["/usr/local/bin/node", "/server.js"]\n';

const upstream = {
  Dockerfile: dockerfile,
  'server.js': `
const server = require('node:http').createServer((request, response) => response.end('ok'));
server.keepAliveTimeout = 0;
server.listen(8080);
`,
};

/** On /<host>/<kept or new>, sends requests to that host one after the other. Answers with the median, in ms. */
const caller = {
  Dockerfile: dockerfile,
  'server.js': `
const http = require('node:http');
const one = (host, agent) => new Promise((resolve, reject) => {
  const began = process.hrtime.bigint();
  http.get({ host, port: 8080, agent }, (response) => {
    response.resume();
    response.on('end', () => resolve(Number(process.hrtime.bigint() - began) / 1e6));
  }).on('error', reject);
});
http.createServer(async (request, response) => {
  const [, name, kind] = request.url.split('/');
  if (kind === undefined) return response.end('ready');
  const { address } = await require('node:dns').promises.lookup(name);
  const agent = kind === 'kept' ? new http.Agent({ keepAlive: true, maxSockets: 1 }) : false;
  const times = [];
  for (let count = 0; count < ${requests}; count += 1) times.push(await one(address, agent));
  response.end(JSON.stringify(times.sort((a, b) => a - b)[${requests / 2}]));
}).listen(8080);
`,
};

export const addressesRow: Row = {
  name: 'addresses',
  about: `one of ${requests} requests from one service to another, median: through the address of the service against the address of its instance`,
  run: async (location) => {
    const { address: engineAddress } = await location.engine();
    const engine = new EngineClient(engineAddress.replace('unix://', ''));
    const davit = await startDavit(location, { name: 'addresses', environment: { DAVIT_SERVICE_ADDRESSES: 'true' } });
    const git = await location.git();
    const projectId = await createProject(davit, 'Addresses');
    const first = await BenchApplication.create(davit, { projectId, name: 'upstream', url: git.commit('upstream', upstream) });
    const second = await BenchApplication.create(davit, {
      projectId,
      name: 'caller',
      url: git.commit('caller', caller),
      environmentId: first.environmentId,
    });
    for (const application of [first, second]) {
      await application.request();
      await application.untilDeployed();
    }
    const containers = await engine.listContainers({ filters: { label: [`davit.service=${first.id}`] } });
    const holder = containers.find(({ Names }) => Names.some((name) => name.includes('davit-address')));
    const instance = containers.find((container) => container !== holder);
    if (holder === undefined || instance === undefined) throw new Error('the service has no address of its own');
    const { NetworkSettings } = await engine.getContainer(instance.Id).inspect();
    const direct = Object.values(NetworkSettings.Networks)[0]?.IPAddress ?? '';
    const url = await second.address();
    const measure = async (host: string, kind: string): Promise<number> => {
      const { status, text } = await ask(new URL(`/${host}/${kind}`, url));
      if (status !== 200) throw new Error(`the caller answered ${status}: ${text}`);
      return Number(text);
    };
    const measurements: Measurement[] = [];
    for (const kind of ['kept', 'new']) {
      const compared = await alternate(location.rounds(8, 3), {
        davit: () => measure('upstream', kind),
        floor: () => measure(direct, kind),
      });
      const what = kind === 'kept' ? 'requests over a kept connection' : 'requests over a new connection each';
      measurements.push({ what, unit: 'ms', ...compared, ...ratioVerdict(compared.ratio, target) });
    }
    const { State } = await engine.getContainer(holder.Id).inspect();
    const held = toSeries([memoryOf(State.Pid).proportional]);
    await davit.stop();
    const isMet = held.median <= megabytesOfService;
    const memory = { what: 'memory of the container that has the address', unit: 'MB' as const, davit: held };
    return [...measurements, { ...memory, floor: null, ratio: null, target: `≤ ${megabytesOfService}`, isMet }];
  },
};
