import { fastify } from 'fastify';
import { expect, test } from 'vitest';
import { staticText } from './static-text.ts';

test('a text that could not be made is made with the next request, and then kept', async () => {
  let made = 0;
  const text = staticText('text/plain', () => {
    made += 1;
    return made === 1 ? Promise.reject(new Error('too many open files')) : Promise.resolve(`text ${made}`);
  });
  const app = fastify().get('/', (request, reply) => text.send(request, reply));
  const answers = [await app.inject('/'), await app.inject('/'), await app.inject('/')];
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([500, 200, 200]);
  expect(answers.at(-1)?.body).toBe('text 2');
});
