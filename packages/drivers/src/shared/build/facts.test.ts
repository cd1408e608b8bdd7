import { expect, test } from 'vitest';
import { dockerfileFacts } from './facts.ts';

test('tells arguments, images and ports, each once, without stages and scratch', () => {
  const content = `ARG VERSION=22
FROM node:\${VERSION} AS build
ARG TOKEN
ARG VERSION
FROM Build AS second
FROM node:\${VERSION}
FROM scratch
FROM nginx:1
COPY --from=build /a /b
EXPOSE 80 443/tcp 53/udp 90-99 $PORT
EXPOSE 80
`;
  expect(dockerfileFacts(content)).toEqual({
    argumentNames: ['VERSION', 'TOKEN'],
    images: ['node:${VERSION}', 'nginx:1'],
    ports: [80, 443],
    fault: null,
  });
});

test('a stage of the same name as an image before it is an image there', () => {
  expect(dockerfileFacts('FROM node AS x\nFROM redis AS node\nFROM node\n').images).toEqual(['node', 'redis']);
});

test('tells the first mistake', () => {
  expect(dockerfileFacts('FROM node\nRUM x\n').fault).toEqual({ line: 2, message: 'unknown instruction RUM' });
});
