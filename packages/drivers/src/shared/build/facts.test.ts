import { expect, test } from 'vitest';
import { dockerfileFacts } from './facts.ts';

test('tells arguments and images, each once, without stages and scratch', () => {
  const content = `ARG VERSION=22
FROM node:\${VERSION} AS build
ARG TOKEN
ARG VERSION
FROM Build AS second
FROM node:\${VERSION}
FROM scratch
FROM nginx:1
COPY --from=build /a /b
`;
  expect(dockerfileFacts(content)).toEqual({
    argumentNames: ['VERSION', 'TOKEN'],
    images: ['node:${VERSION}', 'nginx:1'],
    stageNames: ['build', 'second'],
    ports: [],
    fault: null,
  });
});

test('a stage of the same name as an image before it is an image there', () => {
  expect(dockerfileFacts('FROM node AS x\nFROM redis AS node\nFROM node\n').images).toEqual(['node', 'redis']);
});

test('tells the first mistake', () => {
  expect(dockerfileFacts('FROM node\nRUM x\n').fault).toEqual({ line: 2, message: 'unknown instruction RUM' });
});

test('tells the ports of the image that is built, with those of the stages below it', () => {
  const content = `ARG PORT=3000
FROM node AS base
ENV METRICS="9090" OLD=1
EXPOSE \${METRICS} 53/udp
FROM node AS other
EXPOSE 1
FROM base
ENV ADMIN 8081
EXPOSE $PORT $ADMIN \${NOTHING} \${ELSE:-4000}/tcp 8000-8002 9090/tcp
`;
  const ports = dockerfileFacts(content).ports.map(({ port, protocol }) => `${port}/${protocol}`);
  expect(ports).toEqual(['9090/TCP', '53/UDP', '3000/TCP', '8081/TCP', '4000/TCP', '8000/TCP', '8001/TCP', '8002/TCP']);
  expect(dockerfileFacts('FROM scratch\nEXPOSE 1-65535').ports).toHaveLength(50);
});
