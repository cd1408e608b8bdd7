import { expect, test } from 'vitest';
import { ErrorBody } from './errors.ts';
import { exampleOf, examples, type Example } from './examples.ts';
import type { Operation } from './operation.ts';
import { operationList, operations } from './operations.ts';
import { refusals } from './testing/refusals.ts';
import { faultsOf } from './testing/fits.ts';

test('every operation has an example, and every example an operation', () => {
  expect(Object.keys(examples).toSorted()).toEqual(operationList.map(({ id }) => id).toSorted());
  expect(exampleOf('createProject')?.request).toMatchObject({ name: 'shop' });
  expect(exampleOf('toString')).toBeUndefined();
});

test('an example is a success, unless its operation refuses everything', () => {
  const refused = Object.entries(examples).filter(([, { status }]) => status >= 400);
  expect(refused.map(([id]) => id).toSorted()).toEqual(Object.keys(refusals).toSorted());
});

test('a list in an example has an entry, so that a reader sees what it is made of', () => {
  const empty = Object.entries(examples).filter(([, { answer }]) => /^\[\]$|"results":\[\]/.test(JSON.stringify(answer) ?? ''));
  expect(empty.map(([id]) => id)).toEqual([]);
});

test('an example has the path, the request and the answer that its operation declares', () => {
  const faults = operationList.flatMap((operation) => {
    const example = exampleOf(operation.id);
    if (example === undefined) return [`${operation.id} has none`];
    const found = [
      ...faultsOfPath(operation, example),
      ...faultsOfRequest(operation, example),
      ...faultsOfAnswer(operation, example),
    ];
    return found.map((fault) => `${operation.id}: ${fault}`);
  });
  expect(faults).toEqual([]);
});

function faultsOfPath({ path }: Operation, example: Example): readonly string[] {
  const pattern = new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/{}]+')}$`);
  return pattern.test(example.path) ? [] : [`${example.path} is not ${path}`];
}

function faultsOfRequest({ body }: Operation, { request }: Example): readonly string[] {
  if (body === undefined) return request === undefined ? [] : ['the operation takes no body'];
  return request === undefined ? ['the request has no body'] : faultsOf(body, request);
}

function faultsOfAnswer({ events, response }: Operation, { status, answer }: Example): readonly string[] {
  if (status >= 400) return faultsOf(ErrorBody, answer);
  if (events !== undefined) return /^event: /m.test(String(answer)) ? [] : ['the stream has no event'];
  if (response === null) return answer === undefined ? [] : ['the operation answers nothing'];
  return faultsOf(response, answer);
}

test('a body that lacks a field, or has an id that is none, does not fit', () => {
  expect(faultsOf(operations.createProject.body, {})).not.toEqual([]);
  const answer = { ...JSON.parse(JSON.stringify(exampleOf('getProject')?.answer)), id: 'shop' };
  expect(faultsOf(operations.getProject.response, answer)).not.toEqual([]);
});

test('no example shows a secret or the machine on which it was made', () => {
  const text = JSON.stringify(examples);
  expect(text.match(/dv[ts]_\w+|127\.0\.0\.1|localhost|\/tmp\/|PRIVATE KEY/g)).toBeNull();
  const secrets = [...text.matchAll(/"(\w*(?:password|secret|secret_key|private_key|token))":"([^"]*)"/g)];
  // The value `string` says the type of a field.
  const shown = secrets.filter(([, , value]) => !value?.startsWith('<') && value !== 'string');
  expect(shown.map(([all]) => all)).toEqual([]);
});
