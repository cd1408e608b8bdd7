import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testEngineKinds } from '../packages/testkit/src/engines.ts';
import { eventually } from './support/eventually.ts';
import { busybox, Stage } from './support/stage.ts';

const dockerfile = `FROM ${busybox}\nCOPY index.html /www/index.html\nCMD ["httpd", "-f", "-p", "3000", "-h", "/www"]\n`;
const port = { internal_port: 3000, publicly_accessible: true, protocol: 'HTTP' as const };

/** Where the server is killed: before a step, after it was done but not recorded, and after it was recorded. */
const moments = ['before', 'after', 'recorded'] as const;
const steps = ['resolve', 'checkout', 'build', 'start', 'ready', 'route', 'retire'] as const;
const points = [...steps.flatMap((step) => moments.map((moment) => `${step}:${moment}`)), 'finish:before', 'finish:after'];

describe.each(testEngineKinds())('kill -9 of the server on %s', (kind) => {
  let stage: Stage;
  let id: string;
  let address: string;
  let push: (text: string) => void;
  const resumeTimes: number[] = [];
  const answerTimes: number[] = [];
  beforeAll(async () => {
    stage = await Stage.open(kind);
    const { repository, url } = stage.repository('crash', { Dockerfile: dockerfile, 'index.html': 'first\n' });
    push = (text) => void repository.commit(text, { 'index.html': `${text}\n` });
    id = await stage.application('crash', url, { ports: [port], memory: 64 });
    await stage.deploy(id);
    address = await stage.link(id);
  });
  afterAll(async () => {
    await stage?.close();
  });

  test.each(points)('at %s: the deployment reaches its end by itself', async (point) => {
    push(point);
    await stage.davit.kill('SIGTERM');
    await stage.davit.serve({ DAVIT_TEST_CRASH: point });
    const before = await stage.latest(id);
    await stage.davit.client.call('deployApplication', { params: { applicationId: id } });
    await stage.davit.exited();
    expect((await stage.fetch(address)).status).toBe(200);

    const restarted = Date.now();
    await stage.davit.serve();
    answerTimes.push(Date.now() - restarted);
    const resumed = () => eventually(() => stage.resumedAt(restarted), 'the deployment to go on');
    // After the last point the deployment was at its end: nothing has to go on.
    const moves = point === 'finish:after' ? Date.now() : await resumed();
    // The start of the server is part of it.
    resumeTimes.push(moves - restarted);
    const status = await stage.ends(id, before);
    expect(status.state).toBe('DEPLOYED');
    expect((await stage.fetch(await stage.link(id))).body).toBe(`${point}\n`);
    expect(await stage.containers(id)).toHaveLength(1);
    expect(await stage.networks()).toHaveLength(1);
  });

  test('every restart went on within moments', () => {
    expect(resumeTimes).toHaveLength(points.length);
    // The middle ones, as a machine that others use can delay any single start; and on one where the server itself takes long
    // to answer, the deployment may wait for that.
    expect(median(resumeTimes)).toBeLessThan(Math.max(2_000, 1.5 * median(answerTimes)));
  });
});

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
