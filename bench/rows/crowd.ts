import { startDavit } from '../davit.ts';
import type { DeployAnswer, Deployment } from '../floors/engine-calls-protocol.ts';
import { RawEngine } from '../floors/raw-engine.ts';
import { alternate } from '../alternate.ts';
import { ratioVerdict, type Row } from '../row.ts';
import { BenchApplication, busyboxApplication, createProject, limits, port } from './applications.ts';
import { stepTimes, untilSettled } from './steps.ts';

const target = { atMost: 1.25 };
const environments = 20;
const indices = Array.from({ length: environments }, (_, index) => index);

export const crowdRow: Row = {
  name: 'crowd',
  about: `the same with ${environments} environments at once, until the last is DEPLOYED, against raw calls at the same parallelism`,
  run: async (location) => {
    const address = await location.database('crowd');
    const davit = await startDavit(location, { name: 'crowd', databaseUrl: address });
    const git = await location.git();
    const url = git.commit('crowd', busyboxApplication);
    const projectId = await createProject(davit, 'Crowd');
    const applications: BenchApplication[] = [];
    for (const index of indices)
      applications.push(await BenchApplication.create(davit, { projectId, name: `shop ${index}`, url }));
    const raw = await RawEngine.start(location);
    for (const index of indices) await raw.makeNetwork(`bench-crowd-${index}`);
    const rawUrl = git.commit('raw-crowd', busyboxApplication);
    const seen: DeployAnswer[] = [];
    const sides = {
      davit: async (round: number): Promise<number> => {
        for (const application of applications) await application.change(`davit ${round}`);
        const began = performance.now();
        await Promise.all(applications.map((application) => application.request()));
        // The services are polled one after the other: polling all at once would be a load in itself.
        for (const application of applications) await application.untilDeployed();
        const milliseconds = performance.now() - began;
        await untilSettled(address);
        return milliseconds;
      },
      floor: async (round: number): Promise<number> => {
        const answer = await raw.deploy(indices.map((index) => plan(index, rawUrl, `floor ${round}`)));
        if (round >= 0) seen.push(answer);
        return answer.milliseconds;
      },
    };
    // The first deployments on each side build the images; they are not measured.
    await sides.davit(-1);
    await sides.floor(-1);
    const compared = await alternate(location.rounds(5, 1), sides);
    const details = { steps: await stepTimes(address), raw: seen };
    await davit.stop();
    const what = `deploy, ${environments} environments at once`;
    return [{ what, unit: 'ms', ...compared, ...ratioVerdict(compared.ratio, target), details }];
  },
};

// The classic builder is used: concurrent builds with BuildKit cost more here.
function plan(index: number, url: string, generation: string): Deployment {
  return { name: `raw-${index}`, url, generation, network: `bench-crowd-${index}`, port, ...limits, builder: 'classic' };
}
