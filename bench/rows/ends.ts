import { setTimeout as pause } from 'node:timers/promises';
import { EngineClient } from '@davit/testkit/engine-client';
import { ask } from '../ask.ts';
import { startDavit } from '../davit.ts';
import { ratioVerdict, type Row } from '../row.ts';
import { median, ratioOf, toSeries } from '../statistics.ts';
import { BenchApplication, createProject } from './applications.ts';

const inARow = 10;
const graceSeconds = 5;
const target = { atMost: 1.15 };

/** Serves its generation, and ends only when it is killed. */
const stubborn: Readonly<Record<string, string>> = {
  Dockerfile: [
    'FROM bench/busybox:1',
    `CMD ["/bin/sh", "-c", "trap '' TERM; mkdir -p /www; echo -n $GENERATION > /www/index.html; exec httpd -f -p 8080 -h /www"]`,
    '',
  ].join('\n'),
};

export const endsRow: Row = {
  name: 'ends',
  about: `deployments of a program that ignores SIGTERM, request to the first 200 of the new instance: ${inARow} in a row against single ones, whose former instance has ended`,
  run: async (location) => {
    const engine = new EngineClient((await location.engine()).address.replace('unix://', ''));
    const environment = { DAVIT_TERMINATION_GRACE_SECONDS: String(graceSeconds) };
    const davit = await startDavit(location, { name: 'ends', environment });
    const url = (await location.git()).commit('ends', stubborn);
    const projectId = await createProject(davit, 'Ends');
    const application = await BenchApplication.create(davit, { projectId, name: 'stubborn', url });
    const address = await application.address();
    let generation = 0;
    const next = async (): Promise<number> => {
      generation += 1;
      const text = `generation ${generation}`;
      await application.change(text);
      const began = performance.now();
      await application.request();
      for (;;) {
        const answer = await ask(address);
        if (answer.status === 200 && answer.text === text) return performance.now() - began;
        await pause(5);
      }
    };
    const untilOneRuns = async (): Promise<void> => {
      const filters = { label: [`davit.service=${application.id}`] };
      while ((await engine.listContainers({ all: true, filters })).length > 1) await pause(100);
    };
    const inRow: number[] = [];
    const alone: number[] = [];
    await next();
    // In turns, so that a slow moment of the machine affects both.
    for (let round = 0; round < location.rounds(6, 2); round += 1) {
      await untilOneRuns();
      const times: number[] = [];
      for (let index = 0; index < inARow; index += 1) times.push(await next());
      inRow.push(median(times));
      const single: number[] = [];
      for (let index = 0; index < 3; index += 1) {
        await untilOneRuns();
        single.push(await next());
      }
      alone.push(median(single));
    }
    await davit.stop();
    const series = { davit: toSeries(inRow), floor: toSeries(alone) };
    const ratio = ratioOf(series.davit, series.floor);
    return [
      {
        what: `one of ${inARow} deployments in a row, against a single one`,
        unit: 'ms',
        ...series,
        ratio,
        ...ratioVerdict(ratio, target),
        details: {},
      },
    ];
  },
};
