import { setTimeout as pause } from 'node:timers/promises';
import { ask } from '../ask.ts';
import { startDavit } from '../davit.ts';
import type { Deployment, EngineCallsAnswer } from '../floors/engine-calls-protocol.ts';
import { RawEngine } from '../floors/raw-engine.ts';
import type { Place } from '../place.ts';
import { ratioVerdict, type Measurement, type Row } from '../row.ts';
import { median, ratioOf, toSeries } from '../statistics.ts';
import { BenchApplication, createProject, limits, nodeApplication, port } from './applications.ts';
import { stepTimes, untilSettled } from './steps.ts';

const target = { atMost: 1.15 };
const network = 'bench-commits';

export const commitsRow: Row = {
  name: 'commits',
  about:
    'a commit with one changed line of a Node.js application, request to the first 200 of the new content at the gateway, against ' +
    'clone, build, start and poll with the faster of the builders',
  run: async (location) => {
    const change = await openDavit(location);
    const raw = await RawEngine.start(location);
    await raw.makeNetwork(network);
    const builders = location.engineKind === 'podman' ? (['classic'] as const) : (['buildkit', 'classic'] as const);
    const byHand = async (builder: Deployment['builder'], text: string): Promise<EngineCallsAnswer> => {
      const name = `hand-${builder}`;
      const url = (await location.git()).commit(name, nodeApplication(text));
      const { deployments } = await raw.deploy([{ name, url, generation: text, network, port, ...limits, builder }]);
      if (deployments[0] === undefined) throw new Error('the floor gave no answer');
      return deployments[0];
    };
    // The first round fills the caches.
    const rounds = location.rounds(12, 4);
    const davit: number[] = [];
    const hand = Object.fromEntries(builders.map((builder): [string, EngineCallsAnswer[]] => [builder, []]));
    for (let round = 0; round <= rounds; round += 1) {
      const text = `round ${round}`;
      const sides = [
        async () => void davit.push(await change.deploy(text)),
        ...builders.map((builder) => async () => void hand[builder]?.push(await byHand(builder, text))),
      ];
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) await side();
    }
    const steps = await stepTimes(change.address);
    await change.stop();
    const times = Object.entries(hand).map(([builder, answers]) => ({ builder, answers: answers.slice(1) }));
    const [fastest] = times.toSorted((a, b) => medianOf(a.answers) - medianOf(b.answers));
    if (fastest === undefined) throw new Error('nothing was built by hand');
    return [
      toMeasurement(davit.slice(1), fastest, { steps, byHand: times.map((each) => [each.builder, medianOf(each.answers)]) }),
    ];
  },
};

async function openDavit(location: Place) {
  const address = await location.database('commits');
  const davit = await startDavit(location, { name: 'commits', databaseUrl: address });
  const git = await location.git();
  const url = git.commit('commits', nodeApplication('none'));
  const projectId = await createProject(davit, 'Commits');
  const application = await BenchApplication.create(davit, { projectId, name: 'shop', url });
  const gateway = await application.address();
  return {
    address,
    stop: () => davit.stop(),
    /** Returns the milliseconds from the request to the first response with the new content. */
    deploy: async (text: string): Promise<number> => {
      git.commit('commits', nodeApplication(text));
      const began = performance.now();
      await application.request();
      await untilAnswers(gateway, text);
      const milliseconds = performance.now() - began;
      await application.untilDeployed();
      await untilSettled(address);
      return milliseconds;
    },
  };
}

async function untilAnswers(gateway: URL, text: string): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    const answer = await ask(gateway);
    if (answer.status === 200 && answer.text === text) return;
    await pause(5);
  }
  throw new Error(`the gateway does not answer ${text} within a minute`);
}

interface ByHand {
  readonly builder: string;
  readonly answers: readonly EngineCallsAnswer[];
}

function medianOf(answers: readonly EngineCallsAnswer[]): number {
  return Math.round(median(answers.map(({ milliseconds }) => milliseconds)));
}

function toMeasurement(times: readonly number[], { builder, answers }: ByHand, details: object): Measurement {
  const davit = toSeries(times);
  const floor = toSeries(answers.map(({ milliseconds }) => milliseconds));
  const ratio = ratioOf(davit, floor);
  const phases = (['clone', 'build', 'create', 'start', 'answer'] as const).map((name): [string, number] => [
    name,
    Math.round(median(answers.map((answer) => answer.phases[name]))),
  ]);
  const verdict = ratioVerdict(ratio, target);
  return {
    what: 'commit to first 200',
    unit: 'ms',
    davit,
    floor,
    ratio,
    ...verdict,
    details: { builder, phases: Object.fromEntries(phases), ...details },
  };
}
