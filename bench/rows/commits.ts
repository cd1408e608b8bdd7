import { createHmac, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { ask } from '../ask.ts';
import { startDavit, type Davit } from '../davit.ts';
import type { Deployment, EngineCallsAnswer } from '../floors/engine-calls-protocol.ts';
import { RawEngine } from '../floors/raw-engine.ts';
import type { Place } from '../place.ts';
import { ratioVerdict, type Measurement, type Row } from '../row.ts';
import { median, ratioOf, toSeries } from '../statistics.ts';
import { BenchApplication, createProject, limits, nodeApplication, port } from './applications.ts';
import { stepTimes, untilSettled } from './steps.ts';

const target = { atMost: 1.15 };
const pushTarget = { atMost: 1.25 };
const network = 'bench-commits';

export const commitsRow: Row = {
  name: 'commits',
  about:
    'a commit with one changed line of a Node.js application, from the request, and from the webhook of a git server, to the first ' +
    '200 of the new content at the gateway, against clone, build, start and poll with the faster of the builders',
  run: async (location) => {
    const { change, push, ...davit } = await openDavit(location);
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
    const changes: number[] = [];
    const pushes: number[] = [];
    const hand = Object.fromEntries(builders.map((builder): [string, EngineCallsAnswer[]] => [builder, []]));
    for (let round = 0; round <= rounds; round += 1) {
      const text = `round ${round}`;
      const sides = [
        async () => void changes.push(await change(text)),
        async () => void pushes.push(await push(text)),
        ...builders.map((builder) => async () => void hand[builder]?.push(await byHand(builder, text))),
      ];
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) await side();
    }
    const steps = await stepTimes(davit.address);
    await davit.stop();
    const times = Object.entries(hand).map(([builder, answers]) => ({ builder, answers: answers.slice(1) }));
    const [fastest] = times.toSorted((a, b) => medianOf(a.answers) - medianOf(b.answers));
    if (fastest === undefined) throw new Error('nothing was built by hand');
    const details = { steps, byHand: times.map((each) => [each.builder, medianOf(each.answers)]) };
    return [
      toMeasurement('commit to first 200', { times: changes.slice(1), target, details }, fastest),
      toMeasurement('pushed commit to first 200', { times: pushes.slice(1), target: pushTarget, details: {} }, fastest),
    ];
  },
};

/** Returns the milliseconds from the beginning of a deployment to the first response with the new content. */
type Side = (text: string) => Promise<number>;

async function openDavit(location: Place) {
  const address = await location.database('commits');
  const davit = await startDavit(location, { name: 'commits', databaseUrl: address });
  const projectId = await createProject(davit, 'Commits');
  const open = async (name: string, isAutomatic: boolean): Promise<Side> => {
    const git = await location.git();
    const url = git.commit(name, nodeApplication('none'));
    const application = await BenchApplication.create(davit, { projectId, name, url, isAutomatic });
    await application.request();
    await application.untilDeployed();
    const begin = isAutomatic ? await pushWebhook(davit, application.id, () => git.head(name)) : () => application.request();
    const gateway = await application.address();
    return async (text) => {
      git.commit(name, nodeApplication(text));
      const began = performance.now();
      await begin();
      await untilAnswers(gateway, text);
      const milliseconds = performance.now() - began;
      await application.untilDeployed();
      await untilSettled(address);
      return milliseconds;
    };
  };
  return {
    address,
    stop: () => davit.stop(),
    change: await open('commits', false),
    push: await open('pushes', true),
  };
}

/** Returns a function that reports the newest commit as a git server does, and returns when Davit has accepted that. */
async function pushWebhook({ client }: Davit, applicationId: string, head: () => string): Promise<() => Promise<void>> {
  const { url, secret } = await client.call('createServiceGitWebhook', { params: { serviceId: applicationId }, body: {} });
  let before = head();
  return async () => {
    const after = head();
    const body = JSON.stringify({ ref: 'refs/heads/main', before, after, forced: false, pusher: { name: 'ada' } });
    before = after;
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-github-event': 'push',
        'x-github-delivery': randomUUID(),
        'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
      },
      body,
    });
    if (response.status !== 202) throw new Error(`the webhook answers ${response.status}: ${await response.text()}`);
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

interface Measured {
  readonly times: readonly number[];
  readonly target: typeof target;
  readonly details: object;
}

function toMeasurement(what: string, { times, details, ...measured }: Measured, { builder, answers }: ByHand): Measurement {
  const davit = toSeries(times);
  const floor = toSeries(answers.map(({ milliseconds }) => milliseconds));
  const ratio = ratioOf(davit, floor);
  const phases = (['clone', 'build', 'create', 'start', 'answer'] as const).map((name): [string, number] => [
    name,
    Math.round(median(answers.map((answer) => answer.phases[name]))),
  ]);
  const verdict = ratioVerdict(ratio, measured.target);
  return {
    what,
    unit: 'ms',
    davit,
    floor,
    ratio,
    ...verdict,
    details: { builder, phases: Object.fromEntries(phases), ...details },
  };
}
