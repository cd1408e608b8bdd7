import { operationList, type Operation } from '@davit/contract';
import { exampleOf, type Example } from '@davit/contract/examples';
import { beforeAll, expect, test } from 'vitest';
import { faultsOf } from '../../packages/contract/src/testing/fits.ts';
import { examplesOf } from './examples.ts';
import { runStory, type Story } from './story.ts';

/* The examples are those of the server as it is now. After a change: npm run examples. */

let story: Story;
let examples: Readonly<Record<string, Example | undefined>>;
beforeAll(async () => {
  story = await runStory();
  examples = examplesOf(story);
}, 300_000);

/**
 * Operations whose answers depend on how far deployments and measurements are at that moment. Their examples only have
 * to have the right shape.
 */
const changing =
  /Status|History|Log$|Logs$|Metrics|Overview|Event|[Rr]elease|Backup|Restore|Job|^(stream|deploy|redeploy|reboot|stop|cancel|preview|autoDeploy|uninstall)/;
const instant = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;

test('every request of the examples is answered as they say', () => {
  const requests = (find: (id: string) => Example | undefined) =>
    operationList.map(({ id }) => {
      const { path, query, request, status } = find(id) ?? {};
      return { id, path, query, request, status };
    });
  expect(requests((id) => examples[id])).toEqual(requests(exampleOf));
});

test('answers that depend on nothing else are the same in every run, apart from their times', () => {
  const answers = (find: (id: string) => Example | undefined) =>
    operationList
      .filter(({ id }) => !changing.test(id))
      .map(({ id }) => `${id} ${JSON.stringify(find(id)?.answer)?.replaceAll(instant, 'a time')}`);
  expect(answers((id) => examples[id])).toEqual(answers(exampleOf));
});

test('every answer of the story has the shape that the contract declares', () => {
  const faults = story.calls.flatMap(({ operation, status, answer }) =>
    faultsOfAnswer(operation, status, answer).map((fault) => `${operation.id} ${status}: ${fault}`),
  );
  expect(faults).toEqual([]);
});

function faultsOfAnswer({ response, events, status: success }: Operation, status: number, answer: unknown): string[] {
  if (status !== success || response === null || events !== undefined) return [];
  return faultsOf(response, answer);
}
