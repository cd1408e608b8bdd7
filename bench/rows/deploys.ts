import { ask } from '../ask.ts';
import { startDavit } from '../davit.ts';
import type { Deployment } from '../floors/engine-calls-protocol.ts';
import { RawEngine } from '../floors/raw-engine.ts';
import type { Place } from '../place.ts';
import { ratioVerdict, type Measurement, type Row } from '../row.ts';
import { median, ratioOf, toSeries } from '../statistics.ts';
import { BenchApplication, busyboxApplication, createProject, limits, port } from './applications.ts';
import { stepTimes, untilSettled } from './steps.ts';

const target = { atMost: 1.25 };

export const deploysRow: Row = {
  name: 'deploys',
  about:
    'deploy of an unchanged application (cached build), request to DEPLOYED, against raw git and engine calls to the first 200',
  run: async (location) => {
    const { address, davit: server, davitOnce, application } = await openDavit(location);
    const raw = await RawEngine.start(location);
    await raw.makeNetwork('bench-deploys');
    const url = (await location.git()).commit('raw', busyboxApplication);
    const plan = (builder: Deployment['builder'], generation: string): Deployment => {
      return { name: 'raw', url, generation, network: 'bench-deploys', port, ...limits, builder };
    };
    const rawOnce = async (builder: Deployment['builder'], generation: string): Promise<RawRound> => {
      const { deployments } = await raw.deploy([plan(builder, generation)]);
      return { milliseconds: deployments[0]?.milliseconds ?? Number.NaN, phases: deployments[0]?.phases ?? {} };
    };
    await davitOnce('first');
    const builder = await fasterBuilder(location, rawOnce);
    const davit: number[] = [];
    const full: RawRound[] = [];
    const known: RawRound[] = [];
    for (let round = 0; round < location.rounds(15, 4); round += 1) {
      davit.push(await davitOnce(`davit ${round}`));
      full.push(await rawOnce(builder, `full ${round}`));
      known.push(await rawOnce('none', `known ${round}`));
    }
    await checkReplaced(application, `davit ${davit.length - 1}`);
    const steps = await stepTimes(address);
    await server.stop();
    return [
      toMeasurement('deploy, unchanged', davit, full, { target, details: { builder, steps, phases: phasesOf(full) } }),
      toMeasurement('  against raw calls without git and build', davit, known, {
        target: null,
        details: { phases: phasesOf(known) },
      }),
    ];
  },
};

interface RawRound {
  readonly milliseconds: number;
  readonly phases: Readonly<Record<string, number>>;
}

async function openDavit(location: Place) {
  const address = await location.database('deploys');
  const davit = await startDavit(location, { name: 'deploys', databaseUrl: address });
  const url = (await location.git()).commit('deploys', busyboxApplication);
  const application = await BenchApplication.create(davit, {
    projectId: await createProject(davit, 'Deploys'),
    name: 'shop',
    url,
  });
  const davitOnce = async (generation: string): Promise<number> => {
    await application.change(generation);
    const began = performance.now();
    await application.request();
    await application.untilDeployed();
    const milliseconds = performance.now() - began;
    await untilSettled(address);
    return milliseconds;
  };
  return { address, davit, davitOnce, application };
}

type Once = (builder: Deployment['builder'], generation: string) => Promise<RawRound>;

// Docker's version determines which of its two builders is faster if everything is cached.
async function fasterBuilder(location: Place, once: Once): Promise<'buildkit' | 'classic'> {
  if (location.engineKind === 'podman') {
    await once('classic', 'warm-up');
    return 'classic';
  }
  const times = { buildkit: [] as number[], classic: [] as number[] };
  for (const builder of ['buildkit', 'classic'] as const) {
    await once(builder, `fill the cache of ${builder}`);
    for (let round = 0; round < 3; round += 1)
      times[builder].push((await once(builder, `warm-up ${builder} ${round}`)).milliseconds);
  }
  return median(times.buildkit) < median(times.classic) ? 'buildkit' : 'classic';
}

/**
 * Checks that the serving instances belong to the last deployment, so that the timed deployments really replaced them.
 */
async function checkReplaced(application: BenchApplication, generation: string): Promise<void> {
  const { text } = await ask(await application.address());
  if (text.trim() !== generation) throw new Error(`the gateway answers ${JSON.stringify(text)} instead of ${generation}`);
}

function phasesOf(rounds: readonly RawRound[]): Record<string, number> {
  const names = Object.keys(rounds[0]?.phases ?? {});
  return Object.fromEntries(
    names.map((name) => [name, Math.round(median(rounds.map(({ phases }) => phases[name] ?? 0)) * 10) / 10]),
  );
}

interface Judging {
  readonly target: typeof target | null;
  readonly details: unknown;
}

function toMeasurement(what: string, times: readonly number[], raw: readonly RawRound[], judging: Judging): Measurement {
  const davit = toSeries(times);
  const floor = toSeries(raw.map(({ milliseconds }) => milliseconds));
  const ratio = ratioOf(davit, floor);
  const verdict = judging.target === null ? { target: '–', isMet: null } : ratioVerdict(ratio, judging.target);
  return { what, unit: 'ms', davit, floor, ratio, ...verdict, details: judging.details };
}
