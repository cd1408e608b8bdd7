import type { Received } from '@davit/client';
import { expect, test } from 'vitest';
import { Output } from './output/output.ts';
import { markOf, Progress, progressLine } from './progress.ts';

const sink = { write: () => true, on: () => undefined };
const out = new Output(sink, sink, { LANG: 'C.UTF-8' });
const start = Date.parse('2026-11-27T12:00:00Z');
const at = (seconds: number): string => new Date(start + seconds * 1000).toISOString();
const location = { project_id: 'p', environment_id: 'e', deployment_request_id: 'd', execution_id: 'e-7' };

function state(seconds: number, word: string, fields: object = {}): Received {
  const data = { ...location, at: at(seconds), service_id: 's', service_name: 'api', service_type: 'APPLICATION', state: word };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the words of a state are too many for a test
  return { event: 'SERVICE_STATE', id: null, data: { ...data, action: 'DEPLOY', failure: null, ...fields } } as Received;
}

function step(name: string, metric: string, seconds: readonly [number, number?], status?: string): Received {
  const [from, to] = seconds;
  const word = status ?? (to === undefined ? 'RUNNING' : 'DONE');
  const data = { ...location, at: at(to ?? from), service_id: 's', step: name, step_name: metric, status: word, attempt: 1 };
  const times = { started_at: at(from), finished_at: to === undefined ? null : at(to) };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
  return { event: 'STEP', id: null, data: { ...data, ...times } } as Received;
}

/** Returns the event as that of a later attempt. */
function tried(event: Received, attempt: number): Received {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
  return { ...event, data: { ...event.data, attempt } } as Received;
}

function follow(events: readonly Received[], now: number): { line: string; said: string[] } {
  const progress = new Progress();
  const said = events.flatMap((event) => progress.apply(event)).map(({ text }) => text);
  const service = progress.services.get('s');
  const line = service === undefined ? '' : progressLine(service, out, { now: start + now * 1000, pad: 3, columns: 80 });
  return { line, said };
}

const begin = [state(0, 'DEPLOYING'), step('checkout', 'GIT_CLONE', [0]), step('checkout', 'GIT_CLONE', [0, 2])];
const built = [...begin, step('build', 'BUILD', [2]), step('build', 'BUILD', [2, 40])];

test('steps become phases with their times; fetching is shown only while it goes on', () => {
  expect(follow([state(0, 'DEPLOYMENT_QUEUED')], 1).line).toBe('  api  ○ deployment queued');
  expect(follow(begin.slice(0, 2), 1).line).toBe('  api  ◐ fetching 1.0 s');
  expect(follow(built, 41)).toEqual({ line: '  api  ◐ building 39 s', said: [] });
  const all = [
    ...built,
    step('create', 'DEPLOYMENT', [40]),
    step('ready', 'DEPLOYMENT', [41, 43]),
    step('route', 'ROUTER_DEPLOYMENT', [43, 43.2]),
    step('retire', 'DEPLOYMENT', [43.2]),
    state(44, 'DEPLOYED'),
    step('retire', 'DEPLOYMENT', [43.2, 60]),
  ];
  expect(follow(all, 99)).toEqual({
    line: '  api  ✓ built 38 s  ✓ ready 3.0 s  ✓ switched 0.2 s',
    said: ['built 38 s', 'ready 3.0 s', 'switched 0.2 s', 'deployed'],
  });
  // Events that are sent again change nothing.
  expect(follow([...all, ...all], 99).line).toBe(follow(all, 99).line);
});

test('a failure stands where it happened, a cancellation and a job have words of their own', () => {
  const failure = { code: 'PORT_NOT_LISTENING', message: 'Nothing listens.', link: '' };
  const failed = [...built, step('create', 'DEPLOYMENT', [40]), state(88, 'DEPLOYMENT_ERROR', { failure })];
  expect(follow(failed, 99)).toEqual({
    line: '  api  ✓ built 38 s  ✗ not ready after 48 s',
    said: ['built 38 s', 'deployment error: Nothing listens.'],
  });
  const canceled = [...built, step('create', 'DEPLOYMENT', [40]), state(50, 'CANCELED')];
  expect(follow(canceled, 99).line).toBe('  api  ✓ built 38 s  ○ canceled');
  const job = [state(0, 'DEPLOYING', { service_type: 'JOB' }), step('run', 'DEPLOYMENT', [0, 4]), state(4, 'DEPLOYED')];
  expect(follow(job, 9).line).toBe('  api  ✓ ran 4.0 s');
});

test('a step that is tried again goes on, and its phase is done in the end', () => {
  const again = [...begin, step('build', 'BUILD', [2, 9], 'FAILED'), tried(step('build', 'BUILD', [10]), 2)];
  expect(follow(again, 12).line).toContain('◐ building');
  const done = [...again, tried(step('build', 'BUILD', [10, 40]), 2), step('create', 'DEPLOYMENT', [40])];
  expect(follow(done, 41)).toMatchObject({ line: expect.stringContaining('✓ built'), said: [expect.stringContaining('built')] });
});

test('a line that is too wide loses its oldest phases', () => {
  const progress = new Progress();
  for (const event of [...built, step('create', 'DEPLOYMENT', [40])]) progress.apply(event);
  const service = progress.services.get('s');
  if (service === undefined) throw new Error('there is no service');
  expect(progressLine(service, out, { now: start + 45_000, pad: 3, columns: 30 })).toBe('  api  ◐ starting 5.0 s');
});

test('phases and states of a newer server are shown by their names', () => {
  const signed = [...built, step('sign', 'SIGN_IMAGE', [40]), state(45, 'HIBERNATED')];
  expect(follow(signed.slice(0, -1), 42).line).toContain('◐ sign image 2.0 s');
  expect(follow(signed, 99)).toEqual({ line: '  api  ✓ built 38 s  ○ hibernated', said: ['built 38 s', 'hibernated'] });
  const failed = step('sign', 'SIGN_IMAGE', [40, 44], 'FAILED');
  expect(follow([...built, step('sign', 'SIGN_IMAGE', [40]), failed], 99).line).toContain('✗ failed: sign image after 4.0 s');
});

test('each kind of state has its mark', () => {
  const words = ['DEPLOYED', 'RUNNING', 'BUILD_ERROR', 'DEPLOYING', 'DEPLOYMENT_QUEUED', 'WAITING_RUNNING', 'STOPPED', 'WARNING'];
  expect(words.map(markOf)).toEqual(['ok', 'ok', 'bad', 'go', 'wait', 'wait', 'off', 'warn']);
});
